"""Groups in which a model does far worse on the tail than on the head."""

import polars as pl

from eyechart.audits.keyed import means_by_key
from eyechart.audits.splits.names import HEAD, TAIL
from eyechart.protocols import Engine

MOST = 200
FEWEST = 5  # examples in the tail of a group


def worst_table(rows: pl.DataFrame, labels: pl.DataFrame, concepts: list[str], engine: Engine) -> pl.DataFrame:
    """List the groups by how far the high end of their tail accuracy lies below the low end of the head's."""
    found = pl.concat([_groups(rows, labels, concept, engine) for concept in concepts])
    return found.sort("surely", "concept", "group", descending=[True, False, False]).head(MOST)


def _groups(rows: pl.DataFrame, labels: pl.DataFrame, concept: str, engine: Engine) -> pl.DataFrame:
    named = labels.select(pl.col("example").alias("id"), pl.col(concept).alias("of"))
    inside = rows.select("id", "cluster", "accuracy", pl.col(concept).alias("side")).drop_nulls("side")
    found = means_by_key(inside.join(named, on="id", validate="1:1"), "accuracy", ["of", "side"], engine)
    head, tail = (found.filter(pl.col("side") == side) for side in (HEAD, TAIL))
    both = head.join(tail.filter(pl.col("n") >= FEWEST), on="of", suffix="_tail", validate="1:1")
    return both.select(
        pl.lit(concept).alias("concept"),
        pl.col("of").alias("group"),
        pl.col("n").alias("n_head"),
        pl.col("value").alias("head"),
        "low",
        pl.col("n_tail"),
        pl.col("value_tail").alias("tail"),
        pl.col("high_tail"),
        (pl.col("value") - pl.col("value_tail")).alias("drop"),
        (pl.col("low") - pl.col("high_tail")).alias("surely"),
    )
