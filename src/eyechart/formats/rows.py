"""Count the fate of every row in a file, and drop the rows that cannot be examples.

Counts have one of three statuses: `read` (rows that are now examples or answers), `dropped` (rows that are not, and
why) and `noted` (something to know about rows that were read). Rows in the file = rows read + rows dropped.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import polars as pl

from eyechart.data.tables import COUNTS, empty

REPEATED = "row with an id seen before"
READ_BEFORE = "read before"  # ends the reason of rows that a layout has twice on purpose: dropping one loses nothing
LONGEST_ID = 60  # characters: texts are no ids


class RowCount(NamedTuple):
    """The number of rows with the same fate."""

    status: str
    reason: str | None
    n: int


class CountedTable(NamedTuple):
    """A table, and the fate of the rows and values that it was built from."""

    table: pl.DataFrame
    counts: list[RowCount]


class CountedColumn(NamedTuple):
    """A column, and the fate of the values that it was built from."""

    column: pl.Series
    counts: list[RowCount]


def read_rows(n: int) -> RowCount:
    """Count the rows that were read."""
    return RowCount("read", None, n)


def dropped(reason: str, n: int) -> RowCount:
    """Count the rows that were left out."""
    return RowCount("dropped", reason, n)


def noted(reason: str, n: int) -> RowCount:
    """Count the rows, images or files that share a remark."""
    return RowCount("noted", reason, n)


def count_table(counts: Iterable[RowCount]) -> pl.DataFrame:
    """Add up counts in a table; a reason that never occurred has no row, `read` always has one."""
    schema = empty(COUNTS).schema
    rows = [(None, *count) for count in counts if count.n or count.status == "read"]
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.group_by("condition", "status", "reason", maintain_order=True).agg(pl.col("n").sum())


def drop_rows(table: pl.DataFrame, reasons: Mapping[str, pl.Expr]) -> CountedTable:
    """Drop the rows for which a reason holds; a row with several reasons is counted under the first."""
    first_reason = pl.coalesce(pl.when(holds).then(pl.lit(reason)) for reason, holds in reasons.items())
    reason_of_row = table.select(first_reason.alias("reason"))["reason"]
    left_out = reason_of_row.drop_nulls().value_counts(sort=True)
    kept = table if left_out.is_empty() else table.filter(reason_of_row.is_null())
    return CountedTable(kept, [dropped(reason, n) for reason, n in left_out.iter_rows()])


def drop_damaged(table: pl.DataFrame) -> CountedTable:
    """Drop rows without an id or without a question; a blank answer becomes null."""
    reasons = {"row without an id": pl.col("id").is_null(), "row without a question": blank("question")}
    return drop_rows(clear_blank_answers(table), reasons)


def drop_repeated(table: pl.DataFrame) -> CountedTable:
    """Keep the first row of each id."""
    return drop_rows(table, {REPEATED: ~pl.col("id").is_first_distinct()})


_WORDS_OF_KEYS = "id|idx|index|no|num|key|set|fig|figure|video|image|split|part|subset"
_KEYS = rf"(?i)(?:^|[_ ])(?:{_WORDS_OF_KEYS})(?:[_ ]|$)|id$|category|task"


def find_unique_id(table: pl.DataFrame, known: str) -> list[str]:
    """Return columns that together tell all rows apart, those named like ids first; [] if there are none.

    `known` is the column that does not do so alone.
    """
    plain = [name for name in table.columns if not table[name].dtype.is_nested() and table[name].dtype != pl.Binary]
    short = [name for name in plain if (table[name].cast(pl.String).str.len_chars() <= LONGEST_ID).all()]
    whole = [name for name in short if not table[name].null_count() and table[name].n_unique() > 1]
    keys = [name for name in whole if name == known or re.search(_KEYS, name)]
    for chosen in (keys, whole):
        if chosen and not table.select(chosen).is_duplicated().any():
            needed = list(chosen)
            for name in reversed(chosen):
                fewer = [one for one in needed if one != name]
                if name != known and fewer and not table.select(fewer).is_duplicated().any():
                    needed = fewer
            return needed
    return []


def drop_empty_columns(table: pl.DataFrame, optional: Iterable[str]) -> pl.DataFrame:
    """Leave out the optional columns that are null in every row."""
    return table.drop(name for name in optional if table[name].is_null().all())


def blank(column: str) -> pl.Expr:
    """Return whether each text is missing or only white space."""
    return ~pl.col(column).str.contains(r"\S").fill_null(value=False)  # stripping would copy the whole column


def clear_blank_answers(table: pl.DataFrame) -> pl.DataFrame:
    """Make a blank answer null: no answer could match it, and there is nothing to learn from it."""
    return table.with_columns(answer=pl.when(~blank("answer")).then("answer"))


def note_gaps(table: pl.DataFrame) -> list[RowCount]:
    """Count the rows without an image and those without an answer."""
    return [noted(f"row without an {name}", table[name].null_count()) for name in ("image", "answer")]
