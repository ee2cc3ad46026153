"""Means and their intervals, against SciPy, statsmodels and formulas written out again."""

import subprocess
import sys
from random import Random

import numpy as np
import polars as pl
import pytest
import scipy
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import optimize
from statsmodels.stats.proportion import proportion_confint

from eyechart import statistics
from eyechart.base.errors import DataError, SettingError
from eyechart.statistics.intervals import Kind, moments
from eyechart.statistics.proportions import tango_interval
from eyechart.statistics.rows import Clusters, arrange

COUNTS = [(0, 12), (1, 12), (6, 12), (12, 12), (3, 400), (397, 400), (0, 1)]

rows = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.3, 0.6, 1.0]) | st.sampled_from([0.0, 1.0]),
        st.sampled_from(["a", "b", "c", "d", None]),
        st.sampled_from(["x", "y", None]),
    ),
    min_size=1,
    max_size=40,
)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_intervals_of_shares_agree_with_statsmodels(level: float) -> None:
    k, n = np.array(COUNTS).T
    expected = [proportion_confint(a, b, alpha=1 - level, method="wilson") for a, b in COUNTS]

    np.testing.assert_allclose(np.column_stack(statistics.wilson(k, n, level)), expected, atol=1e-9)


def test_no_failures_leave_at_least_the_rule_of_three() -> None:
    """With 0 of n the exact one-sided 95 % bound is about 3 / n; the two-sided ends lie above it."""
    low, high = statistics.wilson(0, 200)

    assert float(low) == 0
    assert 3 / 200 < float(high) < 4 / 200


def test_mean_of_unclustered_numbers_is_students_interval() -> None:
    x = np.random.default_rng(0).normal(3, 2, 40)
    low, high = scipy.stats.ttest_1samp(x, 0).confidence_interval(0.9)

    found = statistics.mean(x, level=0.9)

    np.testing.assert_allclose(
        [found.value, found.low, found.high, found.se], [x.mean(), low, high, scipy.stats.sem(x)]
    )
    assert (found.n, found.clusters, found.method) == (40, 40, "t")


def test_clustered_mean_is_the_intercept_of_ols_with_cluster_robust_errors() -> None:
    """With only an intercept statsmodels' correction C / (C - 1) (n - 1) / (n - 1) is ours."""
    rng = np.random.default_rng(1)
    clusters = rng.integers(0, 50, 400)
    x = rng.normal(size=50)[clusters] + rng.normal(size=400)
    fit = sm.OLS(x, np.ones(400)).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)

    found = statistics.mean(x, clusters)

    np.testing.assert_allclose([found.value, found.se], [fit.params[0], fit.bse[0]])
    np.testing.assert_allclose([[found.low, found.high]], fit.conf_int())
    assert found.clusters == np.unique(clusters).size


def test_independent_scores_of_few_rows_get_plain_wilson() -> None:
    found = statistics.mean([1, 1, 1, 0, 1, 1, 0, 1])

    assert found.method == "wilson"
    np.testing.assert_allclose([found.low, found.high], proportion_confint(6, 8, method="wilson"))


def test_fully_dependent_clusters_count_as_one_row_each() -> None:
    """Copying every row changes nothing but the degrees of freedom: n_eff is the number of clusters, nearly."""
    scores = np.array([1, 0, 1, 1, 0, 1, 1, 1, 0, 1.0])
    found = statistics.mean(np.repeat(scores, 6), np.repeat(np.arange(10), 6))
    n_eff = 60 * 9 / 59  # n / deff with deff = (C / (C - 1)) (n - 1) / C, the ratio of the two variances
    t = scipy.stats.t.ppf(0.975, 9)
    expected = proportion_confint(0.7 * n_eff, n_eff, alpha=2 * scipy.stats.norm.sf(t), method="wilson")

    assert found.method == "wilson"
    np.testing.assert_allclose([found.low, found.high], expected, rtol=1e-9)


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_all_wrong_or_all_right_is_clopper_pearson_over_clusters(score: float) -> None:
    found = statistics.mean(np.full(20, score), np.repeat(np.arange(5), 4))

    assert found.method == "exact"
    np.testing.assert_allclose([found.low, found.high], proportion_confint(5 * score, 5, method="beta"))


def test_graded_scores_all_alike_do_not_get_an_empty_interval() -> None:
    found = statistics.mean([0.6] * 10)

    assert found.method == "exact"
    assert 0 < found.low < 0.6 < found.high < 1


def test_clusters_that_always_hold_one_right_and_one_wrong_do_not_get_an_empty_interval() -> None:
    found = statistics.mean([0, 1] * 40, np.repeat(np.arange(40), 2))

    assert (found.value, found.se, found.method) == (0.5, 0, "exact")
    assert found.high - found.low > 0.05


def test_rare_events_in_many_clusters_do_not_get_a_symmetric_interval() -> None:
    found = statistics.mean([1.0] * 3 + [0.0] * 497)

    assert found.method == "wilson"
    np.testing.assert_allclose([found.low, found.high], proportion_confint(3, 500, method="wilson"))


def test_graded_scores_near_an_end_stay_on_the_scale() -> None:
    """They count as 0/1 scores with the same mean would, with Student's quantile: 39.3 of 40."""
    found = statistics.mean([1.0] * 39 + [0.3])
    alpha = 2 * scipy.stats.norm.sf(scipy.stats.t.ppf(0.975, 39))

    assert found.method == "wilson"
    np.testing.assert_allclose([found.low, found.high], proportion_confint(39.3, 40, alpha=alpha, method="wilson"))


def test_few_clusters_of_graded_scores_are_marked() -> None:
    x = np.tile([0.3, 0.6, 0.9, 0.0], 20)

    assert statistics.mean(x, np.arange(80) // 10 + (x > 0.5) * 4).method == "t, few clusters"


def test_no_rows_give_nan() -> None:
    found = statistics.mean([])

    assert (found.n, found.clusters, found.method) == (0, 0, "none")
    assert np.isnan([found.value, found.low, found.high, found.se]).all()


def test_one_cluster_leaves_nearly_the_whole_scale() -> None:
    found = statistics.mean([1, 0, 1, 1], ["a"] * 4)

    assert found.low < 0.05
    assert found.high > 0.98


def test_no_spread_without_ends_has_no_interval() -> None:
    found = statistics.mean([2.0, 2.0, 2.0])

    assert found.method == "none"
    assert np.isnan(found.low)


def test_differences_that_are_all_zero_may_lie_on_either_side() -> None:
    found = statistics.mean(np.zeros(30), kind="differences")

    assert -found.low == pytest.approx(found.high)
    assert found.high == pytest.approx(proportion_confint(0, 30, method="beta")[1])


@pytest.mark.parametrize("values", [[0.5, np.nan], [0.5, np.inf], [0.5, None], ["a", "b"], [[0.0, 1.0]]])
def test_values_that_are_no_numbers_are_refused(values: list[object]) -> None:
    with pytest.raises(DataError, match=r"expected .*; found .*; "):
        statistics.mean(values)


def test_clusters_of_another_length_are_refused() -> None:
    with pytest.raises(DataError, match="one cluster for each of 2 rows"):
        statistics.mean([0, 1], ["a"])


@pytest.mark.parametrize("level", [0, 1, 95])
def test_levels_outside_0_to_1_are_refused(level: float) -> None:
    with pytest.raises(SettingError, match="level between 0 and 1"):
        statistics.mean([0, 1], level=level)


@pytest.mark.parametrize(
    "clusters",
    [
        np.array([3, 3, 1, 1, 2, 7]),
        np.array(["c", "c", "a", "a", "b", "d"]),
        ["c", "c", "a", "a", "b", None],
        pl.Series(["c", "c", "a", "a", None, None]),
        pl.Series(["c", "c", "a", "a", None, "d"], dtype=pl.Categorical),
        np.array([3, 3, 1, 1, np.nan, np.nan]),
    ],
)
def test_clusters_may_be_text_or_numbers_and_null_is_a_cluster_of_its_own(clusters: Clusters) -> None:
    x = [0.1, 2.0, 0.7, 0.4, 5.0, 0.2]

    found, expected = statistics.mean(x, clusters), statistics.mean(x, [0, 0, 1, 1, 2, 3])

    np.testing.assert_allclose(found[:5], expected[:5])


@settings(deadline=None)
@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bit(data: list[tuple[float, ...]], random: Random) -> None:
    shuffled = random.sample(data, len(data))
    table, again = (pl.DataFrame(part, schema=["s", "c", "g"], orient="row") for part in (data, shuffled))

    first, second = statistics.mean(table["s"], table["c"]), statistics.mean(again["s"], again["c"])

    assert np.array_equal(np.array(first[:5]), np.array(second[:5]))
    by = [statistics.mean_by(part, "s", ["g"], "c") for part in (table, again)]
    assert_frame_equal(*by, check_exact=True)


@settings(deadline=None)
@given(rows, st.sampled_from(["c", None]), st.sampled_from(["scores", "differences"]))
def test_means_by_group_are_the_means_of_the_groups(
    data: list[tuple[float, ...]], clusters: str | None, kind: Kind
) -> None:
    table = pl.DataFrame(data, schema=["s", "c", "g"], orient="row")

    found = statistics.mean_by(table, "s", ["g"], clusters, kind=kind)

    assert found["g"].to_list() == table["g"].unique().sort(nulls_last=True).to_list()
    for row in found.iter_rows(named=True):
        part = table.filter(pl.col("g").eq_missing(row["g"]))
        alone = statistics.mean(part["s"], part[clusters] if clusters else None, kind=kind)
        assert (row["n"], row["clusters"], row["method"]) == (alone.n, alone.clusters, alone.method)
        np.testing.assert_equal([row["value"], row["low"], row["high"]], [alone.value, alone.low, alone.high])


def test_means_by_several_columns_keep_their_types() -> None:
    table = pl.DataFrame({"a": [1, 1, 2], "b": ["x", "y", "x"], "s": [True, False, True]})

    found = statistics.mean_by(table, "s", ["a", "b"])

    assert found.columns == ["a", "b", "value", "low", "high", "n", "clusters", "method"]
    assert found.select("a", "b", "value").rows() == [(1, "x", 1.0), (1, "y", 0.0), (2, "x", 1.0)]


def test_means_by_no_column_are_one_row() -> None:
    assert statistics.mean_by(pl.DataFrame({"s": [0.0, 1.0]}), "s", [])["n"].to_list() == [2]


def test_means_of_an_empty_table_are_an_empty_table() -> None:
    table = pl.DataFrame({"s": [], "g": [], "c": []}, schema={"s": pl.Float64, "g": pl.String, "c": pl.String})

    found = statistics.mean_by(table, "s", ["g"], "c")

    assert found.height == 0
    assert found.schema["method"] == pl.String


def test_group_columns_that_are_missing_or_would_clash_are_refused() -> None:
    table = pl.DataFrame({"s": [1.0], "n": [1]})

    with pytest.raises(DataError, match="no g among s, n"):
        statistics.mean_by(table, "s", ["g"])
    with pytest.raises(SettingError, match="rename the column"):
        statistics.mean_by(table, "s", ["n"])


def slow_tango(rose: int, fell: int, n: int, quantile: float) -> list[float]:
    """Maximise the likelihood numerically for each difference, and search where the score crosses the quantile."""

    def score(d: float) -> float:
        def loss(q: float) -> float:
            cells = np.array([q + d, q, 1 - 2 * q - d])
            return -float(np.sum(np.array([rose, fell, n - rose - fell]) * np.log(np.maximum(cells, 1e-300))))

        q = optimize.minimize_scalar(
            loss, bounds=(max(0, -d), (1 - d) / 2), method="bounded", options={"xatol": 1e-12}
        ).x
        return (rose - fell - n * d) / np.sqrt(n * (2 * q + d - d * d))

    middle = (rose - fell) / n
    return [
        optimize.brentq(lambda d: score(d) - quantile, -0.9999, middle),
        optimize.brentq(lambda d: score(d) + quantile, middle, 0.9999),
    ]


@pytest.mark.parametrize(("rose", "fell", "n"), [(12, 2, 50), (1, 0, 40), (5, 5, 30), (3, 9, 20)])
def test_tangos_interval_agrees_with_a_numerical_likelihood(rose: int, fell: int, n: int) -> None:
    counts = (np.array([float(x)]) for x in (rose, fell, n))

    found = np.concatenate(tango_interval(*counts, np.array([1.96])))

    np.testing.assert_allclose(found, slow_tango(rose, fell, n, 1.96), atol=1e-4)


def test_import_loads_neither_scipy_stats_nor_scipy_special() -> None:
    code = "import sys, eyechart.statistics; print([m for m in ('scipy.stats', 'scipy.special') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_no_groups_have_no_moments() -> None:
    none = np.empty(0)

    assert {column.size for column in moments(arrange((none,), None, none.astype(np.int64)), "scores")} == {0}
