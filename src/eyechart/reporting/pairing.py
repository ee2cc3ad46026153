"""The two models a reader would compare, and which of them is right more often, by how much and how surely."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from eyechart.audits import AUDITS
from eyechart.data.furniture import furniture_of
from eyechart.data.result import Result
from eyechart.reporting.glance import ONE, ModelLine
from eyechart.statistics.intervals import moments
from eyechart.statistics.means import estimate
from eyechart.statistics.paired import differences
from eyechart.statistics.rows import arrange

LEVEL = 0.95


@dataclass(frozen=True)
class Lead:
    """How much more often one of two models is right on the same examples, with the interval of the difference."""

    leader: str
    other: str
    right: float
    other_right: float
    value: float
    low: float
    high: float
    n: int

    @property
    def is_sure(self) -> bool:
        """Return whether the interval excludes no difference."""
        return self.low > 0

    def __str__(self) -> str:
        """Say who leads, by how much and how surely."""
        rights = f"{self.leader} is right {_percent(self.right)} of the time, {self.other} {_percent(self.other_right)}"
        value, low, high = (f"{100 * each:.1f}" for each in (self.value, self.low, self.high))
        by = f"{value} points, 95 % interval {low} to {high}, on the same {self.n:,} examples"
        if self.is_sure:
            return f"{self.leader} leads: {rights} (ahead by {by})."
        return f"It is not sure which leads: {rights} (apart by {by})."


def choose_pair(lines: Sequence[ModelLine]) -> tuple[str, str] | None:
    """Choose the best model that looks and the best that does not, else the two that are most often right."""
    ranked = sorted(lines, key=lambda line: (-(line.right.value or 0) if line.right else 0.0, line.model))
    if len(ranked) < 2:
        return None
    best = [next((line for line in ranked if line.overall.state == state), None) for state in ("yes", "no")]
    looks, looks_not = best
    pair = (looks, looks_not) if looks and looks_not else ranked[:2]
    first, second = (line.model for line in ranked if line in pair)
    return first, second


def measure_lead(first: str, second: str, scores: pl.DataFrame) -> Lead | None:
    """Measure the lead from a table with columns `first`, `second` and `cluster`; None without common examples."""
    both = scores.drop_nulls(["first", "second"])
    if not both.height:
        return None
    one, other = (both[name].cast(pl.Float64).to_numpy() for name in ("first", "second"))
    found = estimate(moments(arrange((differences(one, other),), both["cluster"]), "differences"), LEVEL, "differences")
    value, low, high, n = found.value, found.low, found.high, found.n
    if value < 0:
        return Lead(second, first, float(other.mean()), float(one.mean()), -value, -high, -low, n)
    return Lead(first, second, float(one.mean()), float(other.mean()), value, low, high, n)


def lead_of(results: Mapping[str, Mapping[str, Result]], pair: tuple[str, str]) -> Lead | None:
    """Measure the lead from the rows of an audit that scores the unchanged examples, of results by model and audit."""
    for audit in AUDITS.names():
        column = furniture_of(AUDITS.get(audit)).scored
        tables = [results[model][audit].rows for model in pair if column and audit in results[model]]
        if len(tables) == len(pair) and all(column in table.columns for table in tables):
            one, other = (
                table.select("id", "cluster", pl.col(column).alias(name))
                for name, table in zip(("first", "second"), tables, strict=True)
            )
            return measure_lead(*pair, one.join(other.drop("cluster"), on="id", validate="1:1", maintain_order="left"))
    return None


def tell_pair(lines: Sequence[ModelLine], results: Mapping[str, Mapping[str, Result]]) -> str:
    """Say which of the two models a reader would compare leads, and whether they look."""
    pair = choose_pair(lines)
    if pair is None:
        return ""
    return " ".join(filter(None, [str(lead_of(results, pair) or ""), tell_looks(lines, *pair)]))


def tell_looks(lines: Sequence[ModelLine], *models: str) -> str:
    """Say of some models whether they look."""
    states = {line.model: line.overall.state for line in lines}
    return " ".join(f"{model} {ONE[states[model]]}." for model in models if model in states)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
