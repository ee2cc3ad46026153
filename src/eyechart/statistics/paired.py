"""Paired comparison: two conditions or two models on the same rows.

The estimate is the mean of a - b with a clustered interval. The test flips the signs of whole clusters: if the two
are exchangeable within a cluster, each cluster's summed difference is as likely to be positive as negative. With m
random flips of which b reach the observed sum, p = (b + 1) / (m + 1) (Phipson & Smyth 2010), never 0. Where all flips
are no more than m + 1 they are enumerated and p is exact. Clusters that sum to 0 change nothing and are left out.

Many comparisons are reduced one after the other (`reduce_pairs`), which keeps a few numbers a cluster of each, and
then estimated and tested together (`compare_pairs`).

McNemar's exact test is the same idea for 0/1 scores of independent rows: of the rows that differ, as many should
have risen as fallen.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from eyechart.errors import DataError, SettingError
from eyechart.statistics.means import NOTHING, estimates
from eyechart.statistics.moments import Moments, join_moments, moments
from eyechart.statistics.rows import Clusters, Floats, arrange, check_share, numbers, sums

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


class Movable(NamedTuple):
    """The cluster sums of a sample that are not 0, and the size that a flipped sum of them must reach to count."""

    totals: Floats
    observed: float


class Pairs(NamedTuple):
    """Paired scores reduced to what their comparison needs: moments of the differences, their sums by cluster."""

    moments: Moments
    totals: Floats


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
    pairs = reduce_pairs(a, b, clusters)
    if not pairs.totals.size:
        return Difference(NOTHING.value, NOTHING.low, NOTHING.high, 0, 0, np.nan, NOTHING.method, NOTHING.se)
    return compare_pairs([pairs], level=level, flips=flips, seed=seed)[0]


def reduce_pairs(a: npt.ArrayLike, b: npt.ArrayLike, clusters: Clusters | None = None) -> Pairs:
    """Reduce two scores of the same rows to what their comparison needs."""
    rows = arrange((differences(a, b),), clusters)
    return Pairs(moments(rows, "differences"), sums(rows.columns[0], rows.clusters))


def compare_pairs(pairs: Sequence[Pairs], *, level: float = 0.95, flips: int = 9999, seed: int = 0) -> list[Difference]:
    """Give what `paired_difference` gives of each, all at once; none may be without rows."""
    ps = sign_flip_ps([each.totals for each in pairs], flips, seed)
    found = estimates(join_moments(each.moments for each in pairs), level, "differences") if pairs else []
    return [
        Difference(it.value, it.low, it.high, it.n, it.clusters, p, it.method, it.se)
        for it, p in zip(found, ps, strict=True)
    ]


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
    rows = arrange((numbers(differences, "differences"),), clusters)
    return sign_flip_ps([sums(rows.columns[0], rows.clusters)], flips, seed)[0] if rows.groups.size else np.nan


def sign_flip_ps(samples: Sequence[Floats], flips: int = 9999, seed: int = 0) -> list[float]:
    """Give what `sign_flip_p` gives of each sample of cluster sums, all by the same flips; none may be empty."""
    if flips < 1:
        raise SettingError("at least one flip", str(flips), "9999 is a good number")
    movable = [_movable(totals) for totals in samples]
    many = [2**it.totals.size > flips + 1 for it in movable]
    drawn = iter(_random_flips([it.totals for it, draw in zip(movable, many, strict=True) if draw], flips, seed))
    return [_random_p(next(drawn), it) if draw else _exact_p(it) for it, draw in zip(movable, many, strict=True)]


def _exact_p(sample: Movable) -> float:
    return float(np.mean(np.abs(_all_flips(sample.totals)) >= sample.observed))


def _random_p(flipped: Floats, sample: Movable) -> float:
    reached = np.count_nonzero(np.abs(flipped) >= sample.observed)
    return (int(reached) + 1) / (flipped.size + 1)


def _movable(totals: Floats) -> Movable:
    # Equal sums of decimals differ by rounding; they must count as reached.
    slack = 1e-12 * float(np.abs(totals).sum())
    return Movable(totals[np.abs(totals) > slack], abs(float(totals.sum())) - slack)


def _all_flips(totals: Floats) -> Floats:
    flipped = np.zeros(1)
    for total in totals:
        flipped = np.concatenate([flipped + total, flipped - total])
    return flipped


def _random_flips(samples: Sequence[Floats], flips: int, seed: int) -> Floats:
    """Sum each sample under random signs, eight clusters a step: a byte looks up one of their 256 signed sums."""
    generator = np.random.default_rng(seed)
    padded = [np.append(totals, np.zeros(-totals.size % 8)).reshape(-1, 8) for totals in samples]
    flipped = np.zeros((len(samples), flips))
    for step in range(max(map(len, padded), default=0)):
        drawn = generator.integers(0, 256, flips, dtype=np.uint8)
        for at, eights in enumerate(padded):
            if step < len(eights):
                flipped[at] += np.take(SIGNS @ eights[step], drawn)
    return flipped


def mcnemar_exact(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Test two 0/1 scores of the same independent rows: twice the smaller binomial tail, at most 1."""
    moved = differences(a, b)
    if not np.isin(np.concatenate([numbers(a), numbers(b)]), (0.0, 1.0)).all():
        raise DataError("scores of 0 and 1", "others", "use paired_difference for graded scores")
    rose, fell = np.count_nonzero(moved > 0), np.count_nonzero(moved < 0)
    return min(1.0, 2 * float(scipy.special.bdtr(min(rose, fell), rose + fell, 0.5)))
