"""Differences between different rows, against Welch's test and clustered regression."""

from random import Random

import numpy as np
import pytest
import scipy
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep

from eyechart import statistics
from eyechart.statistics.unpaired import p_by_inversion


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(8)


def test_independent_numbers_get_welchs_test(rng: np.random.Generator) -> None:
    a, b = rng.normal(0.5, 1, 40), rng.normal(0, 3, 60)
    theirs = scipy.stats.ttest_ind(a, b, equal_var=False)

    found = statistics.difference(a, b)

    np.testing.assert_allclose([found.low, found.high], theirs.confidence_interval(0.95))
    assert found.p == pytest.approx(theirs.pvalue)
    assert (found.n, found.clusters, found.method) == (100, 100, "t")


def test_shared_clusters_give_the_standard_error_of_clustered_regression(rng: np.random.Generator) -> None:
    """Statsmodels multiplies by C / (C - 1) (n - 1) / (n - 2); ours has the first factor alone."""
    clusters = np.tile(np.arange(40), 10)
    x = rng.normal(size=40)[clusters] + rng.normal(size=400)
    side = np.arange(400) % 3 == 0
    fit = sm.OLS(x, sm.add_constant(side.astype(float))).fit(cov_type="cluster", cov_kwds={"groups": clusters})

    found = statistics.difference(x[side], x[~side], clusters[side], clusters[~side])

    assert found.value == pytest.approx(fit.params[1])
    assert found.se == pytest.approx(fit.bse[1] / np.sqrt(399 / 398))
    assert found.clusters == 40


def test_rows_that_share_an_image_partly_cancel(rng: np.random.Generator) -> None:
    clusters = np.arange(60)
    base = rng.normal(size=60)
    a, b = base + rng.normal(0, 0.3, 60), base + rng.normal(0, 0.3, 60)

    shared, apart = (statistics.difference(a, b, clusters, other) for other in (clusters, clusters + 60))

    assert shared.se < apart.se / 2
    assert (shared.clusters, apart.clusters) == (60, 120)


def test_small_independent_shares_get_newcombes_interval() -> None:
    """Statsmodels has Newcombe's method for two independent shares."""
    a, b = np.r_[np.ones(14), np.zeros(6)], np.r_[np.ones(5), np.zeros(20)]
    expected = confint_proportions_2indep(14, 20, 5, 25, method="newcomb", correction=False)

    found = statistics.difference(a, b)

    assert found.method == "mover"
    np.testing.assert_allclose([found.low, found.high], expected)
    assert found.p < 0.05


def test_p_is_the_level_at_which_the_interval_touches_zero() -> None:
    a, b = np.r_[np.ones(12), np.zeros(8)], np.r_[np.ones(9), np.zeros(16)]
    p = statistics.difference(a, b).p

    assert statistics.difference(a, b, level=1 - p).low == pytest.approx(0, abs=1e-6)
    assert statistics.difference(b, a).p == pytest.approx(p)


@pytest.mark.parametrize(("b", "p"), [(np.ones(15), 1.0), (np.zeros(15), 0.0)])
def test_samples_without_spread_have_an_interval_and_a_p(b: np.ndarray, p: float) -> None:
    found = statistics.difference(np.ones(20), b)

    assert found.method == "mover"
    assert found.high - found.low > 0.1
    assert found.p == pytest.approx(p, abs=1e-3)


def test_a_side_without_rows_gives_nan() -> None:
    found = statistics.difference([1.0, 0.0], [])

    assert (found.n, found.clusters, found.method) == (2, 2, "none")
    assert np.isnan([found.value, found.p]).all()


@pytest.mark.parametrize("n", [8, 90])
def test_the_same_rows_on_both_sides_have_no_test(n: int, rng: np.random.Generator) -> None:
    for x in (rng.integers(0, 2, n), rng.normal(size=n)):
        found = statistics.difference(x, x, np.arange(n), np.arange(n))

        assert (found.value, found.method) == (0, "none")
        assert np.isnan([found.low, found.p]).all()


def test_no_spread_without_ends_has_no_test() -> None:
    found = statistics.difference([2.0, 2.0], [1.0, 0.0, 1.0])

    assert found.value == pytest.approx(4 / 3)
    assert np.isnan([found.low, found.p]).all()


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.3, 1.0]), st.integers(0, 9)), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
)
def test_the_order_of_rows_changes_no_bit_of_a_difference(data: list[tuple[float, ...]], random: Random) -> None:
    first, second = (np.array(part) for part in (data, random.sample(data, len(data))))
    b, others = np.array([0.0, 1.0, 0.3, 0.3]), [0, 0, 4, 20]

    one, two = (statistics.difference(x[:, 0], b, x[:, 1].astype(int), others) for x in (first, second))

    assert repr(one) == repr(two)


def test_a_p_value_is_never_below_what_can_be_computed() -> None:
    always = p_by_inversion(lambda alpha: np.ones(alpha.size, np.bool_), 2)
    never = p_by_inversion(lambda alpha: np.zeros(alpha.size, np.bool_), 2)

    np.testing.assert_allclose(always, 1e-12, rtol=1e-6)
    assert never.tolist() == [1, 1]
