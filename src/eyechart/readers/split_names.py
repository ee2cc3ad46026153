"""Tell which split a file holds by its name, and give a split the one of its names that we use."""

import re
from pathlib import PurePosixPath

import polars as pl

from eyechart.readers.counting import Count, Sifted, noted

_PATTERNS = (
    r"_([a-z]+(?:-[a-z]+)*)20\d\d_",  # v2_mscoco_test-dev2015_questions
    r"^(.+)-(?:ques|ans)$",  # OOD-Test-QT-Ques
    r"(?<![a-z])(train|training|val|valid|validation|test|testdev|trainval|minival|nominival)(?![a-z])",
)
_SHORT = {"training": "train", "valid": "val", "validation": "val", "dev": "val", "iid-test": "test"}
_USUAL = {name: name for name in ("train", "val", "test")} | _SHORT


def split_name(name: str) -> str | None:
    """Take the split from a file's name: Val-Ques.json and v2_mscoco_val2014_annotations.json are val."""
    plain = PurePosixPath(PurePosixPath(name).name.lower().removesuffix(".gz")).stem
    matches = (re.search(pattern, plain) for pattern in _PATTERNS)
    found = next((match[1] for match in matches if match), None)
    return None if found is None else shorten_split(found)


def shorten_split(name: str) -> str:
    """Give a split the one of its names that we use: training is train."""
    return _SHORT.get(name, name)


def name_splits(table: pl.DataFrame) -> Sifted:
    """Give the usual splits of a table our names, however they are written there; others stay as they are."""
    names = table["split"].unique().drop_nulls().sort().to_list()
    ours = {name: _USUAL.get(name.strip().lower(), name) for name in names}
    renamed = {name: short for name, short in ours.items() if name != short}
    counts = [_note(table, name, short) for name, short in renamed.items()]
    return Sifted(table.with_columns(pl.col("split").replace(renamed)), counts)


def _note(table: pl.DataFrame, name: str, short: str) -> Count:
    return noted(f"row of split {name!r}, which is {short!r} here", int((table["split"] == name).sum()))
