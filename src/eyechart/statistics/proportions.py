"""Intervals for shares of independent trials, and Tango's for the difference of two paired shares.

Wilson (1927):           centre (k + z^2/2) / (n + z^2), half width z sqrt(k (n - k) / n + z^2/4) / (n + z^2)
Clopper & Pearson (1934): Beta quantiles B(alpha/2; k, n - k + 1) and B(1 - alpha/2; k + 1, n - k)
Tango (1998):            the differences D that the score test of D does not reject, with the nuisance
                         probability at its maximum likelihood given D

At 0 of n both of the first end near 3.7 / n (two-sided 95 %; the rule of three is the one-sided 3 / n).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from eyechart.statistics.rows import Floats, check_share


class Bounds(NamedTuple):
    """The two ends of an interval, or of many."""

    low: Floats
    high: Floats


def wilson(successes: npt.ArrayLike, n: npt.ArrayLike, level: float = 0.95) -> Bounds:
    """Invert the score test of a share; counts may be fractional (an effective sample size)."""
    check_share("level", level)
    return score_bounds(np.asarray(successes, float), np.asarray(n, float), scipy.special.ndtri((1 + level) / 2))


def score_bounds(successes: Floats, n: Floats, quantile: npt.ArrayLike) -> Bounds:
    """Give Wilson's interval for any quantile, so that Student's can stand for the normal one."""
    square = np.square(np.asarray(quantile, float))
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = (successes + square / 2) / (n + square)
        half = np.sqrt(square * (successes * (n - successes) / n + square / 4)) / (n + square)
    # At 0 and n the end is exactly 0 and 1, which rounding would miss.
    low = np.where(successes <= 0, 0.0, centre - half)
    high = np.where(successes >= n, 1.0, centre + half)
    return Bounds(low, high)


def clopper_pearson(successes: npt.ArrayLike, n: npt.ArrayLike, level: float = 0.95) -> Bounds:
    """Give the exact interval of a binomial share, never below its level."""
    check_share("level", level)
    k, n, tail = np.asarray(successes, float), np.asarray(n, float), (1 - level) / 2
    with np.errstate(invalid="ignore"):
        low = np.where(k <= 0, 0.0, scipy.special.betaincinv(k, n - k + 1, tail))
        high = np.where(k >= n, 1.0, scipy.special.betaincinv(k + 1, n - k, 1 - tail))
    return Bounds(low, high)


class Discordant(NamedTuple):
    """How many of n pairs rose and fell; fractional where n is an effective sample size."""

    rose: Floats
    fell: Floats
    n: Floats


def tango_score(pairs: Discordant, difference: npt.ArrayLike) -> Floats:
    """Score the hypothesis that P(rose) - P(fell) = difference; standard normal when it is true."""
    rose, fell, n = pairs
    d = np.asarray(difference, float)
    # With q = P(fell) the likelihood is highest at the larger root of 2n q^2 - linear q - fell d (1 - d) = 0.
    linear = rose + fell - d * (2 * n - rose + fell)
    q = (linear + np.sqrt(np.maximum(linear**2 + 8 * n * fell * d * (1 - d), 0))) / (4 * n)
    variance = n * (2 * q + d * (1 - d))
    surplus = rose - fell - n * d
    with np.errstate(invalid="ignore", divide="ignore"):
        score: Floats = np.where(variance > 1e-12, surplus / np.sqrt(variance), np.sign(surplus) * np.inf)
    return score


def tango_bounds(pairs: Discordant, quantile: Floats) -> Bounds:
    """Find by bisection where the score crosses plus and minus the quantile."""
    estimate = (pairs.rose - pairs.fell) / pairs.n
    low = _crossing(pairs, np.full_like(estimate, -1.0), estimate, quantile)
    high = _crossing(pairs, estimate, np.full_like(estimate, 1.0), -quantile)
    return Bounds(low, high)


def _crossing(pairs: Discordant, left: Floats, right: Floats, target: Floats) -> Floats:
    for _ in range(50):
        middle = (left + right) / 2
        above = tango_score(pairs, middle) > target
        left, right = np.where(above, middle, left), np.where(above, right, middle)
    return (left + right) / 2
