"""Read NExT-QA and data in its form: tables of questions about videos, with five options or open-ended.

A qid is unique only within its video, so ids are `<video>-<qid>`. The answer is the index of an option, or its text, as
NExT-GQA writes it. Rows in = rows read + rows dropped.
"""

from pathlib import Path

import polars as pl

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.formats.choices import AnswerKind, gather_options, name_answers, note_repeated_options
from eyechart.formats.columns import as_key, as_text
from eyechart.formats.description import described
from eyechart.formats.names import split_name
from eyechart.formats.records import read_records
from eyechart.formats.rows import (
    CountedTable,
    count_table,
    drop_damaged,
    drop_empty_columns,
    drop_repeated,
    dropped,
    noted,
    read_rows,
)
from eyechart.formats.sources import SourceFile, find_sources, stem

_OPTIONS = ("a0", "a1", "a2", "a3", "a4")
_NEEDED = ("video", "qid", "question")
_COLUMNS = ("id", "image", "video", "question", "answer")
_SIZES = ("frame_count", "width", "height")
_OPTIONAL = ("choices", "question_type", *_SIZES, "split")


@described(
    needs="CSV files of questions about videos, with options a0 to a4 or open-ended, also as a folder of splits",
    sample="video,frame_count,width,height,question,answer,qid,type,a0,a1,a2,a3,a4\n"
    "4010069381,369,640,480,how do the two man play the instrument,0,6,CH,roll the handle,tap their feet,...",
    signs=("video,", "frame_count", "qid", "type", "question"),
)
def read_nextqa(path: Path, *, split: str | None = None) -> Dataset:
    """Read questions about videos; `split` overrides the splits in file names."""
    parts = [_read_part(source, split) for source in find_sources(path, {".csv", ".tsv", ".parquet"})]
    table = pl.concat((part.table for part in parts), how="diagonal_relaxed")
    sound, damaged = drop_damaged(table)
    unique, repeats = drop_repeated(sound)
    rows = drop_empty_columns(unique, _OPTIONAL)
    counts = [count for part in parts for count in part.counts]
    gaps = noted("row without an answer", rows["answer"].null_count())
    table_of_counts = count_table([read_rows(rows.height), *counts, *damaged, *repeats, gaps])
    return Dataset(stem(path), rows, Images.named(rows["image"]), ("video", "question"), "video", table_of_counts)


def _read_part(source: SourceFile, split: str | None) -> CountedTable:
    records = read_records(source)
    for name in _NEEDED:
        if name not in records.table.columns:
            found = f"columns {', '.join(records.table.columns) or 'none at all'}"
            raise FileFormatError(f"a column {name!r} in {source.name}", found, "read it with the format 'table'")
    table = _name_columns(records.table, source.name)
    named = _name_options(table.with_columns(split=pl.lit(split or split_name(source.name), pl.String)))
    strays = dropped("entry that is not a record", records.strays)
    return CountedTable(named.table.select(*_COLUMNS, *_OPTIONAL), [strays, *named.counts])


def _name_columns(table: pl.DataFrame, origin: str) -> pl.DataFrame:
    lacking = [name for name in ("answer", "type", *_SIZES) if name not in table.columns]
    options = [name for name in table.columns if name in _OPTIONS]
    full = table.select(*table.columns, *(pl.lit(None, pl.String).alias(name) for name in lacking))
    gathered = gather_options(full.select(options), origin, _OPTIONS)
    no_options = pl.Series("choices", [None] * table.height, pl.List(pl.String))
    listed = gathered["choices"] if "choices" in gathered.columns else no_options
    video, qid = (_clear_blank(as_key(full[name], origin)) for name in ("video", "qid"))
    columns = [
        (video + "-" + qid).alias("id"),
        pl.repeat(None, table.height, dtype=pl.String, eager=True).alias("image"),
        video,
        as_text(full["question"], origin),
        _clear_blank(as_text(full["answer"], origin)),
        # A row without any option is open-ended.
        listed.set(listed.list.drop_nulls().list.len() == 0, None),
        as_text(full["type"], origin).alias("question_type"),
        *(as_text(full[name], origin).cast(pl.Int64, strict=False) for name in _SIZES),
    ]
    return pl.DataFrame(columns)


def _clear_blank(column: pl.Series) -> pl.Series:
    return column.set(column.str.strip_chars() == "", None)


def _name_options(table: pl.DataFrame) -> CountedTable:
    """Replace indices by the options' texts; an ambiguous answer is an index if most of the file's answers are."""
    chosen = table.filter(pl.col("choices").is_not_null())["answer"].drop_nulls()
    indices = int(chosen.str.contains(r"^\s*\d\s*$").sum())
    kinds: tuple[AnswerKind, AnswerKind] = ("index", "text") if 2 * indices > len(chosen) else ("text", "index")
    named = name_answers(table, *kinds)
    lost = [count for count in named.counts if count.status == "dropped"]
    return CountedTable(named.table, [*lost, note_repeated_options(named.table)])
