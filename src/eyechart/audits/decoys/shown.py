"""A few examples with all their options, to look at (Fig. 2 and 3 of the paper)."""

import polars as pl

from eyechart.audits.decoys.parts import JUDGED
from eyechart.audits.decoys.recipes import IOU, QOU
from eyechart.hashing import hash_text

MOST = 12


def shown_table(examples: pl.DataFrame, decoys: pl.DataFrame) -> pl.DataFrame:
    """Choose judged examples by a hash of their ids, and put their decoys beside them."""
    judged = examples.filter((pl.col("part") == JUDGED).fill_null(value=False))
    chosen = judged.with_columns(pl.Series("order", hash_text(judged["id"]))).sort("order").head(MOST).sort("id")
    choices = pl.col("choices") if "choices" in chosen.columns else pl.lit(None, pl.List(pl.String)).alias("choices")
    table = chosen.select("id", "image", "question", "answer", choices)
    for source in (IOU, QOU):
        drawn = decoys.filter(pl.col("source") == source).sort("id", "place")
        lists = drawn.group_by("id", maintain_order=True).agg(pl.col("decoy").alias(source))
        table = table.join(lists, on="id", how="left", validate="1:1", maintain_order="left")
    return table
