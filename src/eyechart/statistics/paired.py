"""Compare two conditions or two models on the same rows.

The estimate is the mean of a - b with a clustered interval. The test flips the signs of whole clusters: if the two
are exchangeable within a cluster, each cluster's summed difference is as likely to be positive as negative. With m
random flips of which b reach the observed sum, p = (b + 1) / (m + 1) (Phipson & Smyth 2010), never 0. If all flips
number at most m + 1, they are enumerated and p is exact. Clusters that sum to 0 change nothing and are left out.

Many comparisons are reduced one after the other (`reduce_pairs`), which keeps a few numbers per cluster, and
then estimated and tested together (`compare_pairs`).

Scores may also be compared with known numbers, such as the chance of a guess (`beyond_known`): a difference
with one uncertain side. The interval is that of the mean, shifted by the known mean: a score that is always 0
is as uncertain as its rows are few, however alike the known numbers are. p inverts it: the mean is tested, two-sided,
against the known mean by the test of its interval. Flipping signs would not do: a score minus its chance is not
symmetric about 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from eyechart.base.errors import DataError, SettingError
from eyechart.statistics.crossed import Draws, surely_above
from eyechart.statistics.intervals import SCALES, Moments, degrees, discordant, effective_n, join_moments, moments
from eyechart.statistics.means import NOTHING, estimate, estimate_crossed, estimates, mean_se, with_se
from eyechart.statistics.proportions import tango_score
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


class PairedScores(NamedTuple):
    """Paired scores reduced for their comparison: moments of the differences and their sums by cluster."""

    moments: Moments
    totals: Floats
    crossed_se: float | None = None  # over examples and donors, if anything was taken from donors


def paired_difference(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    clusters: Clusters | None = None,
    *,
    level: float = 0.95,
    flips: int = 9999,
    seed: int = 0,
    draws: Draws | None = None,
) -> Difference:
    """Estimate mean(a - b) over the same rows; the p-value is that of `sign_flip_p`.

    With the draws from donors that the differences are means of, the interval covers other donors too, and p is no
    smaller than that of its standard error (see `crossed`).
    """
    check_share("level", level)
    pairs = reduce_pairs(a, b, clusters, draws)
    if not pairs.totals.size:
        return Difference(NOTHING.value, NOTHING.low, NOTHING.high, 0, 0, np.nan, NOTHING.method, NOTHING.se)
    return compare_pairs([pairs], level=level, flips=flips, seed=seed)[0]


def reduce_pairs(
    a: npt.ArrayLike, b: npt.ArrayLike, clusters: Clusters | None = None, draws: Draws | None = None
) -> PairedScores:
    """Reduce two scores of the same rows for their comparison."""
    x = differences(a, b)
    rows = arrange((x,), clusters)
    se = None if draws is None or not x.size else mean_se(x, draws)
    return PairedScores(moments(rows, "differences"), sums(rows.columns[0], rows.clusters), se)


def compare_pairs(
    pairs: Sequence[PairedScores], *, level: float = 0.95, flips: int = 9999, seed: int = 0
) -> list[Difference]:
    """Compute `paired_difference` of each, all at once; each needs at least one row."""
    ps = sign_flip_ps([each.totals for each in pairs], flips, seed)
    means = estimates(join_moments(each.moments for each in pairs), level, "differences") if pairs else []
    found = [
        Difference(it.value, it.low, it.high, it.n, it.clusters, p, it.method, it.se)
        for it, p in zip(means, ps, strict=True)
    ]
    return [_crossed(it, pair, level) for it, pair in zip(found, pairs, strict=True)]


def _crossed(it: Difference, pair: PairedScores, level: float) -> Difference:
    """Widen a difference to cover other donors."""
    m, se = pair.moments, pair.crossed_se
    if se is None or not surely_above(se, it.se):
        return it
    wide = estimate_crossed(m, se, level, "differences")
    wider = with_se(m, se)
    score = tango_score(*discordant(wider), 0.0) if wide.method == "tango" else m.mean / se
    freedom = degrees(wider) if wide.method == "tango" else m.clusters - 1.0
    p = max(it.p, _two_sided(score, freedom))
    return it._replace(low=wide.low, high=wide.high, p=p, method=wide.method, se=se)


def differences(a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """Subtract row by row, raising an error for columns of different lengths."""
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
    """Compute `sign_flip_p` of each sample of cluster sums, all with the same flips; no sample may be empty."""
    if flips < 1:
        raise SettingError("at least one flip", str(flips), "9999 is a good choice")
    # Equal sums of decimals may differ by rounding; they must count as reached.
    slack = [1e-12 * float(np.abs(totals).sum()) for totals in samples]
    nonzero = [totals[np.abs(totals) > least] for totals, least in zip(samples, slack, strict=True)]
    drawn = iter(_random_flips([totals for totals in nonzero if 2**totals.size > flips + 1], flips, seed))
    ps = []
    for own, totals, least in zip(samples, nonzero, slack, strict=True):
        exact = 2**totals.size <= flips + 1
        flipped = np.abs(_all_flips(totals) if exact else next(drawn))
        reached = flipped >= abs(float(own.sum())) - least
        ps.append(float(np.mean(reached)) if exact else (int(np.count_nonzero(reached)) + 1) / (flips + 1))
    return ps


def _all_flips(totals: Floats) -> Floats:
    flipped = np.zeros(1)
    for total in totals:
        flipped = np.concatenate([flipped + total, flipped - total])
    return flipped


def _random_flips(samples: Sequence[Floats], flips: int, seed: int) -> Floats:
    """Sum each sample under random signs, eight clusters at a time: a byte selects one of their 256 signed sums."""
    generator = np.random.default_rng(seed)
    padded = [np.append(totals, np.zeros(-totals.size % 8)).reshape(-1, 8) for totals in samples]
    flipped = np.zeros((len(samples), flips))
    for step in range(max(map(len, padded), default=0)):
        drawn = generator.integers(0, 256, flips, dtype=np.uint8)
        for sample, eights in enumerate(padded):
            if step < len(eights):
                flipped[sample] += np.take(SIGNS @ eights[step], drawn)
    return flipped


def beyond_known(
    scores: npt.ArrayLike, known: npt.ArrayLike, clusters: Clusters | None = None, *, level: float = 0.95
) -> Difference:
    """Estimate mean(scores) - mean(known) over the same rows; no rows give NaN, n = 0."""
    check_share("level", level)
    values, expected = numbers(scores, "scores"), numbers(known, "known")
    if values.size != expected.size:
        found = f"{values.size} and {expected.size} rows"
        raise DataError("scores and known numbers of the same rows", found, "join both by key first")
    rows = arrange((values,), clusters)
    if not rows.groups.size:
        return Difference(NOTHING.value, NOTHING.low, NOTHING.high, 0, 0, np.nan, NOTHING.method, NOTHING.se)
    m, base = moments(rows, "scores"), float(expected.mean())
    it = estimate(m, level, "scores")
    p = TESTS[it.method](m, base)
    return Difference(it.value - base, it.low - base, it.high - base, it.n, it.clusters, p, it.method, it.se)


def _student(m: Moments, base: float) -> float:
    return _two_sided((m.mean - base) / m.se, m.clusters - 1.0)


def _score(m: Moments, base: float) -> float:
    """Test with the spread of the known share, as Wilson's interval does."""
    with np.errstate(divide="ignore"):
        return _two_sided((m.mean - base) / np.sqrt(base * (1 - base) / effective_n(m, "scores")), degrees(m))


def _exact(m: Moments, base: float) -> float:
    """Compute twice the probability that no cluster is elsewhere, given the share that the known mean implies."""
    v, (low, high) = float(m.mean[0]), SCALES["scores"]
    elsewhere = (v - base) / (v - low) if base < v else (base - v) / (high - v) if base > v else 0.0
    return min(1.0, 2 * float(max(0.0, 1 - elsewhere) ** m.clusters[0]))


def _nothing(m: Moments, base: float) -> float:  # noqa: ARG001 - one signature for all tests
    return float("nan")


def _two_sided(score: Floats, freedom: npt.NDArray[np.floating]) -> float:
    return float(2 * scipy.special.stdtr(freedom, -np.abs(score))[0])


TESTS = {"t": _student, "t, few clusters": _student, "wilson": _score, "exact": _exact, "none": _nothing}
