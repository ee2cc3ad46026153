"""Read POPE: JSON lines that ask whether an object is in an image, a file for each way of choosing absent objects.

A file `coco_pope_adversarial.json` has the category `adversarial`. All files use the same ids, so where there
are several an id is `<category>-<question_id>`; where two are of one category, it begins with the file's name or path.
"""

import re
from pathlib import Path, PurePosixPath

import polars as pl

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats.columns import Field, tabulate_fields
from eyechart.formats.description import described
from eyechart.formats.images import gather_images
from eyechart.formats.records import read_entries
from eyechart.formats.rows import CountedTable, count_table, drop_damaged, drop_repeated, note_gaps, read_rows
from eyechart.formats.sources import SourceFile, find_sources, stem

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
    """Read questions and their labels; the name of a file gives their category.

    `split` names the split of all rows, `detections` is a file of objects, `images` a folder of pictures.
    """
    sources = find_sources(path, {".json", ".jsonl"})
    prefixes = _make_prefixes(sources, path)
    parts = [_read_part(source, prefix) for source, prefix in zip(sources, prefixes, strict=True)]
    table = pl.concat(part.table for part in parts)
    if table["question"].is_null().all():
        advice = "give POPE's JSON lines, or read other data with the format 'table'"
        raise FileFormatError(f"records with question_id, image, text and label in {path}", "none", advice)
    sound, damaged = drop_damaged(table)
    rows, repeats = drop_repeated(sound)
    if split is not None:
        rows = rows.with_columns(split=pl.lit(split))
    names = rows.select(pl.col("image").drop_nulls().unique().sort())
    all_images, gaps = gather_images(names, images, detections)
    counts = [read_rows(rows.height), *(count for part in parts for count in part.counts)]
    counts += [*damaged, *repeats, *note_gaps(rows), *gaps]
    return Dataset(stem(path), rows, all_images, counts=count_table(counts))


def _read_part(source: SourceFile, prefix: str | None) -> CountedTable:
    table, counts = tabulate_fields(read_entries(source), _FIELDS)
    label = pl.col("answer").str.strip_chars().str.to_lowercase()
    columns = {"category": pl.lit(_category(source)), "answer": pl.when(label != "").then(label)}
    if prefix is not None:
        columns["id"] = pl.format("{}-{}", pl.lit(prefix), "id")
    return CountedTable(table.with_columns(**columns), counts)


def _make_prefixes(sources: list[SourceFile], path: Path) -> list[str | None]:
    """Choose prefixes of the ids for several files: their categories, names or paths, whichever differ first."""
    if len(sources) == 1:
        return [None]
    candidates = ([naming(source) for source in sources] for naming in (_category, _stem))
    paths = [source.name.removeprefix(f"{path}/") for source in sources]
    return list(next((names for names in candidates if len({*names}) == len(names)), paths))


def _category(source: SourceFile) -> str:
    match = re.search(_CATEGORIES, _stem(source).lower())
    return match[1] if match else _stem(source)


def _stem(source: SourceFile) -> str:
    return PurePosixPath(source.name.removesuffix(".gz")).stem
