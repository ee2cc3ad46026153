"""Convert multiple choice to one form: the options as a list of texts, the answer as one of these texts."""

from collections.abc import Sequence
from itertools import takewhile
from string import ascii_uppercase
from typing import Literal

import polars as pl

from eyechart.formats.columns import as_text
from eyechart.formats.rows import CountedTable, RowCount, drop_rows, noted

AnswerKind = Literal["auto", "text", "letter", "index"]
_LETTER = r"^\(?([A-Za-z])[).:]?$"


def gather_options(table: pl.DataFrame, origin: str, names: Sequence[str] = ascii_uppercase) -> pl.DataFrame:
    """Combine columns A, B, C, ... up to the first missing one into `choices`, unless that column exists."""
    present = list(takewhile(table.columns.__contains__, names))
    if "choices" in table.columns or len(present) < 2:
        return table
    options = [as_text(table[name], origin) for name in present]
    # A question with fewer options than others has nulls or empty cells after the last one.
    filled = [option.set(option.str.strip_chars() == "", None) for option in options]
    return table.with_columns(pl.concat_list(filled).alias("choices")).drop(present)


def name_answers(table: pl.DataFrame, answer_is: AnswerKind, *further: AnswerKind) -> CountedTable:
    """Replace letters (A is the first) and indices (0 is the first) by the option's text; drop rows that match none.

    If several kinds are given, each row is read as the first kind that fits.
    """
    kinds = tuple(_MEANINGS) if answer_is == "auto" else (answer_is, *further)
    readings = table.select(_MEANINGS[kind].alias(kind) for kind in kinds)
    resolved = readings.select(pl.coalesce(kinds)).to_series()
    has_both = table["choices"].is_not_null() & table["answer"].is_not_null()
    named = table.with_columns(
        pl.when(has_both).then(resolved).otherwise("answer").alias("answer"),
        pl.col("choices").list.drop_nulls(),
    )
    read_as = " or ".join((answer_is, *further))
    reason = f"row whose answer is not among its choices (read as {read_as})"
    kept, counts = drop_rows(named, {reason: pl.lit(has_both & resolved.is_null())})
    return CountedTable(kept, [*counts, *_note_readings(readings, resolved)])


def _note_readings(readings: pl.DataFrame, meant: pl.Series) -> list[RowCount]:
    first = pl.coalesce(pl.when(pl.col(kind).is_not_null()).then(pl.lit(kind)) for kind in readings.columns)
    kinds = readings.select(first).to_series()
    notes = [noted(f"answer given as {kind}", int((kinds == kind).sum())) for kind in ("letter", "index")]
    doubtful = readings.select(pl.any_horizontal((pl.all() != meant).fill_null(value=False))).to_series()
    return [*notes, noted("answer that could also be read as another option; see answer_is", int(doubtful.sum()))]


def drop_stray_choices(table: pl.DataFrame) -> CountedTable:
    """Remove the options of examples whose answer is not among them: no audit could judge the choice."""
    stray = pl.col("answer").is_not_null() & ~pl.col("choices").list.contains(pl.col("answer"))
    note = noted("choices left out: the answer is not among them", int(table.select(stray.sum()).item()))
    return CountedTable(table.with_columns(pl.when(~stray).then("choices").alias("choices")), [note])


def name_by_index(table: pl.DataFrame) -> CountedTable:
    """Replace answers given as indices, from 0, by the options' texts; drop indices out of range."""
    lost = pl.col("choices").is_null() & pl.col("answer").is_not_null()
    note = noted("answer given as an index, but no choices: left out", int(table.select(lost.sum()).item()))
    named = name_answers(table.with_columns(pl.when(~lost).then("answer").alias("answer")), "index")
    return CountedTable(named.table, [note, *(count for count in named.counts if count.status == "dropped")])


def note_repeated_options(table: pl.DataFrame) -> RowCount:
    """Count the rows that offer the same option twice."""
    options = pl.col("choices").list
    return noted("row with the same option twice", int(table.select((options.n_unique() < options.len()).sum()).item()))


def _option(index: pl.Expr) -> pl.Expr:
    # A negative index would count from the end.
    return pl.col("choices").list.get(pl.when(index >= 0).then(index), null_on_oob=True)


_MEANINGS = {
    "text": pl.when(pl.col("choices").list.contains(pl.col("answer"))).then("answer"),
    "letter": _option(
        pl.col("answer")
        .str.strip_chars()
        .str.extract(_LETTER)
        .str.to_uppercase()
        .replace_strict(list(ascii_uppercase), list(range(26)), default=None, return_dtype=pl.Int64)
    ),
    "index": _option(pl.col("answer").str.strip_chars().str.extract(r"^(\d{1,3})$").cast(pl.Int64)),
}
