"""Equivalence tests, against statsmodels and exact binomial tails."""

import numpy as np
import pytest
import scipy
from statsmodels.stats.weightstats import ttost_paired

from eyechart import statistics
from eyechart.base.errors import SettingError


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(12)


@pytest.mark.parametrize("shift", [0.0, 0.4, -0.6, 2.0])
def test_independent_numbers_agree_with_statsmodels(shift: float, rng: np.random.Generator) -> None:
    a, b = rng.normal(shift, 2, 60), rng.normal(0, 2, 60)

    found = statistics.equivalence(a - b, margin=0.9)

    assert found.p == pytest.approx(ttost_paired(a, b, -0.9, 0.9)[0])


def test_the_interval_is_that_of_twice_the_error_rate(rng: np.random.Generator) -> None:
    d = rng.normal(0.1, 1, 60)
    low, high = scipy.stats.ttest_1samp(d, 0).confidence_interval(0.9)

    np.testing.assert_allclose(statistics.equivalence(d)[1:3], [low, high])


@pytest.mark.parametrize("margin", [0.05, 0.1, 0.2, 0.5])
@pytest.mark.parametrize("case", ["t", "tango", "exact"])
def test_equivalent_is_where_the_interval_lies_within_the_margin(
    case: str, margin: float, rng: np.random.Generator
) -> None:
    d = {"t": rng.normal(0, 1, 200), "tango": np.r_[1, -1, 1, np.zeros(60)], "exact": np.zeros(20)}[case]

    found = statistics.equivalence(d, margin=margin)

    assert found.equivalent == (-margin < found.low and found.high < margin) == (found.p <= 0.05)


def test_no_change_at_all_is_as_surprising_as_the_binomial_says() -> None:
    """If 1 % of the rows rose, none of 200 would have with probability 0.99 ** 200."""
    found = statistics.equivalence(np.zeros(200), margin=0.01)

    assert found.p == pytest.approx(scipy.stats.binom.pmf(0, 200, 0.01))
    assert not found.equivalent
    assert statistics.equivalence(np.zeros(400), margin=0.01).equivalent


@pytest.mark.parametrize("value", [0.05, -0.05])
def test_a_constant_difference_within_the_margin_is_judged_by_the_clusters_not_seen(value: float) -> None:
    """A mean of 0.1 needs a share q of rows at 1 with 0.95 (1 - q) = 0.9; p is the chance of seeing none of them."""
    q = 1 - 0.9 / 0.95

    found = statistics.equivalence(np.full(40, value), margin=0.1)

    assert found.p == pytest.approx(scipy.stats.binom.pmf(0, 40, q))


def test_one_change_in_many_is_about_as_surprising_as_the_binomial_says() -> None:
    """The t test would give 0.00004 here; the least favourable truth, 1 % rising and none falling, gives 0.04."""
    found = statistics.equivalence(np.r_[1.0, np.zeros(499)], margin=0.01)

    assert found.p == pytest.approx(scipy.stats.binom.cdf(1, 500, 0.01), rel=0.15)


def test_clusters_count_once() -> None:
    d, clusters = np.zeros(400), np.repeat(np.arange(100), 4)

    assert statistics.equivalence(d, clusters, margin=0.02).p == pytest.approx(0.98**100)
    few = np.r_[np.ones(4), np.zeros(396)]
    assert statistics.equivalence(few, clusters, margin=0.05).p > 2 * statistics.equivalence(few, margin=0.05).p


@pytest.mark.parametrize("value", [0.3, -0.3])
def test_a_constant_difference_beyond_the_margin_is_not_equivalent(value: float) -> None:
    found = statistics.equivalence(np.full(900, value), margin=0.1)

    assert (found.p, found.equivalent) == (1, False)


def test_a_margin_wider_than_the_scale_is_no_claim() -> None:
    assert statistics.equivalence(np.zeros(4), margin=1.5).p == 0


def test_no_rows_are_no_evidence() -> None:
    found = statistics.equivalence([])

    assert np.isnan(found.p)
    assert found.equivalent is False


@pytest.mark.parametrize(("margin", "level"), [(0, 0.95), (-0.1, 0.95), (0.1, 0.4)])
def test_margins_and_levels_that_make_no_sense_are_refused(margin: float, level: float) -> None:
    with pytest.raises(SettingError, match="a margin above 0"):
        statistics.equivalence([0.0], margin=margin, level=level)


def test_a_graded_change_is_never_surer_than_none_or_a_whole_one() -> None:
    """Of 30 rows one changed by a quarter, or none did; of 100 one changed by nine tenths, or wholly."""
    one, none = (statistics.equivalence(np.r_[first, np.zeros(29)], margin=0.03) for first in (0.25, 0.0))
    soft, whole = (statistics.equivalence(np.r_[first, np.zeros(99)], margin=0.03) for first in (0.9, 1.0))

    assert (one.equivalent, none.equivalent, soft.equivalent, whole.equivalent) == (False,) * 4
    assert soft.p == pytest.approx(whole.p, rel=0.3)


@pytest.mark.parametrize(("n", "step"), [(100, 0.9), (150, 0.9), (200, 0.3)])
def test_graded_changes_at_the_margin_are_seldom_called_equivalent(n: int, step: float) -> None:
    rng = np.random.default_rng(n)
    changes = np.where(rng.random((600, n)) < 0.03 / step, step, 0.0)

    assert np.mean([statistics.equivalence(each, margin=0.03).equivalent for each in changes]) < 0.075
