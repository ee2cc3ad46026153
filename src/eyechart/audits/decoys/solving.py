"""What solves a set of options: the score of a rule or scorer on every example, beside chance on the same ones."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from eyechart.audits.decoys.blind import CONTROL, CONTROLLED
from eyechart.audits.measuring import measured
from eyechart.result import Better, Measure
from eyechart.statistics import Difference, Estimate, adjust, beyond_known, mean

CHANCE = "chance"
SCORE = "choice"  # an option is right or wrong
# Of all others lower is better, for they lack something. This one sees everything, and the control must be at chance.
NO_LEAK = (CONTROLLED, CONTROL)


class Solver(NamedTuple):
    """One way to pick an option, in words, and its scores: id, cluster, score, chance."""

    options: str
    name: str
    picks: str
    scores: pl.DataFrame

    @property
    def column(self) -> str:
        """Name the column of its scores among the rows."""
        return f"{self.options} {self.name}"


class Solved(NamedTuple):
    """How often a solver is right, how far that is above chance, and the adjusted p-value of that."""

    solver: Solver
    accuracy: Estimate
    over: Difference
    q: float


def measure_chance(rows: pl.DataFrame, options: str, score: str) -> Measure:
    """Average the chance of a guess, which is known of these examples: its interval is a point."""
    found = mean(rows[CHANCE], rows["cluster"])
    known = found._replace(low=found.value, high=found.value, method="none, chance is known")
    return measured(CHANCE, known, of=f"{options} {CHANCE}", condition=options, score=score, better="neither")


def hold_against_chance(solvers: Iterable[Solver]) -> list[Solved]:
    """Estimate every solver, and adjust the p-values for all of them together."""
    listed = list(solvers)
    right = [mean(one.scores["score"], one.scores["cluster"]) for one in listed]
    over = [beyond_known(one.scores["score"], one.scores[CHANCE], one.scores["cluster"]) for one in listed]
    q = adjust([found.p for found in over])
    return [Solved(*each) for each in zip(listed, right, over, map(float, q), strict=True)]


def solver_measures(found: Iterable[Solved]) -> Iterator[Measure]:
    """Measure each solver; its p-value is of no difference from chance."""
    for one in found:
        name, condition = one.solver.name, one.solver.options
        better: Better = "neither" if name in NO_LEAK else "lower"
        measure = measured(name, one.accuracy, of=one.solver.column, condition=condition, score=SCORE, better=better)
        yield replace(measure, p=one.over.p, q=one.q, note=f"{measure.note}; p against chance; {one.solver.picks}")


def solver_table(found: Iterable[Solved]) -> pl.DataFrame:
    """Lay the solvers out with chance and the distance from it."""
    rows = [
        {
            "options": one.solver.options,
            "solver": one.solver.name,
            "picks": one.solver.picks,
            "accuracy": one.accuracy.value,
            "low": one.accuracy.low,
            "high": one.accuracy.high,
            "chance": one.accuracy.value - one.over.value,
            "over_chance": one.over.value,
            "over_low": one.over.low,
            "over_high": one.over.high,
            "p": one.over.p,
            "q": one.q,
            "n": one.accuracy.n,
            "clusters": one.accuracy.clusters,
        }
        for one in found
    ]
    return pl.DataFrame(rows, schema=SOLVERS)


SOLVERS: dict[str, type[pl.DataType]] = {
    "options": pl.String,
    "solver": pl.String,
    "picks": pl.String,
    **dict.fromkeys(
        ("accuracy", "low", "high", "chance", "over_chance", "over_low", "over_high", "p", "q"), pl.Float64
    ),
    "n": pl.Int64,
    "clusters": pl.Int64,
}
