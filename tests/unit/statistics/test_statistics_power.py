"""Power and design effects, against statsmodels and analysis of variance."""

import numpy as np
import pytest
import scipy
from statsmodels.stats.power import tt_solve_power

from eyechart import statistics
from eyechart.errors import SettingError
from eyechart.statistics.rows import Clusters

CLUSTERS = np.repeat(np.arange(50), 4)


@pytest.mark.parametrize(("effect", "power", "alpha"), [(0.02, 0.8, 0.05), (0.05, 0.9, 0.01)])
def test_required_rows_agree_with_statsmodels(effect: float, power: float, alpha: float) -> None:
    """Theirs is Student's, ours normal: with so many rows they differ by two or three."""
    theirs = tt_solve_power(effect_size=effect / 0.5, power=power, alpha=alpha)

    assert statistics.required_n(effect, 0.5, power=power, alpha=alpha) == pytest.approx(theirs, abs=4)


def test_the_detectable_effect_is_the_one_that_needs_so_many_rows() -> None:
    effect = statistics.minimum_detectable_effect(0.5, 1000, cluster_size=5, rho=0.2)

    assert statistics.required_n(effect, 0.5, cluster_size=5, rho=0.2) in {1000, 1001}


def test_clusters_cost_their_design_effect() -> None:
    alone, clustered = (statistics.required_n(0.01, 0.5, cluster_size=6, rho=rho) for rho in (0.0, 0.3))

    assert clustered == pytest.approx(alone * 2.5, abs=3)


@pytest.mark.parametrize(
    "settings", [{"rho": 2.0}, {"cluster_size": 0.5}, {"cluster_size": 9, "rho": -0.5}, {"power": 1.0}, {"alpha": 0.0}]
)
def test_impossible_designs_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(SettingError):
        statistics.required_n(0.1, 1.0, **settings)


def test_effects_and_spreads_must_be_positive() -> None:
    with pytest.raises(SettingError, match="sd above 0"):
        statistics.minimum_detectable_effect(0.0, 10)
    with pytest.raises(SettingError, match="effect above 0"):
        statistics.required_n(0.0, 1.0)


def test_the_design_effect_is_the_ratio_of_the_two_variances() -> None:
    x = np.random.default_rng(0).normal(size=50)[CLUSTERS] + np.random.default_rng(1).normal(size=200)

    found = statistics.design_effect(x, CLUSTERS)

    assert found == pytest.approx((statistics.mean(x, CLUSTERS).se / scipy.stats.sem(x)) ** 2)


def test_copies_of_a_row_count_as_one() -> None:
    x = np.repeat(np.random.default_rng(0).normal(size=50), 4)

    assert statistics.design_effect(x, CLUSTERS) == pytest.approx(4 * (199 / 200) / (49 / 50))
    assert statistics.intracluster_correlation(x, CLUSTERS) == pytest.approx(1)


def test_the_correlation_is_that_of_the_f_statistic() -> None:
    """For equal clusters of m rows rho = (F - 1) / (F - 1 + m)."""
    x = np.random.default_rng(3).normal(size=50)[CLUSTERS] + np.random.default_rng(4).normal(size=200)
    f = scipy.stats.f_oneway(*x.reshape(50, 4)).statistic

    assert statistics.intracluster_correlation(x, CLUSTERS) == pytest.approx((f - 1) / (f + 3))


def test_the_correlation_of_unequal_clusters_is_found_on_average() -> None:
    rng = np.random.default_rng(7)
    clusters = np.repeat(np.arange(4000), rng.integers(1, 9, 4000))
    x = rng.normal(0, np.sqrt(0.3), 4000)[clusters] + rng.normal(0, np.sqrt(0.7), clusters.size)

    assert statistics.intracluster_correlation(x, clusters) == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize(
    ("values", "clusters"), [([], []), ([1.0, 2.0], ["a", "a"]), ([1.0, 2.0], ["a", "b"]), ([1.0, 1.0, 1.0], [1, 1, 2])]
)
def test_there_is_no_correlation_without_clusters_or_spread(values: list[object], clusters: Clusters) -> None:
    assert np.isnan(statistics.intracluster_correlation(values, clusters))


def test_there_is_no_design_effect_without_clusters_or_spread() -> None:
    assert np.isnan(statistics.design_effect([1.0, 1.0], [1, 2]))
    assert np.isnan(statistics.design_effect([1.0, 0.0], [1, 1]))
