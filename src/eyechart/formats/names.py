"""Match foreign names of columns and splits to ours."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

import polars as pl

from eyechart.base.errors import SettingError
from eyechart.base.registry import unknown_name
from eyechart.data.tables import EXAMPLES
from eyechart.formats.rows import CountedTable, noted

# Our name: its names elsewhere. Two of them in one table are an error, never a guess.
ALIASES: dict[str, tuple[str, ...]] = {
    "id": ("question_id", "questionId", "qid", "index"),
    "image": ("image_id", "imageId", "img_id"),
    "path": ("image_path", "file_name", "img_path"),
    "question": ("prompt",),
    "answer": ("label", "target", "multiple_choice_answer", "correct_choice_idx"),
    "answers": ("direct_answers",),
    "choices": ("options", "multiple_choices"),
    "question_type": ("questionType",),
    "answer_type": ("answerType",),
}
EXAMPLE_COLUMNS = (*EXAMPLES.columns, "path", "objects")
_SPLIT_PATTERNS = (
    r"_([a-z]+(?:-[a-z]+)*)20\d\d_",  # v2_mscoco_test-dev2015_questions
    r"^(.+)-(?:ques|ans)$",  # OOD-Test-QT-Ques
    r"(?<![a-z])(train|training|val|valid|validation|test|testdev|trainval|minival|nominival)(?![a-z])",
)
_SHORT_SPLITS = {"training": "train", "valid": "val", "validation": "val", "dev": "val", "iid-test": "test"}
_USUAL_SPLITS = {name: name for name in ("train", "val", "test")} | _SHORT_SPLITS


def rename(
    table: pl.DataFrame,
    ours: tuple[str, ...],
    aliases: Mapping[str, tuple[str, ...]],
    chosen: Mapping[str, str] | None = None,
) -> CountedTable:
    """Rename columns to ours: the mapped one, else the one that already has our name, else the only alias."""
    chosen = chosen or {}
    _check_map(table, ours, chosen)
    free = [name for name in table.columns if name not in chosen.values()]
    candidates = {name: chosen.get(name) or _find(name, aliases.get(name, ()), free) for name in ours}
    origins = {name: origin for name, origin in candidates.items() if origin is not None}
    counts = [
        noted(f"column {name!r} replaced by {origin!r}, as the map asks", table.height)
        for name, origin in origins.items()
        if name != origin and name in table.columns and name not in origins.values()
    ]
    counts += [
        noted(f"column {alias!r} left under its own name: {name!r} exists", table.height)
        for name in origins
        if origins[name] == name
        for alias in aliases.get(name, ())
        if alias in free
    ]
    others = [name for name in table.columns if name not in origins and name not in origins.values()]
    renamed = [pl.col(origin).alias(name) for name, origin in origins.items()]
    return CountedTable(table.select(*renamed, *others), counts)


def _check_map(table: pl.DataFrame, ours: tuple[str, ...], chosen: Mapping[str, str]) -> None:
    for name, origin in chosen.items():
        if name not in ours:
            raise unknown_name("column of ours, in the map", name, ours)
        if origin not in table.columns:
            raise unknown_name("column of the table, in the map", origin, tuple(table.columns))


def _find(name: str, aliases: tuple[str, ...], columns: list[str]) -> str | None:
    if name in columns:
        return name
    matches = [alias for alias in aliases if alias in columns]
    if len(matches) > 1:
        advice = f"say which with map, such as {name}={matches[0]}"
        raise SettingError(f"exactly one column for {name!r}", f"{' and '.join(matches)}", advice)
    return matches[0] if matches else None


def split_name(name: str) -> str | None:
    """Take the split from a file's name: Val-Ques.json and v2_mscoco_val2014_annotations.json are val."""
    stem = PurePosixPath(PurePosixPath(name).name.lower().removesuffix(".gz")).stem
    matches = (re.search(pattern, stem) for pattern in _SPLIT_PATTERNS)
    split = next((match[1] for match in matches if match), None)
    return None if split is None else _SHORT_SPLITS.get(split, split)


def split_of_file(name: str, own: object) -> str | None:
    """Take the split from the file's own statement (val2014 is val), else from its name."""
    if not isinstance(own, str) or not own:
        return split_name(name)
    split = re.sub(r"20\d\d$", "", own.lower())
    return _SHORT_SPLITS.get(split, split)


def name_splits(table: pl.DataFrame) -> CountedTable:
    """Rename the usual splits of a table to train, val and test; others stay as they are."""
    names = table["split"].unique().drop_nulls().sort().to_list()
    ours = {name: _USUAL_SPLITS.get(name.strip().lower(), name) for name in names}
    renamed = {name: short for name, short in ours.items() if name != short}
    counts = [
        noted(f"row of split {name!r}, which is {short!r} here", int((table["split"] == name).sum()))
        for name, short in renamed.items()
    ]
    return CountedTable(table.with_columns(pl.col("split").replace(renamed)), counts)
