"""Say of every row in a file what became of it.

Counts have one of three statuses: `read` (rows that are now examples or answers), `dropped` (rows that are not, and
why) and `noted` (something to know about rows that were read). Rows in the file = rows read + rows dropped.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import polars as pl

from eyechart.tables import COUNTS, empty


class Count(NamedTuple):
    """How many rows share one fate."""

    status: str
    reason: str | None
    n: int


class Sifted(NamedTuple):
    """The rows that stay, and a count for each reason to leave."""

    table: pl.DataFrame
    counts: list[Count]


def read_rows(n: int) -> Count:
    """Count the rows that were read."""
    return Count("read", None, n)


def dropped(reason: str, n: int) -> Count:
    """Count the rows that were left out."""
    return Count("dropped", reason, n)


def noted(reason: str, n: int) -> Count:
    """Count the rows, images or files of which there is something to know."""
    return Count("noted", reason, n)


def sift(table: pl.DataFrame, reasons: Mapping[str, pl.Expr]) -> Sifted:
    """Drop the rows for which a reason holds; a row with several is counted under the first."""
    chosen = pl.coalesce(pl.when(holds).then(pl.lit(reason)) for reason, holds in reasons.items())
    first = table.select(chosen.alias("reason"))["reason"]
    left = first.drop_nulls().value_counts(sort=True)
    kept = table if left.is_empty() else table.filter(first.is_null())
    return Sifted(kept, [dropped(reason, n) for reason, n in left.iter_rows()])


def count_table(counts: Iterable[Count]) -> pl.DataFrame:
    """Lay counts out as a table; a reason that never held has no row, nothing read has one."""
    schema = empty(COUNTS).schema
    rows = [(None, *count) for count in counts if count.n or count.status == "read"]
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.group_by("condition", "status", "reason", maintain_order=True).agg(pl.col("n").sum())
