"""Leave out rows that can be no example, and columns that say nothing."""

from collections.abc import Iterable

import polars as pl

from eyechart.readers.counting import Count, Sifted, noted, sift

REPEATED = "row with an id seen before"


def blank(column: str) -> pl.Expr:
    """Say of each text whether it is missing or holds nothing but space."""
    return ~pl.col(column).str.contains(r"\S").fill_null(value=False)  # stripping would copy the whole column


def drop_damaged(table: pl.DataFrame) -> Sifted:
    """Drop rows without an id or without a question; a blank answer is none."""
    reasons = {"row without an id": pl.col("id").is_null(), "row without a question": blank("question")}
    return sift(clear_blank_answers(table), reasons)


def clear_blank_answers(table: pl.DataFrame) -> pl.DataFrame:
    """Make a blank answer null: no answer could be right, and it is not one to learn."""
    return table.with_columns(answer=pl.when(~blank("answer")).then("answer"))


def drop_repeated(table: pl.DataFrame) -> Sifted:
    """Keep the first row of each id."""
    return sift(table, {REPEATED: ~pl.col("id").is_first_distinct()})


def drop_silent(table: pl.DataFrame, optional: Iterable[str]) -> pl.DataFrame:
    """Leave out those of the optional columns that are null in every row."""
    return table.drop(name for name in optional if table[name].is_null().all())


def note_gaps(table: pl.DataFrame) -> list[Count]:
    """Count the rows without an image and those without an answer."""
    return [noted(f"row without an {name}", table[name].null_count()) for name in ("image", "answer")]
