"""A mean held against numbers that are known, such as the chance of a guess: a difference with one uncertain side.

The interval is that of the mean, moved by the mean of what is known: a score that is always 0 is as uncertain as its
rows are few, however alike the known numbers are. p inverts it: the mean is tested, two-sided, against what is known
by the test whose interval it has. Flipping signs would not do: a score less its chance is not symmetric about 0.
"""

import numpy as np
import numpy.typing as npt
import scipy

from eyechart.errors import DataError
from eyechart.statistics.intervals import degrees
from eyechart.statistics.means import NOTHING, estimate
from eyechart.statistics.moments import SCALES, Moments, effective_n, moments
from eyechart.statistics.paired import Difference
from eyechart.statistics.rows import Clusters, Floats, arrange, check_share, numbers


def beyond_known(
    scores: npt.ArrayLike, known: npt.ArrayLike, clusters: Clusters | None = None, *, level: float = 0.95
) -> Difference:
    """Estimate mean(scores) - mean(known) over the same rows; no rows give NaN, n = 0."""
    check_share("level", level)
    values, given = numbers(scores, "scores"), numbers(known, "known")
    if values.size != given.size:
        found = f"{values.size} and {given.size} rows"
        raise DataError("scores and known numbers of the same rows", found, "join both by key first")
    rows = arrange((values,), clusters)
    if not rows.groups.size:
        return Difference(NOTHING.value, NOTHING.low, NOTHING.high, 0, 0, np.nan, NOTHING.method, NOTHING.se)
    m, at = moments(rows, "scores"), float(given.mean())
    it = estimate(m, level, "scores")
    p = TESTS[it.method](m, at)
    return Difference(it.value - at, it.low - at, it.high - at, it.n, it.clusters, p, it.method, it.se)


def _student(m: Moments, at: float) -> float:
    return _two_sided((m.mean - at) / m.se, m.clusters - 1.0)


def _score(m: Moments, at: float) -> float:
    """Test at the spread that the known share has, as Wilson's interval does."""
    with np.errstate(divide="ignore"):
        return _two_sided((m.mean - at) / np.sqrt(at * (1 - at) / effective_n(m, "scores")), degrees(m))


def _exact(m: Moments, at: float) -> float:
    """Give twice the chance that no cluster lies elsewhere, though as many do as the known mean wants."""
    v, (low, high) = float(m.mean[0]), SCALES["scores"]
    elsewhere = (v - at) / (v - low) if at < v else (at - v) / (high - v) if at > v else 0.0
    return min(1.0, 2 * float(max(0.0, 1 - elsewhere) ** m.clusters[0]))


def _nothing(m: Moments, at: float) -> float:  # noqa: ARG001 - one signature for all tests
    return float("nan")


def _two_sided(score: Floats, freedom: npt.NDArray[np.floating]) -> float:
    return float(2 * scipy.special.stdtr(freedom, -np.abs(score))[0])


TESTS = {"t": _student, "t, few clusters": _student, "wilson": _score, "exact": _exact, "none": _nothing}
