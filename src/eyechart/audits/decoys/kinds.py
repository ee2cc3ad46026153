"""Which kinds of decoys give themselves away: how often each scorer puts the target above a decoy of the kind."""

import polars as pl

from eyechart.audits.decoys.features import SEEN
from eyechart.statistics import mean_by

SCHEMA: dict[str, type[pl.DataType]] = {
    "solver": pl.String,
    "kind": pl.String,
    **dict.fromkeys(("value", "low", "high"), pl.Float64),
    "n": pl.Int64,
    "clusters": pl.Int64,
}


def kinds_table(offers: pl.DataFrame, scores: pl.DataFrame, column: str) -> pl.DataFrame:
    """Estimate P(score of the target > score of the decoy), equals counting half; guessing has 0.5.

    `column` lists how each option was made, in the order of the data's options.
    """
    if offers.schema.get(column) != pl.List(pl.String):
        return pl.DataFrame(schema=SCHEMA)
    # Where an option was left out, the list no longer lies beside the options.
    whole = pl.col(column).list.len() == pl.len().over("id")
    made = pl.when(whole).then(pl.col(column).list.get(pl.col("place"), null_on_oob=True))
    typed = offers.select("id", "cluster", "target", kind=made).hstack(scores)
    found = pl.concat([_estimate(_wins(typed, solver), solver) for solver in SEEN])
    return found.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())


def _wins(typed: pl.DataFrame, solver: str) -> pl.DataFrame:
    best = pl.col(solver).filter("target").first().over("id")
    win = (best > pl.col(solver)).cast(pl.Float64) + (best == pl.col(solver)).cast(pl.Float64) / 2
    return typed.with_columns(win.alias("win")).filter(~pl.col("target")).drop_nulls("kind")


def _estimate(part: pl.DataFrame, solver: str) -> pl.DataFrame:
    return mean_by(part, "win", ["kind"], "cluster").with_columns(pl.lit(solver).alias("solver"))
