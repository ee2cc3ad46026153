"""Estimate the difference of the means of different rows, such as easy examples and counterexamples.

With clustered standard errors S_a, S_b of the two means and, where rows of both are in one cluster c,

    cov = sqrt(C_a / (C_a - 1) C_b / (C_b - 1)) sum_c (sum_{i in a, c} (x_i - mean_a) / n_a) (same for b)
    SE^2 = S_a^2 + S_b^2 - 2 cov

the interval is Welch's: t with the Welch-Satterthwaite degrees of C_a - 1 and C_b - 1. Where the interval of
either mean is not t (see `intervals`), it is combined from the two of them, with r = cov / (S_a S_b)
(Newcombe 1998, method 10; Zou & Donner 2008, MOVER):

    low  = d - sqrt((a - a_low)^2  + (b_high - b)^2 - 2 r (a - a_low) (b_high - b))
    high = d + sqrt((a_high - a)^2 + (b - b_low)^2  - 2 r (a_high - a) (b - b_low))

and p is the smallest 1 - level at which it excludes 0. If both sides have the same rows, use `paired_difference`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from eyechart.statistics.intervals import Moments, bounds, join_moments, methods, moments
from eyechart.statistics.means import Estimate, estimate
from eyechart.statistics.paired import Difference
from eyechart.statistics.rows import Bools, Clusters, Floats, arrange, check_share, keys, numbers, sums

SMALLEST_P = 1e-12  # below it the quantiles of the intervals lose precision


class Contrast(NamedTuple):
    """Two samples reduced for the estimate of their difference."""

    a: Moments
    b: Moments
    covariance: float
    clusters: int


def difference(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    a_clusters: Clusters | None = None,
    b_clusters: Clusters | None = None,
    *,
    level: float = 0.95,
) -> Difference:
    """Estimate mean(a) - mean(b) over different rows, which may share clusters; NaN where a side has no rows."""
    check_share("level", level)
    first, second = numbers(a, "a"), numbers(b, "b")
    n = first.size + second.size
    own = (keys(a_clusters, first.size), keys(b_clusters, second.size))
    if not first.size or not second.size:
        count = sum(arrange((x,), key).clusters.size for x, key in zip((first, second), own, strict=True))
        return Difference(np.nan, np.nan, np.nan, n, count, np.nan, "none", np.nan)
    return summarise(contrast((first, second), own), level)


def contrast(values: tuple[Floats, Floats], clusters: tuple[pl.Series, pl.Series]) -> Contrast:
    """Compute the moments of both sides and the covariance of their means due to shared clusters."""
    a, b = (moments(arrange((x,), own), "scores") for x, own in zip(values, clusters, strict=True))
    side = np.repeat([0.0, 1.0], [values[0].size, values[1].size])
    # As text, because the two sides may store cluster names in different types.
    both = arrange((side, np.concatenate(values)), pl.concat([key.cast(pl.String) for key in clusters]))
    is_b, x = both.columns[0] == 1, both.columns[1]
    deviations_a = sums(np.where(is_b, 0.0, x - a.mean) / a.n, both.clusters)
    deviations_b = sums(np.where(is_b, x - b.mean, 0.0) / b.n, both.clusters)
    few = np.sqrt(_correction(a) * _correction(b))
    return Contrast(a, b, float(few * np.sum(deviations_a * deviations_b)), both.clusters.size)


def _correction(m: Moments) -> float:
    clusters = int(m.clusters[0])
    return clusters / max(clusters - 1, 1)


def summarise(pair: Contrast, level: float) -> Difference:
    """Estimate the difference of two reduced samples."""
    a, b = estimate(pair.a, level, "scores"), estimate(pair.b, level, "scores")
    value = a.value - b.value
    se = float(np.sqrt(max(a.se**2 + b.se**2 - 2 * pair.covariance, 0.0)))
    n = a.n + b.n
    # The same rows on both sides cancel and leave only rounding.
    cancelled = a.se + b.se > 0 and se <= 1e-6 * (a.se + b.se)
    if cancelled or "none" in {a.method, b.method}:
        return Difference(value, np.nan, np.nan, n, pair.clusters, np.nan, "none", se)
    if a.method.startswith("t") and b.method.startswith("t"):
        degrees = (a.se**2 + b.se**2) ** 2 / (a.se**4 / (a.clusters - 1) + b.se**4 / (b.clusters - 1))
        half = float(scipy.special.stdtrit(degrees, (1 + level) / 2)) * se
        p = 2 * float(scipy.special.stdtr(degrees, -abs(value) / se))
        return Difference(value, value - half, value + half, n, pair.clusters, p, "t", se)
    low, high = _combine(a, b, pair.covariance)
    return Difference(value, low, high, n, pair.clusters, _p_of(pair, a, b), "mover", se)


def _p_of(pair: Contrast, a: Estimate, b: Estimate) -> float:
    sides = join_moments((pair.a, pair.b))
    method = methods(sides, "scores")

    def leaves_out_zero(alpha: Floats) -> Bools:
        """Return whether the interval of the difference at level 1 - alpha excludes 0."""
        ends = bounds(sides, method, 1 - alpha, "scores")
        (a_low, b_low), (a_high, b_high) = ends.low.tolist(), ends.high.tolist()
        low, high = _combine(a._replace(low=a_low, high=a_high), b._replace(low=b_low, high=b_high), pair.covariance)
        return np.array([low > 0 or high < 0])

    return float(p_by_inversion(leaves_out_zero, 1)[0])


def _combine(a: Estimate, b: Estimate, covariance: float) -> tuple[float, float]:
    scale = a.se * b.se
    r = float(np.clip(covariance / scale, -1, 1)) if scale > 0 else 0.0
    value = a.value - b.value
    return (
        value - _hypotenuse(a.value - a.low, b.high - b.value, r),
        value + _hypotenuse(a.high - a.value, b.value - b.low, r),
    )


def _hypotenuse(first: float, second: float, r: float) -> float:
    return float(np.sqrt(max(first**2 + second**2 - 2 * r * first * second, 0.0)))


def p_by_inversion(leave_out_zero: Callable[[Floats], Bools], n: int) -> Floats:
    """Bisect, on a logarithmic scale, for the smallest 1 - level at which each of n intervals excludes 0."""
    small, large = np.full(n, np.log(SMALLEST_P)), np.zeros(n)
    for _ in range(40):
        middle = (small + large) / 2
        beyond = leave_out_zero(np.exp(middle))
        small, large = np.where(beyond, small, middle), np.where(beyond, middle, large)
    return np.where(leave_out_zero(np.full(n, 1 - SMALLEST_P)), np.exp(large), 1.0)
