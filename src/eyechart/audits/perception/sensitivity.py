"""What if: the scores again with the answers that were lost taken for wrong, and for right."""

from collections.abc import Iterator

import polars as pl

from eyechart.audits.measuring import Said, measured
from eyechart.audits.perception.drawn import Drawn, Given
from eyechart.result import Measure
from eyechart.statistics import paired_difference

LOST_AS = {"wrong": 0.0, "right": 1.0}
WORST = "perception, lost as right"  # as if the modality had not been missed


def lost_measures(rows: pl.DataFrame, given: Given, how: str) -> Iterator[Measure]:
    """Bound each score whose answers were partly lost; an example lost as it is counts as wrong there."""
    own = _filled(given.plain, 0.0).select("id", pl.col("score").alias("own"))
    for removal, drawn in given.removed.items():
        if not given.plain.lost.height and not drawn.lost.height:
            continue
        for word, value in LOST_AS.items():
            left = _filled(drawn, value).group_by("id", maintain_order=True).agg(pl.col("score").mean())
            both = rows.join(own, on="id", validate="1:1").join(left, on="id", validate="1:1").sort("id")
            found = paired_difference(both["own"], both["score"], both["cluster"])
            key = Said(condition=removal.name, score=how, better="higher")
            yield measured(f"perception, lost as {word}", found, of=None, **key)


def _filled(drawn: Drawn, value: float) -> pl.DataFrame:
    lost = drawn.lost.select("id", "k", pl.lit(value).alias("score"))
    return pl.concat([drawn.scores, lost]).sort("id", "k")
