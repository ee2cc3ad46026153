"""Compute Wilson's interval for a share of independent trials, and Tango's for the difference of two paired shares.

Wilson (1927):  centre (k + z^2/2) / (n + z^2), half width z sqrt(k (n - k) / n + z^2/4) / (n + z^2)
Tango (1998):   the differences D that the score test of D does not reject, with the nuisance probability at its maximum
                likelihood given D

At 0 of n, Wilson's interval ends near 3.7 / n (two-sided 95 %; the rule of three is the one-sided 3 / n).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from eyechart.statistics.rows import Floats, check_share


class Interval(NamedTuple):
    """The two ends of an interval, or of many."""

    low: Floats
    high: Floats


def wilson(successes: npt.ArrayLike, n: npt.ArrayLike, level: float = 0.95) -> Interval:
    """Compute Wilson's interval of a share; counts may be fractional (an effective sample size)."""
    check_share("level", level)
    return score_interval(np.asarray(successes, float), np.asarray(n, float), scipy.special.ndtri((1 + level) / 2))


def score_interval(successes: Floats, n: Floats, quantile: npt.ArrayLike) -> Interval:
    """Compute Wilson's interval for any quantile, so that Student's can replace the normal one."""
    square = np.square(np.asarray(quantile, float))
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = (successes + square / 2) / (n + square)
        half = np.sqrt(square * (successes * (n - successes) / n + square / 4)) / (n + square)
    # At 0 and n the end is exactly 0 and 1, which rounding would miss.
    low = np.where(successes <= 0, 0.0, centre - half)
    high = np.where(successes >= n, 1.0, centre + half)
    return Interval(low, high)


def tango_score(rose: Floats, fell: Floats, n: Floats, difference: npt.ArrayLike) -> Floats:
    """Compute the score statistic of P(rose) - P(fell) = difference, standard normal if that is true.

    `rose` and `fell` are counts out of n pairs, fractional if n is an effective sample size.
    """
    d = np.asarray(difference, float)
    # With q = P(fell) the likelihood is highest at the larger root of 2n q^2 - linear q - fell d (1 - d) = 0.
    linear = rose + fell - d * (2 * n - rose + fell)
    q = (linear + np.sqrt(np.maximum(linear**2 + 8 * n * fell * d * (1 - d), 0))) / (4 * n)
    variance = n * (2 * q + d * (1 - d))
    surplus = rose - fell - n * d
    with np.errstate(invalid="ignore", divide="ignore"):
        score: Floats = np.where(variance > 1e-12, surplus / np.sqrt(variance), np.sign(surplus) * np.inf)
    return score


def tango_interval(rose: Floats, fell: Floats, n: Floats, quantile: Floats) -> Interval:
    """Find, by bisection, where the score crosses plus and minus the quantile."""
    estimate = (rose - fell) / n
    score = partial(tango_score, rose, fell, n)
    low = _crossing(score, np.full_like(estimate, -1.0), estimate, quantile)
    high = _crossing(score, estimate, np.full_like(estimate, 1.0), -quantile)
    return Interval(low, high)


def _crossing(score: Callable[[Floats], Floats], left: Floats, right: Floats, target: Floats) -> Floats:
    for _ in range(50):
        middle = (left + right) / 2
        above = score(middle) > target
        left, right = np.where(above, middle, left), np.where(above, right, middle)
    return (left + right) / 2
