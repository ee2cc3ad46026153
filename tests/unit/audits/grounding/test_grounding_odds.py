"""Right to wrong, its falls and the ranking match, against hand counts, simulation and brute force."""

import math
from itertools import pairwise, permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits.grounding.measures import match_sets, odds, relative_fall


def rows(scores: list[float], clusters: list[str] | None = None) -> pl.DataFrame:
    return pl.DataFrame(
        {"acc_all": scores, "cluster": clusters or [f"c{at}" for at in range(len(scores))]},
        schema={"acc_all": pl.Float64, "cluster": pl.String},
    )


def test_odds_are_right_over_wrong() -> None:
    found = odds(rows([1.0] * 60 + [0.0] * 40))

    assert found.value == pytest.approx(1.5)
    assert found.low < 1.5 < found.high


def test_odds_without_a_wrong_answer_have_only_a_lower_end() -> None:
    found = odds(rows([1.0] * 50))

    assert math.isnan(found.value)
    assert found.low > 5
    assert math.isnan(found.high)


def test_a_fall_is_relative() -> None:
    """From 2 to 0.5 right answers for each wrong one: three quarters are lost."""
    found = relative_fall(rows([1.0] * 60 + [0.0] * 30), rows([1.0] * 30 + [0.0] * 60))

    assert found.value == pytest.approx(0.75)
    assert found.low < 0.75 < found.high
    assert (found.n, found.clusters) == (180, 90)  # the same clusters on both sides


def test_a_fall_from_or_to_the_ends_is_unknown() -> None:
    for a, b in (([1.0, 1.0], [0.0, 1.0]), ([0.0, 1.0], [0.0, 0.0]), ([], [0.0, 1.0])):
        assert math.isnan(relative_fall(rows(a), rows(b)).value)


def test_a_fall_within_one_cluster_has_no_interval() -> None:
    found = relative_fall(rows([0.0, 1.0, 1.0], ["c"] * 3), rows([0.0, 1.0], ["c"] * 2))

    assert found.value == pytest.approx(0.5)
    assert math.isnan(found.low)


def test_the_interval_of_a_fall_covers_the_truth() -> None:
    """300 draws of 100 images with correlated answers on both sides: about 95 % of the intervals hold 1 - 0.5 / 1.5."""
    rng = np.random.default_rng(5)
    covered = []
    for _ in range(300):
        shift = rng.normal(0, 0.1, 100)
        clusters = [f"c{at // 3}" for at in range(300)]
        sides = [(rng.random(300) < np.clip(np.repeat(share + shift, 3), 0, 1)).astype(float) for share in (0.6, 1 / 3)]
        found = relative_fall(*(rows(side.tolist(), clusters) for side in sides))
        covered.append(found.low <= 1 - (1 / 2) / 1.5 <= found.high)

    assert 0.92 <= np.mean(covered) <= 0.98


def brute_match(importance: list[int], member: list[bool]) -> float:
    """Average |top N and members| / N over every order that the importance allows."""
    n = sum(member)
    orders = [
        order
        for order in permutations(range(len(importance)))
        if all(importance[a] >= importance[b] for a, b in pairwise(order))
    ]
    return sum(sum(member[at] for at in order[:n]) / n for order in orders) / len(orders)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["rel", "irr", "none"])), min_size=1, max_size=5))
def test_a_ranking_match_is_the_mean_over_all_orders_of_ties(objects: list[tuple[int, str]]) -> None:
    importance = [value for value, _ in objects]
    members = {
        name: [kind == short for _, kind in objects] for name, short in (("relevant", "rel"), ("irrelevant", "irr"))
    }
    ranked = pl.DataFrame(
        {"row": 0, "index": range(len(objects)), "importance": [float(x) for x in importance], **members}
    )
    found = match_sets(ranked, "x")

    for name, flags in members.items():
        wanted = brute_match(importance, flags) if any(flags) else None
        said = found[f"x_{name}"].to_list()
        assert said == [pytest.approx(wanted)] if wanted is not None else said in ([], [None])
