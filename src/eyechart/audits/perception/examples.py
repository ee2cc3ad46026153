"""The single examples: how their scores spread, and those that are answered without looking."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from eyechart.audits.perception.drawn import Drawn, Given, perceived
from eyechart.audits.perception.removals import Removal

SHOWN = 20  # of each removal
BINS = 20
BETWEEN = " | "


def sample_scores(rows: pl.DataFrame, removals: Sequence[Removal]) -> pl.DataFrame:
    """Count the sample perceptual scores by bins from -1 to 1; the outer bins hold what lies beyond."""
    edges = np.linspace(-1, 1, BINS + 1)
    parts = []
    for removal in removals:
        values = rows[perceived(removal.name)].drop_nulls().to_numpy()
        n, _ = np.histogram(np.clip(values, -1, 1), edges)
        table = pl.DataFrame({"from": edges[:-1], "to": edges[1:], "n": n.astype(np.int64)})
        parts.append(table.with_columns(pl.lit(removal.name).alias("removed")))
    return pl.concat(parts).filter(pl.col("n") > 0)


def least_perceived(rows: pl.DataFrame, examples: pl.DataFrame, given: Given) -> pl.DataFrame:
    """Show the examples of the lowest scores, those that are right first, with the answers under each condition."""
    parts = [_least(rows, removal, each) for removal, each in given.removed.items()]
    shown = [name for name in ("question", "answer") if name in examples.columns]
    own = given.plain.said.select("id", pl.col("said").alias("says"))
    table = pl.concat(parts).join(examples.select("id", *shown), on="id", validate="m:1", maintain_order="left")
    table = table.join(own, on="id", how="left", validate="m:1", maintain_order="left")
    return table.select("removed", "id", *shown, "says", "says without", "accuracy", "perception", "draws")


def _least(rows: pl.DataFrame, removal: Removal, drawn: Drawn) -> pl.DataFrame:
    score = perceived(removal.name)
    known = rows.drop_nulls(score).sort(score, "accuracy", "id", descending=[False, True, False]).head(SHOWN)
    said = drawn.said.group_by("id", maintain_order=True).agg(
        pl.col("said").str.join(BETWEEN).alias("says without"), pl.len().cast(pl.Int64).alias("draws")
    )
    joined = known.join(said, on="id", how="left", validate="1:1", maintain_order="left")
    return joined.select(
        pl.lit(removal.name).alias("removed"),
        "id",
        "says without",
        "accuracy",
        pl.col(score).alias("perception"),
        "draws",
    )
