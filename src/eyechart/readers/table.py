"""Read any table: Parquet, JSON, JSON lines, CSV, TSV, Arrow or xlsx, with one question a row.

Columns are found under our names, under the usual other ones (`names.ALIASES`) or where a map says. Text that holds a
list is taken as that list; columns A, B, C, ... as the options. Without an id the row's number is its id, from 0.
The usual splits go by train, val and test, however they are written; a blank answer is none.
Paths and objects move to the images table. Every other column stays as it is. Rows in = rows read + rows dropped.
Large files are read in batches, with the same result.
"""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import SettingError
from eyechart.readers.batches import are_large
from eyechart.readers.choices import AnswerKind, gather_options, name_answers, set_aside_choices
from eyechart.readers.column_types import type_columns
from eyechart.readers.columns import fill_majority
from eyechart.readers.counting import Count, Sifted, count_table, dropped, noted, read_rows
from eyechart.readers.description import described
from eyechart.readers.names import ALIASES, EXAMPLE_COLUMNS, rename
from eyechart.readers.objects import pool_objects
from eyechart.readers.pictures import gather_images
from eyechart.readers.records import TABLE_FORMATS, read_records, require_rows, stack
from eyechart.readers.rows import drop_damaged, drop_repeated, note_gaps
from eyechart.readers.source import Source, find_sources, stem
from eyechart.readers.split_names import name_splits
from eyechart.readers.streaming import MOVED, Found, Prepare, stream

_Step = Callable[[pl.DataFrame], Sifted]
_REQUIRED = ("id", "image", "question", "answer")


@described(
    needs="a table with a question a row: Parquet, JSON lines, JSON, CSV, TSV, Arrow or xlsx; --map names its columns",
    sample='{"id": "7", "image": "42", "question": "What colour is the bus?", "answer": "red"}\n'
    '{"id": "8", "image": "42", "question": "Is it raining?", "answer": "no"}',
)
def read_table(
    path: Path,
    *,
    map: dict[str, str] | None = None,  # noqa: A002 - the word people look for; the built-in is not used here
    answer_is: AnswerKind = "auto",
    split: str | None = None,
    detections: Path | None = None,
    images: Path | None = None,
) -> Dataset:
    """Read a table file, or all those in a folder or archive as one table.

    `map` says which of their columns is ours, as in `{"question": "prompt"}`; `answer_is` whether an answer with
    choices is the option's text, its letter or its index from 0 (`auto`: the first of these that fits, row by row);
    `split` names the split of all rows; `detections` is a file of objects, `images` the folder that paths start from.
    """

    def prepare(table: pl.DataFrame, first: int) -> Sifted:
        steps: list[_Step] = [
            _set_aside_pictures,
            lambda table: Sifted(*rename(table, EXAMPLE_COLUMNS, ALIASES, map)),
            partial(_complete, place=str(path), first=first),
            partial(type_columns, place=str(path)),
            drop_damaged,
            partial(_settle_splits, split=split),
            partial(_settle_answers, answer_is=answer_is),
            drop_repeated,
        ]
        return _follow(table, steps)

    sources = find_sources(path, TABLE_FORMATS)
    found = stream(sources, path, prepare) if are_large(sources) else _at_once(sources, path, prepare)
    pictured, notes = _move_to_images(found.pictured)
    illustrated = gather_images(pictured, images, detections, path.parent)
    counts = [read_rows(found.examples.height), dropped("entry that is no record", found.strays)]
    counts += [*found.counts, *notes, *illustrated.notes, *found.gaps]
    return Dataset(stem(path), found.examples, illustrated.images, counts=count_table(counts))


def _at_once(sources: list[Source], path: Path, prepare: Prepare) -> Found:
    records = require_rows(stack([read_records(source) for source in sources], sources), str(path))
    examples, fates = prepare(records.table, 0)
    tidy = examples.drop(MOVED, strict=False)
    return Found(tidy, examples, fates, note_gaps(examples), records.strays)


def _follow(table: pl.DataFrame, steps: Iterable[_Step]) -> Sifted:
    counts: list[Count] = []
    for step in steps:
        table, more = step(table)
        counts += more
    return Sifted(table, counts)


def _set_aside_pictures(table: pl.DataFrame) -> Sifted:
    """Leave out a column `image` that holds pictures, as Hugging Face datasets have it, not their names."""
    if "image" not in table.columns or not (table["image"].dtype.is_nested() or table["image"].dtype == pl.Binary):
        return Sifted(table, [])
    return Sifted(
        table.drop("image"), [noted("column 'image' holds pictures, not their names: left out", table.height)]
    )


def _complete(table: pl.DataFrame, place: str, first: int) -> Sifted:
    if "question" not in table.columns:
        found = f"columns {', '.join(table.columns) or 'none at all'}"
        advice = "say which it is with map, as `eyechart read table FILE -o DATA --map question=text`"
        raise SettingError(f"a column 'question' in {place}", found, advice)
    notes = []
    if "id" not in table.columns:
        table = table.with_columns(id=first + pl.int_range(pl.len()))
        notes.append(noted("row without an id column: its number is its id", table.height))
    if "image" not in table.columns:
        table = table.with_columns(image=pl.col("path") if "path" in table.columns else pl.lit(None, pl.String))
    if "answer" not in table.columns:
        table = table.with_columns(answer=pl.lit(None, pl.String))
    options = gather_options(table, place)
    return Sifted(options.select(*_REQUIRED, pl.exclude(_REQUIRED)), notes)


def _settle_splits(table: pl.DataFrame, split: str | None) -> Sifted:
    if split is not None:
        return Sifted(table.with_columns(split=pl.lit(split)), [])
    return name_splits(table) if "split" in table.columns else Sifted(table, [])


def _settle_answers(table: pl.DataFrame, answer_is: AnswerKind) -> Sifted:
    if "choices" in table.columns:
        named = name_answers(table, answer_is)
        voted = fill_majority(named.table)
        useful = set_aside_choices(voted)
        return Sifted(useful.table, [*named.counts, *useful.counts])
    return Sifted(fill_majority(table), [])


def _move_to_images(examples: pl.DataFrame) -> Sifted:
    """Make the table of images, with the paths and objects that the examples bring."""
    table = examples.select(pl.col("image").drop_nulls().unique().sort())
    notes: list[Count] = []
    if "path" in examples.columns:
        paths = examples.select("image", "path").drop_nulls().unique(maintain_order=True)
        notes.append(noted("image with several paths, the first kept", int(paths["image"].is_duplicated().sum())))
        table = _add(table, paths.unique("image", keep="first", maintain_order=True))
    if "objects" in examples.columns:
        pooled = pool_objects(examples.select("image", "objects"))
        notes += pooled.notes
        table = _add(table, pooled.table)
    return Sifted(table, notes)


def _add(table: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    return table.join(more, on="image", how="left", validate="1:1", maintain_order="left")
