"""Estimate the ratio of two means over the same rows by a bootstrap of whole clusters.

R = sum N / sum D with the delta method's SE(R) = sqrt(C / (C - 1) sum_c (N_c - R D_c)^2) / |sum D| over cluster sums
N_c, D_c (Cochran 1977, section 6). Clusters are drawn with replacement and R* and SE* computed from each draw; the
interval is the bootstrap-t, R - SE q_{1 - alpha/2} .. R - SE q_{alpha/2}, with q the quantiles of (R* - R) / SE*
(Efron & Tibshirani 1993, chapter 12), which keeps its level with few clusters, unlike percentiles. Where too few
clusters carry the ratio, draws without spread make an end infinite; then R +- t_{C-1} SE is used ("delta").

A ratio means little if its denominator may be 0: `unstable` says that the denominator's interval includes 0 or
its mean is within 0.1 of 0, that the bootstrap-t failed, or that there is no spread at all.

If the numerator consists of draws from donors, the interval is stretched about R by SE' / SE, where SE' is that of
`crossed` with the influences (N_i - R D_i) / mean D of the rows and those of the draws over mean D.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from eyechart.base.errors import SettingError
from eyechart.statistics.crossed import Draws, crossed_se, surely_above
from eyechart.statistics.intervals import moments
from eyechart.statistics.means import estimate
from eyechart.statistics.rows import Clusters, Floats, Rows, arrange, check_share, numbers, sums

SMALL_DENOMINATOR = 0.1
CELLS = 2_000_000  # draws x clusters in memory at once


class Ratio(NamedTuple):
    """A ratio with its interval; do not rely on it if it is `unstable`."""

    value: float
    low: float
    high: float
    n: int
    clusters: int
    method: str
    se: float
    unstable: bool


def ratio(
    numerator: npt.ArrayLike,
    denominator: npt.ArrayLike,
    clusters: Clusters | None = None,
    *,
    draws: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    taken: Draws | None = None,
) -> Ratio:
    """Estimate mean(numerator) / mean(denominator); NaN without rows or with a denominator of 0.

    `draws` is the size of the bootstrap, `taken` the draws from donors that the numerator consists of.
    """
    check_share("level", level)
    if draws < 1:
        raise SettingError("at least one draw", str(draws), "2000 is a good choice")
    d, x = numbers(denominator, "denominator"), numbers(numerator, "numerator")
    found = _bootstrapped(arrange((d, x), clusters), draws, level, seed)
    return found if taken is None else _stretched(found, x, d, taken)


def _bootstrapped(rows: Rows, draws: int, level: float, seed: int) -> Ratio:
    n, count = rows.columns[0].size, rows.clusters.size
    products = _products(rows)
    value, se = (float(column[0]) for column in _fit(products.sum(axis=0, keepdims=True), count))
    # Cancelling sums of squares leave a rounding error of about 1e-8 in the SE.
    if not se > 1e-7 * abs(value):
        return Ratio(value, np.nan, np.nan, n, count, "none", se, unstable=True)
    low, high = _bootstrap_t(value, se, _fit(_draw(products, draws, seed), count), level)
    if not np.isfinite([low, high]).all():
        half = float(scipy.special.stdtrit(count - 1.0, (1 + level) / 2)) * se
        return Ratio(value, value - half, value + half, n, count, "delta", se, unstable=True)
    return Ratio(value, low, high, n, count, "bootstrap-t", se, unstable=_unstable(rows, level))


def _stretched(found: Ratio, numerator: Floats, denominator: Floats, taken: Draws) -> Ratio:
    """Stretch the interval of a ratio to cover other donors."""
    mean = float(np.sort(denominator).mean()) if denominator.size else 0.0
    if found.method == "none" or not mean:
        return found
    se = crossed_se(numerator - found.value * denominator, taken) / abs(mean)
    if not surely_above(se, found.se):
        return found
    low, high = (found.value + (end - found.value) * se / found.se for end in (found.low, found.high))
    return found._replace(low=low, high=high, se=se)


def _products(rows: Rows) -> Floats:
    """Compute each cluster's sums and their products: ratio and SE need nothing else."""
    d, n = (sums(column, rows.clusters) for column in rows.columns)
    return np.column_stack([n, d, n * n, n * d, d * d])


def _fit(totals: Floats, clusters: int) -> tuple[Floats, Floats]:
    """Compute ratio and standard error, of the data or of each draw."""
    n, d, nn, nd, dd = totals.T
    with np.errstate(divide="ignore", invalid="ignore"):
        value = n / d
        squares = np.maximum(nn - 2 * value * nd + value**2 * dd, 0)
        return value, np.sqrt(squares * clusters / (clusters - 1)) / np.abs(d)


def _draw(products: Floats, draws: int, seed: int) -> Floats:
    """Sum the products over clusters drawn with replacement, a bounded number of draws at a time."""
    generator, count = np.random.default_rng(seed), len(products)
    block, columns = max(1, CELLS // count), np.ascontiguousarray(products.T)
    parts = []
    for start in range(0, draws, block):
        size = min(block, draws - start)
        picked = generator.integers(0, count, (size, count)) + count * np.arange(size)[:, None]
        weights = np.bincount(picked.ravel(), minlength=size * count).reshape(size, count)
        # Not with BLAS, whose sums depend on the number of threads in their last bit.
        parts.append(np.einsum("ij,kj->ik", weights.astype(np.float64), columns))
    return np.concatenate(parts)


def _bootstrap_t(value: float, se: float, drawn: tuple[Floats, Floats], level: float) -> tuple[float, float]:
    ratios, errors = drawn
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (ratios - value) / errors
    # A draw without spread or denominator has no t and might be at either end.
    tail = (1 - level) / 2
    low = np.quantile(np.where(np.isnan(t), -np.inf, t), tail, method="lower")
    high = np.quantile(np.where(np.isnan(t), np.inf, t), 1 - tail, method="higher")
    return value - se * float(high), value - se * float(low)


def _unstable(rows: Rows, level: float) -> bool:
    below = estimate(moments(rows, "scores"), level, "scores")
    return below.low <= 0 <= below.high or abs(below.value) < SMALL_DENOMINATOR
