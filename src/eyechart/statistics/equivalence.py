"""Test equivalence: whether there is evidence that a difference is smaller than a margin.

Two one-sided tests (Schuirmann 1987): equivalent at level 1 - alpha where both "mean <= -margin" and "mean >= margin"
are rejected at alpha, that is, where the 1 - 2 alpha interval is within the margin; p is the larger of the two.
The clustered t test is used unless `intervals` would not trust it: then it is Tango's score test where little changed
(which makes the t test far too confident) and, where all C clusters have the same mean v, the largest probability
of that under a mean at the margin, ((1 - margin) / (1 - |v|))^C for differences in -1..1.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from eyechart.base.errors import SettingError
from eyechart.statistics.crossed import Draws, surely_above
from eyechart.statistics.intervals import Moments, degrees, discordant, moments
from eyechart.statistics.means import NOTHING, estimate, estimate_crossed, mean_se, with_se
from eyechart.statistics.proportions import tango_score
from eyechart.statistics.rows import Clusters, arrange, check_share, numbers


class Equivalence(NamedTuple):
    """Whether a mean difference is within the margin; `low` and `high` are the 1 - 2 alpha interval."""

    value: float
    low: float
    high: float
    margin: float
    p: float
    equivalent: bool
    n: int
    clusters: int


def equivalence(
    differences: npt.ArrayLike,
    clusters: Clusters | None = None,
    margin: float = 0.01,
    level: float = 0.95,
    *,
    draws: Draws | None = None,
) -> Equivalence:
    """Test whether the mean of row-wise differences is strictly between minus and plus the margin.

    With the draws from donors that the differences are means of, other donors count as well (see `crossed`).
    """
    check_share("level", level)
    if margin <= 0 or level <= 0.5:
        raise SettingError("a margin above 0 and a level above 0.5", f"{margin}, {level}", "0.01 is one point")
    x = numbers(differences, "differences")
    rows = arrange((x,), clusters)
    m = moments(rows, "differences")
    mean = estimate(m, 2 * level - 1, "differences") if rows.groups.size else NOTHING
    p = TESTS[mean.method](m, margin)
    if draws is not None and rows.groups.size and surely_above(se := mean_se(x, draws), float(m.se[0])):
        mean = estimate_crossed(m, se, 2 * level - 1, "differences")
        p = max(p, TESTS[mean.method](with_se(m, se), margin))
    return Equivalence(
        value=mean.value,
        low=mean.low,
        high=mean.high,
        margin=margin,
        p=p,
        equivalent=p <= 1 - level,
        n=mean.n,
        clusters=mean.clusters,
    )


def _student(m: Moments, margin: float) -> float:
    t = (np.abs(m.mean) - margin) / m.se
    return float(scipy.special.stdtr(m.clusters - 1.0, t)[0])


def _tango(m: Moments, margin: float) -> float:
    scores = np.array([tango_score(*discordant(m), margin)[0], -tango_score(*discordant(m), -margin)[0]])
    return float(scipy.special.stdtr(degrees(m), scores.max())[0])


def _exact(m: Moments, margin: float) -> float:
    v = abs(float(m.mean[0]))
    return float(((1 - margin) / (1 - v)) ** m.clusters[0]) if v < margin < 1 else float(v >= margin)


def _nothing(m: Moments, margin: float) -> float:  # noqa: ARG001 - one signature for all tests
    return float("nan")


TESTS = {"t": _student, "t, few clusters": _student, "tango": _tango, "exact": _exact, "none": _nothing}
