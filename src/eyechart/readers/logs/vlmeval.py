"""Read the prediction files of VLMEvalKit: workbooks, .tsv or .json, as inferred or already scored.

Its `answer` is the reference; what the model said is `prediction`, and what a scored file made of it `extracted`.
"""

from collections.abc import Sequence

import polars as pl

from eyechart.readers.columns import as_key, as_text
from eyechart.readers.counting import Count, dropped, noted
from eyechart.readers.logs.content import Content
from eyechart.readers.logs.log import Log, Wanted, require_columns
from eyechart.readers.records import stack

FAILED = "Failed to obtain answer via API."
GUESSED = "Failed to predict, thus randomly generate one."  # the judge found no answer and drew an option
UNKNOWN = "Unknown"  # neither yes nor no was found
CELL = 32_767  # characters that a cell of a workbook can hold
ROTATION = 1_000_000  # between the index of a question and that of the same with its options shifted
OUR_COLUMN = "eyechart"  # where our own exports carry the id, which the tool's index would not keep as text
OUR_MARK = "id:"
OUR_CONDITION = "eyechart_condition"  # and under which condition was asked
_TEXTS = {"prediction": "raw", "extracted": "extracted", "log": "log"}


def read_vlmeval(contents: Sequence[Content], wanted: Wanted) -> Log:  # noqa: ARG001 - part of the contract
    """Read predictions by their index as it stands, so that the rotations of a circular question are apart."""
    sources = [content.source for content in contents]
    records = stack([content.table for content in contents], sources)
    place = sources[0].name
    require_columns(records.table, ("index", "prediction"), place)
    table = _type(records.table, place)
    counts = [dropped("entry that is no record", records.strays), *_note(table)]
    return Log(_judge(table), counts)


def _type(table: pl.DataFrame, place: str) -> pl.DataFrame:
    texts = [
        as_text(table[theirs], place).alias(ours)
        if theirs in table.columns and table[theirs].dtype != pl.Null
        else pl.lit(None, pl.String).alias(ours)
        for theirs, ours in _TEXTS.items()
    ]
    group = as_key(table["g_index"], place) if "g_index" in table.columns else pl.lit(None, pl.String)
    known = [as_text(table[name], place).alias("condition") for name in (OUR_CONDITION,) if name in table.columns]
    return table.select(_find_key(table, place).alias("id"), *texts, group.alias("group"), *known)


def _find_key(table: pl.DataFrame, place: str) -> pl.Series:
    if OUR_COLUMN in table.columns:
        return as_text(table[OUR_COLUMN], place).str.strip_prefix(OUR_MARK)
    return as_key(table["index"], place)


def _judge(table: pl.DataFrame) -> pl.DataFrame:
    raw, extracted = pl.col("raw"), pl.col("extracted")
    failed = raw.is_null() | raw.str.contains(FAILED, literal=True)
    guessed = pl.any_horizontal(pl.col("log", "extracted").str.contains(GUESSED, literal=True).fill_null(value=False))
    unparsed = guessed | (extracted == UNKNOWN).fill_null(value=False)
    status = pl.when(failed).then(pl.lit("failed")).when(unparsed).then(pl.lit("unparsed")).otherwise(pl.lit("ok"))
    answer = pl.when(~failed & ~unparsed).then(pl.coalesce(extracted, raw))
    known = [name for name in ("condition",) if name in table.columns]
    return table.select("id", answer.alias("answer"), "raw", status.alias("status"), *known)


def _note(table: pl.DataFrame) -> list[Count]:
    number = pl.col("id").cast(pl.Int64, strict=False)
    base = (number % ROTATION).cast(pl.String)
    rotated = pl.when(pl.col("group").is_null()).then((number >= ROTATION) & base.is_in(pl.col("id").implode()))
    found = table.select(
        rotated=rotated.otherwise(pl.col("group") != pl.col("id")).sum(),
        cut=(pl.col("raw").str.len_chars() == CELL).sum(),
        extracted=pl.col("extracted").is_not_null().sum(),
    ).row(0, named=True)
    return [
        noted("rotation of a circular question", found["rotated"]),
        noted(f"prediction cut off at the {CELL:,} characters of a cell", found["cut"]),
        noted("answer as the tool extracted it", found["extracted"]),
    ]
