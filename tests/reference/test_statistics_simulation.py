"""What intervals and tests promise, held against simulated data whose truth is known.

Rates over R samples have a standard error of sqrt(p (1 - p) / R); bands around an exact level are four of these wide.
Bands for intervals that are approximate by nature are stated where they are used.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
import scipy
from statsmodels.stats.proportion import proportion_confint

from eyechart import statistics
from eyechart.statistics.intervals import Kind


class Sample(NamedTuple):
    """Many samples of clustered rows as one table, one sample a group."""

    table: pl.DataFrame
    truth: float


def probabilities(rng: np.random.Generator, mean: float, rho: float, shape: tuple[int, int]) -> np.ndarray:
    """Draw each cluster's own probability, so that 0/1 rows within a cluster correlate by rho."""
    if rho == 0:
        return np.full(shape, mean)
    weight = (1 - rho) / rho
    return rng.beta(mean * weight, (1 - mean) * weight, shape)


def binary(clusters: int, size: int, rho: float, mean: float, samples: int = 2000, *, uneven: bool = False) -> Sample:
    """Simulate 0/1 scores; uneven clusters have 1 to 2 size - 1 rows."""
    rng = np.random.default_rng([clusters, size, int(1000 * rho), int(1000 * mean)])
    p = probabilities(rng, mean, rho, (samples, clusters)).ravel()
    sizes = rng.integers(1, 2 * size, p.size) if uneven else np.full(p.size, size)
    cluster = np.repeat(np.arange(p.size), sizes)
    score = (rng.random(cluster.size) < p[cluster]).astype(float)
    return Sample(pl.DataFrame({"sample": cluster // clusters, "image": cluster, "score": score}), mean)


def coverage(sample: Sample, cluster: str | None = "image", kind: Kind = "scores") -> float:
    found = statistics.mean_by(sample.table, "score", ["sample"], cluster, kind=kind)
    return float(((found["low"] <= sample.truth) & (sample.truth <= found["high"])).mean())


def close(rate: float, level: float, samples: int) -> bool:
    return abs(rate - level) < 4 * np.sqrt(level * (1 - level) / samples)


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize(("rho", "mean"), [(0.0, 0.5), (0.2, 0.5), (0.6, 0.5), (0.2, 0.8), (0.6, 0.8)])
def test_many_clusters_cover_nearly_at_their_level(rho: float, mean: float, *, uneven: bool) -> None:
    """100 clusters away from the ends: within two points of 95 %."""
    assert 0.93 <= coverage(binary(100, 5, rho, mean, uneven=uneven)) <= 0.97


@pytest.mark.parametrize("mean", [0.5, 0.1, 0.03, 0.99])
@pytest.mark.parametrize(
    ("clusters", "size", "rho"), [(5, 4, 0.2), (10, 5, 0.0), (10, 5, 0.6), (20, 5, 0.2), (20, 5, 0.6), (200, 5, 0.2)]
)
def test_few_clusters_and_rare_events_do_not_fall_far_below_their_level(
    clusters: int, size: int, rho: float, mean: float
) -> None:
    """At least 90 %, and no wider than if each cluster counted as a single row."""
    sample = binary(clusters, size, rho, mean)
    found = statistics.mean_by(sample.table, "score", ["sample"], "image")
    low, high = proportion_confint(round(mean * clusters), clusters, method="beta")

    assert coverage(sample) >= 0.9
    assert (found["high"] - found["low"]).mean() < high - low


def test_a_plain_t_interval_fails_with_few_clusters_and_rare_events() -> None:
    """The band above would catch it: equal clusters, so it is the t interval of their means."""
    means = binary(10, 5, 0.6, 0.03).table["score"].to_numpy().reshape(2000, 10, 5).mean(axis=2)
    half = scipy.stats.t.ppf(0.975, 9) * scipy.stats.sem(means, axis=1)

    assert np.mean(np.abs(means.mean(axis=1) - 0.03) <= half) < 0.6


@pytest.mark.parametrize(("n", "mean"), [(10, 0.5), (10, 0.9), (40, 0.97), (100, 0.9), (100, 0.5)])
def test_independent_rows_cover_as_wilsons_interval_does(n: int, mean: float) -> None:
    """The exact coverage of Wilson's interval, summed over all counts, is met within four points."""
    k = np.arange(n + 1)
    low, high = statistics.wilson(k, n)
    inside = (low <= mean) & (mean <= high)
    exact = float(np.sum(scipy.stats.binom.pmf(k, n, mean)[inside]))

    assert coverage(binary(n, 1, 0.0, mean, 4000)) == pytest.approx(exact, abs=0.04)


@pytest.mark.parametrize(("rho", "ceiling"), [(0.2, 0.9), (0.6, 0.78)])
def test_ignoring_clusters_falls_clearly_below(rho: float, ceiling: float) -> None:
    """The bands above would catch an interval that takes rows for independent."""
    assert coverage(binary(100, 5, rho, 0.5), None) < ceiling


def test_few_clusters_of_graded_scores_cover_nearly_at_their_level() -> None:
    """Answers scored 0, 0.3, 0.6, 0.9 or 1 on 15 images: t with 14 degrees, 95 % within three points."""
    rng = np.random.default_rng(0)
    p = probabilities(rng, 0.55, 0.3, (2000, 15)).ravel()
    cluster = np.repeat(np.arange(p.size), 5)
    score = np.array([0, 0.3, 0.6, 0.9, 1])[rng.binomial(4, p[cluster])]
    truth = float(np.dot(scipy.stats.betabinom(4, 0.55 * 7 / 3, 0.45 * 7 / 3).pmf(range(5)), [0, 0.3, 0.6, 0.9, 1]))
    table = pl.DataFrame({"sample": cluster // 15, "image": cluster, "score": score})

    assert 0.92 <= coverage(Sample(table, truth)) <= 0.98


@pytest.mark.parametrize(("rose", "fell", "n"), [(0.02, 0.02, 60), (0.03, 0.0, 100), (0.3, 0.1, 20), (0.01, 0.0, 400)])
def test_differences_of_few_changed_rows_do_not_fall_far_below_their_level(rose: float, fell: float, n: int) -> None:
    """92 % to 99 %; a t interval covers 81 % in the second case."""
    rng = np.random.default_rng(1)
    change = rng.choice([1.0, -1.0, 0.0], 3000 * n, p=[rose, fell, 1 - rose - fell])
    table = pl.DataFrame({"sample": np.arange(3000 * n) // n, "score": change})

    assert 0.92 <= coverage(Sample(table, rose - fell), None, "differences") <= 0.99


def clustered_differences(clusters: int, shift: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Simulate differences of 2 to 6 rows a cluster around a common cluster effect."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(clusters), rng.integers(2, 7, clusters))
    return shift + rng.normal(0, 0.7, clusters)[cluster] + rng.normal(0, 0.7, cluster.size), cluster


def rejections(shift: float, clustered: str, samples: int = 2000) -> float:
    """Share of samples of 20 clusters in which flips of clusters, or of rows, find a difference at 5 %."""
    found = 0
    for seed in range(samples):
        d, cluster = clustered_differences(20, shift, seed)
        found += statistics.sign_flip_p(d, cluster if clustered == "clusters" else None, flips=199, seed=seed) <= 0.05
    return found / samples


def test_flips_of_clusters_keep_their_level() -> None:
    assert close(rejections(0.0, "clusters"), 0.05, 2000)


def test_flips_of_rows_do_not_keep_it_where_rows_share_clusters() -> None:
    assert rejections(0.0, "rows", 400) > 0.12


def test_flips_of_clusters_find_a_large_difference() -> None:
    assert rejections(0.8, "clusters", 200) > 0.95


def equivalences(shift: float, margin: float, samples: int = 2000) -> float:
    results = (
        statistics.equivalence(*clustered_differences(40, shift, seed), margin=margin) for seed in range(samples)
    )
    return sum(found.equivalent for found in results) / samples


def test_equivalence_is_claimed_at_the_margin_no_more_often_than_promised() -> None:
    assert close(equivalences(0.5, 0.5), 0.05, 2000)


def test_equivalence_is_found_where_it_is_clear() -> None:
    assert equivalences(0.0, 0.6, 200) > 0.95


def test_equivalence_of_rare_changes_is_claimed_no_more_often_than_promised() -> None:
    """1 % of 500 rows rise, margin 1 %: the plain t test claims equivalence in 12 % of such samples."""
    rose = np.random.default_rng(3).binomial(500, 0.01, 1500)
    claims = {k: statistics.equivalence(np.r_[np.ones(k), np.zeros(500 - k)], margin=0.01) for k in set(rose.tolist())}
    naive = {
        k: scipy.stats.t.cdf((k / 500 - 0.01) / (scipy.stats.sem(np.r_[np.ones(k), np.zeros(500 - k)]) + 1e-9), 499)
        for k in claims
    }

    assert np.mean([claims[k].equivalent for k in rose.tolist()]) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 1500)
    assert np.mean([naive[k] <= 0.05 for k in rose.tolist()]) > 0.1


@pytest.mark.parametrize(("clusters", "mean", "lost"), [(15, 0.6, 0.5), (30, 0.3, 0.3), (100, 0.6, 0.2)])
def test_ratios_cover_nearly_at_their_level(clusters: int, mean: float, lost: float) -> None:
    """The share of correct answers that is lost, over 5 rows a cluster: 95 % within four points."""
    rng = np.random.default_rng(4)
    covered = []
    for seed in range(500):
        right = rng.random((clusters, 5)) < probabilities(rng, mean, 0.3, (clusters, 1))
        gone = right & (rng.random(right.shape) < lost)
        found = statistics.ratio(gone.ravel(), right.ravel(), np.repeat(np.arange(clusters), 5), draws=499, seed=seed)
        covered.append(found.low <= lost <= found.high)

    assert 0.91 <= np.mean(covered) <= 0.99


def two_sided_sets(rng: np.random.Generator, shape: tuple[int, int], means: tuple[float, float]) -> list[np.ndarray]:
    """Simulate two sets of 0/1 rows on the same images, with an image effect that both share."""
    image = rng.normal(0, 1, shape[0])[:, None]
    cut = [np.sqrt(2) * scipy.special.ndtri(mean) for mean in means]
    return [(image + rng.normal(0, 1, shape) < c).astype(float).ravel() for c in cut]


@pytest.mark.parametrize(("images", "means", "samples"), [(80, (0.6, 0.4), 600), (12, (0.9, 0.5), 300)])
def test_differences_of_sets_on_the_same_images_cover_nearly_at_their_level(
    images: int, means: tuple[float, float], samples: int
) -> None:
    """91 % to 99 %; taking the two sets to lie on different images gives needlessly wide intervals."""
    rng = np.random.default_rng(5)
    image = np.repeat(np.arange(images), 3)
    found = [
        (statistics.difference(a, b, image, image), statistics.difference(a, b, image, image + images))
        for a, b in (two_sided_sets(rng, (images, 3), means) for _ in range(samples))
    ]
    covered = np.mean([shared.low <= means[0] - means[1] <= shared.high for shared, _ in found])
    widths = np.mean([[x.high - x.low for x in pair] for pair in found], axis=0)

    assert 0.91 <= covered <= 0.99
    assert widths[0] < 0.9 * widths[1]


def test_a_small_p_of_two_small_sets_is_rare_where_they_are_alike() -> None:
    """Eight and twelve rows, both 70 % right: the chance of p <= 0.05, summed over all counts, is 2 % to 7 %."""
    chance = 0.0
    for i in range(9):
        for k in range(13):
            a, b = np.arange(8) < i, np.arange(12) < k
            weight = scipy.stats.binom.pmf(i, 8, 0.7) * scipy.stats.binom.pmf(k, 12, 0.7)
            chance += weight * (statistics.difference(a, b).p <= 0.05)

    assert 0.02 <= chance <= 0.07


def test_benjamini_hochberg_holds_the_share_of_false_discoveries() -> None:
    """With 80 % true nulls and independent tests it is 0.8 q exactly; unadjusted tests exceed it by far."""
    rng = np.random.default_rng(7)
    z = rng.normal(0, 1, (2000, 100)) + np.r_[np.zeros(80), np.full(20, 3.0)]
    p = 2 * scipy.special.ndtr(-np.abs(z))
    found = np.array([statistics.adjust(row, "bh") <= 0.1 for row in p])

    def false_share(rejected: np.ndarray) -> float:
        return float(np.mean(rejected[:, :80].sum(1) / np.maximum(rejected.sum(1), 1)))

    assert false_share(found) == pytest.approx(0.08, abs=0.008)
    assert false_share(p <= 0.1) > 0.2


@pytest.mark.parametrize("method", ["holm", "by"])
def test_holm_and_benjamini_yekutieli_hold_their_rates_under_dependence(method: str) -> None:
    """All nulls true and strongly correlated: any discovery is false, and at most 5 % of samples have one."""
    rng = np.random.default_rng(8)
    z = np.sqrt(0.7) * rng.normal(0, 1, (2000, 1)) + np.sqrt(0.3) * rng.normal(0, 1, (2000, 50))
    any_false = [statistics.adjust(2 * scipy.special.ndtr(-np.abs(row)), method).min() <= 0.05 for row in z]

    assert np.mean(any_false) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 2000)
