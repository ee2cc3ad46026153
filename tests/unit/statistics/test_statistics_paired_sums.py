"""Differences of weighted sums: by hand, and whatever the order of the rows."""

import numpy as np
import pytest

from eyechart.statistics import no_surer_than_parts, paired_difference
from eyechart.statistics.paired import Difference
from eyechart.statistics.paired_sums import WeightedRows, reduce_parts, widen


def sure(value: float) -> Difference:
    return Difference(value, value, value, 40, 40, 0.0001, "t", 0.0)


def test_one_part_is_the_paired_difference_itself() -> None:
    a, b = np.array([1.0, 1, 0, 1, 1, 0]), np.array([0.0, 1, 0, 0, 1, 1])
    plain = paired_difference(a, b)

    found = no_surer_than_parts(sure(plain.value), a, b, np.full(6, 1 / 6))

    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))
    assert found.p >= plain.p


def test_rows_of_one_sign_whose_weights_agree_within_a_factor_of_two_are_a_part() -> None:
    weights = np.repeat([0.3, 0.16, 0.14, -0.2, -0.9], [4, 3, 5, 1, 2])

    part = WeightedRows.sort(np.arange(15.0), weights, np.arange(15)).part

    assert [np.unique(own).size for own in np.split(part, [7, 12, 13])] == [1, 1, 1, 1]
    assert np.unique(part).size == 4


def test_rows_of_unequal_weights_count_for_fewer() -> None:
    """Four rows of weight 1 and four of 0.6: 6.4^2 / 5.44 = 7.5, whole rows of which are 7."""
    weights = np.repeat([1.0, 0.6], 4)
    reduced = reduce_parts(0.0, np.r_[1.0, np.zeros(7)], np.zeros(8), weights)

    assert reduced is not None
    assert (reduced.moments.n.tolist(), reduced.moments.clusters.tolist()) == ([7], [7])


def test_two_sides_are_put_together_as_independent_ones() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, (2, 26)).astype(float)
    weights = np.repeat([1 / 20, -1 / 6], [20, 6])
    above, below = paired_difference(a[:20], b[:20]), paired_difference(a[20:], b[20:])

    found = no_surer_than_parts(sure(above.value - below.value), a, b, weights)

    assert found.low == pytest.approx(found.value - np.hypot(above.value - above.low, below.high - below.value))
    assert found.high == pytest.approx(found.value + np.hypot(above.high - above.value, below.value - below.low))


def test_clusters_on_both_sides_take_off_what_they_share() -> None:
    moved = np.tile([1.0, 0, -1, 0, 1, 0], 2)
    weights, images = np.repeat([1 / 6, -1 / 6], 6), np.tile(np.arange(6), 2)

    apart, shared = (no_surer_than_parts(sure(0.0), moved, 0 * moved, weights, own) for own in (None, images))

    assert shared.high - shared.low < 0.3 * (apart.high - apart.low)


def test_p_is_no_smaller_than_the_few_rows_that_carry_the_sum_allow() -> None:
    """Of five rows four rose: 2 of the 16 ways to flip them, though Tango's interval leaves out 0."""
    a = np.r_[np.zeros(100), 1, 1, 1, 1, 0]
    weights = np.repeat([1 / 100, -1 / 5], [100, 5])

    found = no_surer_than_parts(sure(-0.8), a, 0 * a, weights)

    assert found.high < 0
    assert found.p == 0.125


def test_flips_of_a_few_rows_are_about_what_the_other_rows_leave_to_explain() -> None:
    """The others add 0.1, so the five would have to average 0.1, not 0: 4 of the 32 ways to flip are as far from it."""
    a = np.r_[np.ones(10), np.zeros(90), 1, 1, 1, 1, 0]
    weights = np.repeat([1 / 100, -1 / 5], [100, 5])

    assert no_surer_than_parts(sure(-0.7), a, 0 * a, weights).p == 0.125


def test_sums_widened_at_once_are_those_widened_one_by_one() -> None:
    rng = np.random.default_rng(4)
    sums = []
    for rows, kinds in ((8, 1), (40, 3), (20, 2)):
        a, b = rng.integers(0, 2, (2, rows)).astype(float)
        sums.append((a, b, np.repeat([0.3, -0.1, 0.02][:kinds], -(-rows // kinds))[:rows]))
    reduced = [reduce_parts(0.1, *each) for each in sums]

    together = widen([sure(0.1)] * 3, [each for each in reduced if each is not None])

    assert [each is None for each in reduced] == [False] * 3
    assert together == [no_surer_than_parts(sure(0.1), *each) for each in sums]


def test_nothing_changes_without_weights_or_doubt() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 2, (2, 200)).astype(float)

    assert no_surer_than_parts(sure(0.1), a, b, np.zeros(200)) == sure(0.1)
    assert no_surer_than_parts(sure(0.1), a, b, np.repeat([0.01, -0.01], 100)) == sure(0.1)


def test_the_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.random((2, 50))
    weights = rng.choice([-0.1, -0.02, 0.01, 0.05], 50)
    images = [None if at % 5 == 0 else f"{at % 17}" for at in range(50)]
    turned = rng.permutation(50)

    found = no_surer_than_parts(sure(0.2), a, b, weights, images)
    other = no_surer_than_parts(sure(0.2), a[turned], b[turned], weights[turned], [images[at] for at in turned])

    assert found.method == "mover"
    assert found == other
