"""What the intervals of `splits` promise for small tails, held against simulated models whose gap is known."""

from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from eyechart.audits.splits.measures import ANSWER, GROUP, TYPE, Scored, measure_judged
from eyechart.audits.splits.verdict import Reach, decide
from eyechart.data.result import Measure
from eyechart.statistics import no_surer_than_parts, paired_difference

HEADS, DRAWS, MARGIN = 400, 50, 0.05

REACH = Reach(("QT",), 1, HEADS, ("QT", HEADS))


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
    return Scored(pl.DataFrame(columns), ("QT",), "exact", ("QT",))


def judged(case: Case) -> list[list[Measure]]:
    rng = np.random.default_rng([case.tails, int(1000 * case.of_heads), int(1000 * case.of_tails)])
    return [measure_judged(draw(case, rng)).measures for _ in range(DRAWS)]


@pytest.mark.parametrize("case", [Case(24, 1.0, 0.95), Case(48, 0.97, 0.92), Case(200, 0.7, 0.5)])
def test_intervals_of_the_gap_hold_the_truth(case: Case) -> None:
    """A true rate of 95 % is 3.2 standard errors above the bound."""
    found = [one for measures in judged(case) for one in measures if one.name == "pooled gap"]

    assert len(found) == DRAWS
    assert np.mean([one.low <= case.gap <= one.high for one in found]) > 0.85


def test_a_gap_as_wide_as_the_margin_is_hardly_ever_cleared() -> None:
    """A tail of 24 without mistakes is seen in 29 % of draws, and tells too little."""
    states = [decide(measures, MARGIN, REACH).state for measures in judged(Case(24, 1.0, 1 - MARGIN))]

    assert states.count("yes") <= 0.05 * DRAWS


@pytest.mark.parametrize("case", [Case(5, 0.7, 0.7), Case(24, 0.97, 0.97), Case(100, 0.6, 0.4)])
def test_intervals_of_the_difference_of_two_drops_hold_the_truth(case: Case) -> None:
    """Two models that are equally good: no difference, and p below 5 % in 5 % of draws (3.2 standard errors: 15 %)."""
    rng = np.random.default_rng([case.tails, 7])
    found = []
    for _ in range(DRAWS):
        one, other = (measure_judged(draw(case, rng)) for _ in range(2))
        plain = paired_difference(one.rows["drop, QT"], other.rows["drop, QT"], one.rows["cluster"])
        scores = one.weights["score"], other.weights["score"]
        found.append(no_surer_than_parts(plain, *scores, one.weights["drop, QT"], one.rows["cluster"]))

    assert np.mean([each.low <= 0 <= each.high for each in found]) > 0.85
    assert np.mean([each.p < 0.05 for each in found]) < 0.15
