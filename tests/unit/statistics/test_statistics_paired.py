"""Paired comparison, against SciPy, statsmodels and full enumeration."""

import itertools
from random import Random

import numpy as np
import pytest
import scipy
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar

from eyechart import statistics
from eyechart.base.errors import DataError, SettingError

RNG = np.random.default_rng(5)
CLUSTERS = RNG.integers(0, 12, 60)
A, B = RNG.normal(0.4, 1, 60), RNG.normal(0, 1, 60)

rows = st.lists(
    st.tuples(st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([0.0, 0.6, 1.0]), st.integers(0, 30)),
    min_size=1,
    max_size=60,
)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def enumerated_p(differences: np.ndarray, clusters: np.ndarray) -> float:
    """Flip every cluster both ways, one list of signs at a time."""
    totals = [differences[clusters == c].sum() for c in np.unique(clusters)]
    sums = [
        abs(sum(s * t for s, t in zip(signs, totals, strict=True)))
        for signs in itertools.product([1, -1], repeat=len(totals))
    ]
    return float(np.mean(np.array(sums) >= abs(sum(totals)) - 1e-9))


def test_few_clusters_are_flipped_in_every_way() -> None:
    found = statistics.sign_flip_p(A - B, CLUSTERS)

    assert found == enumerated_p(A - B, CLUSTERS)


def test_random_flips_come_close_to_all_flips() -> None:
    """With 2 ** 12 > 2,000 flips signs are drawn; p must lie within four standard errors of the exact one."""
    exact = enumerated_p(A - B, CLUSTERS)
    found = statistics.sign_flip_p(A - B, CLUSTERS, flips=2000, seed=3)

    assert found != exact
    assert abs(found - exact) < 4 * np.sqrt(exact * (1 - exact) / 2000)


def test_flips_of_single_rows_agree_with_scipy(rng: np.random.Generator) -> None:
    d = rng.normal(0.25, 1, 100)
    theirs = scipy.stats.permutation_test(
        (d,), np.mean, permutation_type="samples", n_resamples=9999, rng=np.random.default_rng(0)
    ).pvalue

    assert statistics.sign_flip_p(d) == pytest.approx(theirs, abs=4 * np.sqrt(2 * theirs / 9999))


def test_p_is_never_zero_and_at_its_least_one_flip() -> None:
    assert statistics.sign_flip_p(np.ones(1000), flips=999) == 1 / 1000


def test_equal_decimal_sums_count_as_reached() -> None:
    """In tenths the count is exact; as floats some flips miss the observed sum by one rounding."""
    tenths = np.array([-8, -9, -6, 6, 3, 8])
    flipped = np.array(list(itertools.product([1, -1], repeat=6))) @ tenths

    assert statistics.sign_flip_p(tenths / 10) == np.mean(np.abs(flipped) >= abs(tenths.sum()))


def test_differences_of_zero_give_no_evidence() -> None:
    assert statistics.sign_flip_p(np.zeros(500)) == 1


def test_a_seed_decides_the_flips(rng: np.random.Generator) -> None:
    d = rng.normal(0.2, 1, 50)

    assert statistics.sign_flip_p(d, seed=1) == statistics.sign_flip_p(d, seed=1)
    assert statistics.sign_flip_p(d, seed=1) != statistics.sign_flip_p(d, seed=2)


def test_no_flips_are_refused() -> None:
    with pytest.raises(SettingError, match="at least one flip"):
        statistics.sign_flip_p([1.0], flips=0)


def test_a_single_flip_is_allowed_and_p_at_least_a_half() -> None:
    assert {statistics.sign_flip_p(np.ones(9), flips=1, seed=seed) for seed in range(3)} <= {0.5, 1.0}


@settings(deadline=None, max_examples=50)
@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bit_of_a_comparison(data: list[tuple[float, ...]], random: Random) -> None:
    first, second = (np.array(part).T for part in (data, random.sample(data, len(data))))

    for clusters in (True, False):
        one, two = (
            statistics.paired_difference(a, b, c.astype(int) if clusters else None, flips=99)
            for a, b, c in (first, second)
        )
        assert repr(one) == repr(two)


def test_paired_numbers_get_the_interval_of_the_paired_t_test(rng: np.random.Generator) -> None:
    a, b = rng.normal(1, 1, 40), rng.normal(1, 1, 40)
    low, high = scipy.stats.ttest_rel(a, b).confidence_interval(0.95)

    found = statistics.paired_difference(a, b)

    np.testing.assert_allclose([found.value, found.low, found.high], [np.mean(a - b), low, high])
    assert (found.n, found.clusters, found.method) == (40, 40, "t")


def test_paired_clusters_get_the_errors_of_clustered_ols(rng: np.random.Generator) -> None:
    clusters = rng.integers(0, 40, 300)
    d = rng.normal(size=40)[clusters] + rng.normal(size=300)
    fit = sm.OLS(d, np.ones(300)).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)

    found = statistics.paired_difference(d, np.zeros(300), clusters)

    np.testing.assert_allclose([[found.low, found.high]], fit.conf_int())


def test_two_models_that_always_agree_are_not_known_to_be_equal() -> None:
    found = statistics.paired_difference(np.ones(50), np.ones(50))

    assert (found.value, found.p, found.method) == (0, 1, "exact")
    assert found.high == -found.low == pytest.approx(1 - 0.025 ** (1 / 50))


def test_few_changed_rows_get_tangos_interval() -> None:
    """One of 40 rows rose: Tango's interval is the wider on both sides; t's would be -0.026 and 0.076."""
    found = statistics.paired_difference(np.r_[np.ones(1), np.zeros(39)], np.zeros(40))

    assert found.method == "tango"
    assert found.low < -0.06
    assert found.high > 0.12


def test_comparing_no_rows_gives_nan() -> None:
    found = statistics.paired_difference([], [])

    assert (found.n, found.clusters, found.method) == (0, 0, "none")
    assert np.isnan([found.value, found.p]).all()


def test_comparing_different_rows_is_refused() -> None:
    with pytest.raises(DataError, match="two scores of the same rows; found 2 and 1 rows"):
        statistics.paired_difference([0, 1], [1])


def test_the_sign_flip_of_single_rows_is_mcnemars_test() -> None:
    a, b = np.r_[np.ones(9), np.zeros(4)], np.r_[np.zeros(9), np.ones(4)]

    assert statistics.sign_flip_p(a - b, flips=2**13 - 1) == pytest.approx(mcnemar([[0, 9], [4, 0]], exact=True).pvalue)
