"""Read any table: Parquet, JSON, JSON lines, CSV, TSV, Arrow or xlsx, with one question per row.

Columns are recognised by our names, their usual aliases (`names.ALIASES`) or the names in a map. Text that holds a
list becomes that list; columns A, B, C, ... become the options. Without an id the number of a row, from 0, is its id.
The usual splits are renamed to train, val and test; a blank answer becomes null. Paths and objects move to the table of
images. Every other column stays as it is. Rows in = rows read + rows dropped. Large files are read in batches, with the
same result.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from eyechart.base.errors import FileFormatError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.data.several import IMAGE_LIST
from eyechart.data.stored import StoredTable
from eyechart.data.tables import EVIDENCE
from eyechart.formats.choices import AnswerKind, drop_stray_choices, gather_options, name_answers
from eyechart.formats.columns import as_key, as_text, as_texts, fill_majority
from eyechart.formats.description import described
from eyechart.formats.embedded import EmbeddedPictures, drop_damaged_pictures
from eyechart.formats.images import gather_images
from eyechart.formats.names import ALIASES, EXAMPLE_COLUMNS, name_splits, rename
from eyechart.formats.objects import as_evidence, as_objects, pool_objects
from eyechart.formats.records import TABLE_FORMATS, Records, read_parts, reading, require_rows, stack
from eyechart.formats.rows import (
    CountedColumn,
    CountedTable,
    RowCount,
    count_table,
    drop_damaged,
    drop_repeated,
    dropped,
    note_gaps,
    noted,
    read_rows,
)
from eyechart.formats.sources import SourceFile, find_sources, stem
from eyechart.formats.streaming import MOVED, LoadedTable, Prepare, are_large, stream

_Step = Callable[[pl.DataFrame], CountedTable]
_REQUIRED = ("id", "image", "question", "answer")
_TYPES: dict[str, Callable[[pl.Series, str], pl.Series]] = {
    **dict.fromkeys(("id", "image"), as_key),
    **dict.fromkeys(("question", "answer", "question_type", "answer_type", "split", "path"), as_text),
    **dict.fromkeys(("answers", "choices", "relevance"), as_texts),
}
_OBJECT_TYPES: dict[str, Callable[[pl.Series, str], CountedColumn]] = {"objects": as_objects, "evidence": as_evidence}


@described(
    needs="a table with one question a row: Parquet, JSON lines, JSON, CSV, TSV, Arrow or xlsx; --map renames columns",
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
    pictures: Path | None = None,
) -> Dataset:
    """Read a table file, or all those in a folder or archive as one table.

    `map` names the file's column for ours, as in `{"question": "prompt"}`; `answer_is` decides whether an answer with
    choices is the option's text, its letter or its index from 0 (`auto`: the first of these that fits, row by row);
    `split` names the split of all rows; `detections` is a file of objects, `images` the folder that paths start from,
    `pictures` one to write the pictures to that are inside the file (default: that of the dataset).
    """
    near = [folder for folder in (images, path if path.is_dir() else path.parent) if folder is not None]
    embedded = EmbeddedPictures(pictures, near, map["image"].split(",") if map and "image" in map else ())

    def prepare(table: pl.DataFrame, first: int) -> CountedTable:
        steps: list[_Step] = [
            partial(_rename, embedded=embedded, chosen=map or {}),
            partial(_add_missing_columns, origin=str(path), first=first),
            drop_damaged_pictures,
            partial(type_columns, origin=str(path)),
            drop_damaged,
            partial(_settle_splits, split=split),
            partial(_settle_answers, answer_is=answer_is),
            drop_repeated,
        ]
        return _run_steps(embedded.take(table), steps)

    sources = find_sources(path, TABLE_FORMATS)
    load = stream if are_large(sources) else _load
    rows = load(sources, path, prepare, embedded)
    of_images, conflicts = _move_to_images(rows.of_images)
    found, gaps = gather_images(of_images, None if embedded.taken else images, detections, path.parent)
    counts = [read_rows(rows.examples.height), dropped("entry that is not a record", rows.strays)]
    counts += [*rows.counts, *conflicts, *gaps, *rows.gaps, *embedded.counts()]
    examples = rows.examples if embedded.have_several or not embedded.taken else _without_lists(rows.examples)
    return Dataset(stem(path), examples, embedded.images(found), counts=count_table(counts))


def type_columns(table: pl.DataFrame, origin: str) -> CountedTable:
    """Convert the columns we know to their types; an unreadable list becomes null and is noted."""
    counts: list[RowCount] = []
    for name in (name for name in _TYPES if name in table.columns):
        typed = _TYPES[name](table[name], origin)
        lost = typed.null_count() - table[name].null_count()
        counts.append(noted(f"value of {name!r} that cannot be read, left out", lost))
        table = table.with_columns(typed.alias(name))
    for name in (name for name in _OBJECT_TYPES if name in table.columns):
        column, more = _OBJECT_TYPES[name](table[name], origin)
        counts += more
        table = table.with_columns(column.alias(name))
    return CountedTable(_type_evidence(table, origin), counts)


def _type_evidence(table: pl.DataFrame, origin: str) -> pl.DataFrame:
    if "evidence" in table.columns:
        pair = pl.struct(pl.element().struct.field("label"), pl.element().struct.field("box"))
        table = table.with_columns(pl.col("evidence").list.eval(pair).cast(pl.List(EVIDENCE)))
    if "relevance" in table.columns:
        try:
            table = table.with_columns(pl.col("relevance").cast(pl.List(pl.Float64)))
        except PolarsError:
            found = "other values in some rows"
            raise FileFormatError(
                f"numbers in column 'relevance' of {origin}", found, "write lists of numbers"
            ) from None
    return table


def _load(sources: list[SourceFile], path: Path, prepare: Prepare, embedded: EmbeddedPictures) -> LoadedTable:
    parts: list[Records] = []
    for source in sources:
        with reading(source):
            parts += read_parts(source, embedded)
    records = require_rows(stack(parts, sources), str(path))
    prepared, counts = prepare(records.table, 0)
    examples = prepared.drop(MOVED, strict=False)
    return LoadedTable(examples, prepared, counts, note_gaps(prepared), records.strays)


def _run_steps(table: pl.DataFrame, steps: Iterable[_Step]) -> CountedTable:
    counts: list[RowCount] = []
    for step in steps:
        table, more = step(table)
        counts += more
    return CountedTable(table, counts)


def _rename(table: pl.DataFrame, embedded: EmbeddedPictures, chosen: Mapping[str, str]) -> CountedTable:
    """Rename the columns to ours; a mapped column whose pictures were taken has become `image` already."""
    if embedded.taken and "image" in chosen:
        chosen = {ours: theirs for ours, theirs in chosen.items() if ours != "image"}
    return rename(table, EXAMPLE_COLUMNS, ALIASES, chosen)


def _without_lists(examples: pl.DataFrame | StoredTable) -> pl.DataFrame | StoredTable:
    """Leave out the lists of pictures: none of them has several."""
    return examples.select([name for name in examples.columns if name != IMAGE_LIST])


def _add_missing_columns(table: pl.DataFrame, origin: str, first: int) -> CountedTable:
    if "question" not in table.columns:
        found = f"columns {', '.join(table.columns) or 'none at all'}"
        advice = "say which it is with map, as in `eyechart read table FILE -o DATA --map question=text`"
        raise SettingError(f"a column 'question' in {origin}", found, advice)
    counts = []
    if "id" not in table.columns:
        table = table.with_columns(id=first + pl.int_range(pl.len()))
        counts.append(noted("row without an id column: its number is its id", table.height))
    if "image" not in table.columns:
        table = table.with_columns(image=pl.col("path") if "path" in table.columns else pl.lit(None, pl.String))
    if "answer" not in table.columns:
        table = table.with_columns(answer=pl.lit(None, pl.String))
    options = gather_options(table, origin)
    return CountedTable(options.select(*_REQUIRED, pl.exclude(_REQUIRED)), counts)


def _settle_splits(table: pl.DataFrame, split: str | None) -> CountedTable:
    if split is not None:
        return CountedTable(table.with_columns(split=pl.lit(split)), [])
    return name_splits(table) if "split" in table.columns else CountedTable(table, [])


def _settle_answers(table: pl.DataFrame, answer_is: AnswerKind) -> CountedTable:
    if "choices" in table.columns:
        named = name_answers(table, answer_is)
        useful = drop_stray_choices(fill_majority(named.table))
        return CountedTable(useful.table, [*named.counts, *useful.counts])
    return CountedTable(fill_majority(table), [])


def _move_to_images(examples: pl.DataFrame) -> CountedTable:
    """Build the table of images, with the paths and objects that the examples hold."""
    table = examples.select(pl.col("image").drop_nulls().unique().sort())
    counts: list[RowCount] = []
    if "path" in examples.columns:
        paths = examples.select("image", "path").drop_nulls().unique(maintain_order=True)
        counts.append(noted("image with several paths, the first kept", int(paths["image"].is_duplicated().sum())))
        table = _join(table, paths.unique("image", keep="first", maintain_order=True))
    if "objects" in examples.columns:
        objects, more = pool_objects(examples.select("image", "objects"))
        counts += more
        table = _join(table, objects)
    return CountedTable(table, counts)


def _join(table: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    return table.join(more, on="image", how="left", validate="1:1", maintain_order="left")
