"""What was drawn for each example, kept beside the means over draws.

Beside a mean, the rows have a column of lists: `drawn("without image")` holds for each example what it drew: the
donor's cluster, the score, and the draw's share of the mean. Intervals need these to cover new donors (see
`statistics.crossed`); the table `draws` of the result keeps them for comparisons of models.
"""

from typing import NamedTuple

import polars as pl

from eyechart.statistics.crossed import Draws, gather_draws

UNIT = "unit"  # the number of an example's cluster, with numbers for donors too


class Gifts(NamedTuple):
    """Of every draw of a removal: the clusters of its donors, and whether another answer would be right."""

    donors: pl.DataFrame  # id, k, donor; a row for each modality
    answers: pl.DataFrame  # id, k, other (the donor's reference), another (to the same question)


def drawn(column: str) -> str:
    """Name the column with the draws that another column is the mean of."""
    return f"draws of {column}"


def averaged(draws: pl.DataFrame, value: str, column: str, gifts: Gifts | None) -> pl.DataFrame:
    """Average what each example drew, and list the draws if anything was taken from donors.

    The draws have columns id, k and the value; the result has an id, the column and `drawn(column)`.
    """
    means = draws.group_by("id", maintain_order=True).agg(pl.col(value).mean().alias(column))
    if gifts is None:
        return means
    weighed = draws.with_columns(share=1 / pl.len().over("id"), kind=pl.lit(0, pl.Int64))
    donors = gifts.donors.join(weighed, on=["id", "k"], validate="m:1", maintain_order="left")
    term = pl.struct("donor", pl.col(value).alias("value"), "share", "kind")
    lists = donors.group_by("id", maintain_order=True).agg(term.alias(drawn(column)))
    return means.join(lists, on="id", how="left", validate="1:1", maintain_order="left")


def times(column: str, factor: float, kind: int) -> pl.Expr:
    """Multiply what was drawn for a column by a factor, as draws of their own kind."""
    field = pl.element().struct.field
    term = pl.struct(field("donor"), field("value") * factor, field("share"), kind=pl.lit(kind, pl.Int64))
    return pl.col(drawn(column)).list.eval(term)


def draws_of(rows: pl.DataFrame, column: str) -> Draws | None:
    """Collect the draws that a column is the mean of; None if there are none."""
    return gather_draws(rows[UNIT], rows[drawn(column)]) if drawn(column) in rows.columns else None


def draws_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Keep what comparisons need: the cluster's number, and the draws of each column under its name."""
    names = {name: name.removeprefix(drawn("")) for name in rows.columns if name.startswith(drawn(""))}
    return rows.select("id", UNIT, *names).rename(names)


def without_draws(rows: pl.DataFrame) -> pl.DataFrame:
    """Leave out what only intervals need."""
    return rows.drop(UNIT, *(name for name in rows.columns if name.startswith(drawn(""))))
