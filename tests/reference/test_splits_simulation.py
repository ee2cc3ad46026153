"""What the intervals of `splits` promise for small tails, held against simulated models whose gap is known."""

from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from eyechart.audits.splits.judge import decide
from eyechart.audits.splits.measures import ANSWER, GROUP, TYPE, Scored, measure_judged
from eyechart.result import Measure

HEADS, DRAWS, MARGIN = 400, 100, 0.05


class Case(NamedTuple):
    tails: int
    of_heads: float  # right answers, in truth
    of_tails: float

    @property
    def gap(self) -> float:
        return self.of_heads - self.of_tails


def draw(case: Case, rng: np.random.Generator) -> Scored:
    """Let a model answer in two groups, each example on an image of its own."""
    n = HEADS + case.tails
    is_tail = np.arange(n) >= HEADS
    right = rng.random(n) < np.where(is_tail, case.of_tails, case.of_heads)
    columns = {
        "id": [f"{at:04}" for at in range(n)],
        "cluster": [str(at) for at in range(n)],
        "accuracy": right.astype(float),
        "QT": np.where(is_tail, "tail", "head"),
        GROUP + "QT": np.where(np.arange(n) % 2, "one", "other"),
        TYPE: ["kind"] * n,
        ANSWER: ["answer"] * n,
    }
    return Scored(pl.DataFrame(columns), ("QT",), "exact")


def judged(case: Case) -> list[list[Measure]]:
    rng = np.random.default_rng([case.tails, int(1000 * case.of_heads), int(1000 * case.of_tails)])
    return [measure_judged(draw(case, rng)).measures for _ in range(DRAWS)]


@pytest.mark.parametrize("case", [Case(24, 1.0, 0.95), Case(48, 0.97, 0.92), Case(200, 0.7, 0.5)])
def test_intervals_of_the_gap_hold_the_truth(case: Case) -> None:
    """A true rate of 95 % is 3.2 standard errors above the bound."""
    found = [one for measures in judged(case) for one in measures if one.name == "pooled gap"]

    assert len(found) == DRAWS
    assert np.mean([one.low <= case.gap <= one.high for one in found]) > 0.88


def test_a_gap_as_wide_as_the_margin_is_hardly_ever_cleared() -> None:
    """A tail of 24 without mistakes is seen in 29 % of draws, and tells too little."""
    states = [decide(measures, MARGIN).state for measures in judged(Case(24, 1.0, 1 - MARGIN))]

    assert states.count("clear") <= 0.05 * DRAWS
