"""Bring multiple choice into one form: the options as a list of text, the answer as the text of one of them."""

from collections.abc import Sequence
from itertools import takewhile
from string import ascii_uppercase
from typing import Literal, NamedTuple

import polars as pl

from eyechart.readers.columns import as_text
from eyechart.readers.counting import Count, noted, sift

AnswerKind = Literal["auto", "text", "letter", "index"]
_LETTER = r"^\(?([A-Za-z])[).:]?$"


class Chosen(NamedTuple):
    """Examples whose answers are options, and what became of the others."""

    table: pl.DataFrame
    counts: list[Count]


def gather_options(table: pl.DataFrame, place: str, names: Sequence[str] = ascii_uppercase) -> pl.DataFrame:
    """Put columns A, B, C, ... up to the first missing together as `choices`, where there is no such column yet."""
    found = list(takewhile(table.columns.__contains__, names))
    if "choices" in table.columns or len(found) < 2:
        return table
    options = [as_text(table[name], place) for name in found]
    # A question with fewer options than others has nulls or empty cells after its last.
    filled = [option.set(option.str.strip_chars() == "", None) for option in options]
    return table.with_columns(pl.concat_list(filled).alias("choices")).drop(found)


def name_answers(table: pl.DataFrame, answer_is: AnswerKind, *further: AnswerKind) -> Chosen:
    """Replace letters (A is the first) and indices (0 is the first) by the option's text, and drop what fits none.

    With further kinds, each row is read as the first that fits.
    """
    kinds = tuple(_MEANINGS) if answer_is == "auto" else (answer_is, *further)
    readings = table.select(_MEANINGS[kind].alias(kind) for kind in kinds)
    meant = readings.select(pl.coalesce(kinds)).to_series()
    asked = table["choices"].is_not_null() & table["answer"].is_not_null()
    named = table.with_columns(
        pl.when(asked).then(meant).otherwise("answer").alias("answer"),
        pl.col("choices").list.drop_nulls(),
    )
    read_as = " or ".join((answer_is, *further))
    reason = f"row whose answer is not among its choices (read as {read_as})"
    kept, counts = sift(named, {reason: pl.lit(asked & meant.is_null())})
    return Chosen(kept, [*counts, *_note_readings(readings, meant)])


def _note_readings(readings: pl.DataFrame, meant: pl.Series) -> list[Count]:
    first = pl.coalesce(pl.when(pl.col(kind).is_not_null()).then(pl.lit(kind)) for kind in readings.columns)
    found = readings.select(first).to_series()
    notes = [noted(f"answer given as {kind}", int((found == kind).sum())) for kind in ("letter", "index")]
    doubtful = readings.select(pl.any_horizontal((pl.all() != meant).fill_null(value=False))).to_series()
    return [*notes, noted("answer that could be read as another option too; see answer_is", int(doubtful.sum()))]


def set_aside_choices(table: pl.DataFrame) -> Chosen:
    """Leave out the options of examples whose answer is none of them: no audit could judge a choice."""
    stray = pl.col("answer").is_not_null() & ~pl.col("choices").list.contains(pl.col("answer"))
    note = noted("choices left out: the answer is not among them", int(table.select(stray.sum()).item()))
    return Chosen(table.with_columns(pl.when(~stray).then("choices").alias("choices")), [note])


def name_by_index(table: pl.DataFrame) -> Chosen:
    """Replace the answers of a format that gives indices, from 0, by the option's text; an index of nothing goes."""
    lost = pl.col("choices").is_null() & pl.col("answer").is_not_null()
    note = noted("answer given as an index, but no choices: left out", int(table.select(lost.sum()).item()))
    named = name_answers(table.with_columns(pl.when(~lost).then("answer").alias("answer")), "index")
    return Chosen(named.table, [note, *(count for count in named.counts if count.status == "dropped")])


def note_repeated_options(table: pl.DataFrame) -> Count:
    """Count the rows that offer the same option twice."""
    options = pl.col("choices").list
    return noted("row with the same option twice", int(table.select((options.n_unique() < options.len()).sum()).item()))


def _option(at: pl.Expr) -> pl.Expr:
    # A negative position would count from the end.
    return pl.col("choices").list.get(pl.when(at >= 0).then(at), null_on_oob=True)


_MEANINGS = {
    "text": pl.when(pl.col("choices").list.contains(pl.col("answer"))).then("answer"),
    "letter": _option(
        pl.col("answer")
        .str.strip_chars()
        .str.extract(_LETTER)
        .str.to_uppercase()
        .replace_strict({letter: at for at, letter in enumerate(ascii_uppercase)}, default=None, return_dtype=pl.Int64)
    ),
    "index": _option(pl.col("answer").str.strip_chars().str.extract(r"^(\d{1,3})$").cast(pl.Int64)),
}
