"""How often people are right with what they saw, and how often two of them say the same.

Agreement on an example is the share of the pairs of people who saw the same of it and gave the same answer (in normal
form); its interval is over examples, clustered like any other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import NamedTuple

import polars as pl

from eyechart.scoring import auto_score, score
from eyechart.statistics import mean
from eyechart.statistics.means import Estimate
from eyechart.text import clean_answer, normalize_answer
from eyechart.viewing.asking.log import Said
from eyechart.viewing.asking.plan import Part, Questionnaire


class Row(NamedTuple):
    """What came of one part."""

    part: Part
    people: int
    accuracy: Estimate
    agreement: Estimate


def agree(plan: Questionnaire, said: Sequence[Said]) -> Iterator[Row]:
    """Measure each part that anybody saw."""
    known = plan.data.examples.with_columns(plan.data.clusters().alias("cluster"))
    for part in plan.parts:
        told = [asdict(each) for each in said if each.condition == part.condition and each.id in plan.items]
        if told:
            table = pl.DataFrame(told).rename({"answer": "given"}).join(known, on="id", validate="m:1")
            shown = [plan.shown[part.condition][name].get("choices") for name in table["id"]]
            table = table.with_columns(pl.Series("choices", shown, dtype=pl.List(pl.String)))
            scores = score(table, auto_score(table))
            yield Row(part, table["person"].n_unique(), mean(scores, table["cluster"]), _agreement(table))


def _agreement(table: pl.DataFrame) -> Estimate:
    normal = table.with_columns(normalize_answer(clean_answer(pl.col("given"))))
    alike = normal.group_by("id", "cluster", "given").len().with_columns(pl.col("len").cast(pl.Float64))
    pairs = alike.group_by("id", "cluster").agg(
        same=(pl.col("len") * (pl.col("len") - 1)).sum(), all=pl.col("len").sum() * (pl.col("len").sum() - 1)
    )
    several = pairs.filter(pl.col("all") > 0).sort("id")
    return mean(several["same"] / several["all"], several["cluster"])
