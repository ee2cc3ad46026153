"""Read POPE: JSON lines that ask whether an object is in an image, a file for each way of choosing absent objects.

A file `coco_pope_adversarial.json` is of the category `adversarial`. Files number their questions alike, so where there
are several an id is `<category>-<question_id>`; where two are of one category, their names or places tell them apart.
"""

import re
from pathlib import Path, PurePosixPath

import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import FileFormatError
from eyechart.readers.counting import Sifted, count_table, read_rows
from eyechart.readers.description import described
from eyechart.readers.fields import Field, lay_out
from eyechart.readers.pictures import gather_images
from eyechart.readers.records import read_entries
from eyechart.readers.rows import drop_damaged, drop_repeated, note_gaps
from eyechart.readers.source import Source, find_sources, stem

_CATEGORIES = r"(?<![a-z])(random|popular|adversarial)(?![a-z])"
_FIELDS = {
    "id": Field(("question_id",), "key"),
    "image": Field(("image",), "key"),
    "question": Field(("text",)),
    "answer": Field(("label",)),
}


@described(
    needs="JSON lines of yes/no questions, or a folder with a file for each category",
    sample='{"question_id": 1, "image": "COCO_val2014_000000310196.jpg", "text": "Is there a snowboard in the image?", '
    '"label": "yes"}\n{"question_id": 2, "image": "COCO_val2014_000000310196.jpg", "text": "Is there a dog?", ...}',
    signs=('"question_id"', '"image"', '"text"', '"label"', "Is there a"),
)
def read_pope(
    path: Path, *, split: str | None = None, detections: Path | None = None, images: Path | None = None
) -> Dataset:
    """Read questions and their labels; the name of a file says of which category they are.

    `split` names the split of all rows, `detections` is a file of objects, `images` a folder of pictures.
    """
    sources = find_sources(path, {".json", ".jsonl"})
    prefixes = _tell_apart(sources, path)
    parts = [_read_part(source, prefix) for source, prefix in zip(sources, prefixes, strict=True)]
    table = pl.concat(part.table for part in parts)
    if table["question"].is_null().all():
        advice = "bring POPE's JSON lines, or read other data with the format 'table'"
        raise FileFormatError(f"records with question_id, image, text and label in {path}", "none", advice)
    sound, damaged = drop_damaged(table)
    rows, again = drop_repeated(sound)
    if split is not None:
        rows = rows.with_columns(split=pl.lit(split))
    illustrated = gather_images(rows.select(pl.col("image").drop_nulls().unique().sort()), images, detections)
    fates = [count for part in parts for count in part.counts]
    fates += [*damaged, *again, *note_gaps(rows), *illustrated.notes]
    return Dataset(stem(path), rows, illustrated.images, counts=count_table([read_rows(rows.height), *fates]))


def _read_part(source: Source, prefix: str | None) -> Sifted:
    table, counts = lay_out(read_entries(source), _FIELDS)
    label = pl.col("answer").str.strip_chars().str.to_lowercase()
    told = {"category": pl.lit(_category(source)), "answer": pl.when(label != "").then(label)}
    if prefix is not None:
        told["id"] = pl.format("{}-{}", pl.lit(prefix), "id")
    return Sifted(table.with_columns(**told), counts)


def _tell_apart(sources: list[Source], path: Path) -> list[str | None]:
    """Give each of several files the shortest name that no other has: its category, its name, or its place."""
    if len(sources) == 1:
        return [None]
    lists = ([naming(source) for source in sources] for naming in (_category, _stem))
    places = [source.name.removeprefix(f"{path}/") for source in sources]
    return list(next((names for names in lists if len({*names}) == len(names)), places))


def _category(source: Source) -> str:
    found = re.search(_CATEGORIES, _stem(source).lower())
    return found[1] if found else _stem(source)


def _stem(source: Source) -> str:
    return PurePosixPath(source.name.removesuffix(".gz")).stem
