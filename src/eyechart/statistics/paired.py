"""Paired comparison: two conditions or two models on the same rows.

The estimate is the mean of a - b with a clustered interval. The test flips the signs of whole clusters: if the two
are exchangeable within a cluster, each cluster's summed difference is as likely to be positive as negative. With m
random flips of which b reach the observed sum, p = (b + 1) / (m + 1) (Phipson & Smyth 2010), never 0. Where all flips
are no more than m + 1 they are enumerated and p is exact. Clusters that sum to 0 change nothing and are left out.

McNemar's exact test is the same idea for 0/1 scores of independent rows: of the rows that differ, as many should
have risen as fallen.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from eyechart.errors import DataError, SettingError
from eyechart.statistics.means import NOTHING, estimate
from eyechart.statistics.moments import moments
from eyechart.statistics.rows import Clusters, Floats, Rows, arrange, check_share, numbers, sums

SIGNS = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)  # every sign of eight clusters


class Difference(NamedTuple):
    """A difference with its interval and the p-value of no difference; `method` names the interval."""

    value: float
    low: float
    high: float
    n: int
    clusters: int
    p: float
    method: str
    se: float


def paired_difference(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    clusters: Clusters | None = None,
    *,
    level: float = 0.95,
    flips: int = 9999,
    seed: int = 0,
) -> Difference:
    """Estimate mean(a - b) over the same rows; the p-value is that of `sign_flip_p`."""
    check_share("level", level)
    rows = arrange((differences(a, b),), clusters)
    found = estimate(moments(rows, "differences"), level, "differences") if rows.groups.size else NOTHING
    p = _flip(rows, flips, seed)
    return Difference(found.value, found.low, found.high, found.n, found.clusters, p, found.method, found.se)


def differences(a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """Subtract row by row, refusing columns of different lengths."""
    first, second = numbers(a, "a"), numbers(b, "b")
    if first.size != second.size:
        found = f"{first.size} and {second.size} rows"
        raise DataError("two scores of the same rows", found, "join both by key first")
    return first - second


def sign_flip_p(
    differences: npt.ArrayLike, clusters: Clusters | None = None, *, flips: int = 9999, seed: int = 0
) -> float:
    """Test that differences are centred on 0 by flipping the signs of whole clusters, two-sided; NaN without rows."""
    return _flip(arrange((numbers(differences, "differences"),), clusters), flips, seed)


def _flip(rows: Rows, flips: int, seed: int) -> float:
    if flips < 1:
        raise SettingError("at least one flip", str(flips), "9999 is a good number")
    totals = sums(rows.columns[0], rows.clusters)
    # Equal sums of decimals differ by rounding; they must count as reached.
    slack = 1e-12 * float(np.abs(totals).sum())
    observed = abs(float(totals.sum())) - slack
    moved = totals[np.abs(totals) > slack]
    if not totals.size:
        return float("nan")
    if 2**moved.size <= flips + 1:
        return float(np.mean(np.abs(_all_flips(moved)) >= observed))
    reached = np.count_nonzero(np.abs(_random_flips(moved, flips, seed)) >= observed)
    return (int(reached) + 1) / (flips + 1)


def _all_flips(totals: Floats) -> Floats:
    flipped = np.zeros(1)
    for total in totals:
        flipped = np.concatenate([flipped + total, flipped - total])
    return flipped


def _random_flips(totals: Floats, flips: int, seed: int) -> Floats:
    """Sum under random signs, eight clusters a step: one random byte looks up one of their 256 signed sums."""
    generator = np.random.default_rng(seed)
    padded = np.append(totals, np.zeros(-totals.size % 8)).reshape(-1, 8)
    flipped = np.zeros(flips)
    for eight in padded:
        flipped += (SIGNS @ eight)[generator.integers(0, 256, flips, dtype=np.uint8)]
    return flipped


def mcnemar_exact(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Test two 0/1 scores of the same independent rows: twice the smaller binomial tail, at most 1."""
    moved = differences(a, b)
    if not np.isin(np.concatenate([numbers(a), numbers(b)]), (0.0, 1.0)).all():
        raise DataError("scores of 0 and 1", "others", "use paired_difference for graded scores")
    rose, fell = np.count_nonzero(moved > 0), np.count_nonzero(moved < 0)
    return min(1.0, 2 * float(scipy.special.bdtr(min(rose, fell), rose + fell, 0.5)))
