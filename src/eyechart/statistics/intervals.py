"""Choose and compute the interval of a mean: the same code for one group of rows or a hundred thousand.

Each group is first reduced to its moments: size, mean, shape, and the clustered standard error (Miller 2024, arXiv
2411.00640, with the correction C / (C - 1) for few clusters), rows i in C clusters c:

    SE = sqrt( C / (C - 1) * sum_c (sum_{i in c} (x_i - mean))^2 ) / n

Then its method is chosen:

t         mean +- t_{C-1} SE, the clustered standard error of `moments`.
wilson    0/1 scores with fewer than 30 clusters, or any scores in 0..1 with fewer than 10 effective successes or
          failures: Wilson's interval at the effective size n_eff = n mean (1 - mean) / (n - 1) / SE^2, at most n
          (Korn & Graubard 1998; Dean & Pagano 2015), with Student's quantile.
tango     differences in the same situation, in -1..1 (with rises and falls as the events): Tango's interval
          with all counts divided by the design effect (Yang, Sun & Hardin 2012).
exact     every cluster has the same mean v, so SE = 0 is meaningless. The share of clusters elsewhere is at most
          u = 1 - (alpha/2)^(1/C) (Clopper-Pearson), so on a scale from a to b the mean is in
          v - u (v - a) .. v + u (b - v). For all 0 or all 1 this is Clopper-Pearson with n = C.
t, few clusters   anything else with fewer than 30 clusters.
none      no spread on an unbounded scale: no interval.

Where 0/1 rows are their own clusters, their variance follows from their mean, and the normal quantile is used
instead of Student's: plain Wilson, plain Tango.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from eyechart.statistics.proportions import Interval, score_interval, tango_interval
from eyechart.statistics.rows import Bools, Floats, Ints, Rows, sums

Kind = Literal["scores", "differences"]

FEW_CLUSTERS = 30
FEW_EVENTS = 10

SCALES: dict[Kind, tuple[float, float]] = {"scores": (0.0, 1.0), "differences": (-1.0, 1.0)}


class Moments(NamedTuple):
    """The moments of groups of clustered rows that intervals need, one entry per group."""

    n: Ints
    clusters: Ints
    mean: Floats
    se: Floats  # NaN for one cluster
    size: Floats  # mean of the absolute values: for -1, 0 and 1, the share that is not 0
    whole: Bools  # every value is -1, 0 or 1
    flat: Bools  # every cluster has the same mean
    bounded: Bools  # every value is on the scale


def moments(rows: Rows, kind: Kind) -> Moments:
    """Reduce the first column of the rows to the moments of each group."""
    x, groups = rows.columns[0], rows.groups
    n = np.diff(groups, append=x.size)
    mean = sums(x, groups) / n
    deviations = sums(x - np.repeat(mean, n), rows.clusters)
    inner = np.searchsorted(rows.clusters, groups)
    clusters = np.diff(inner, append=deviations.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        se = np.sqrt(sums(deviations**2, inner) * clusters / (clusters - 1)) / n
    low, high = SCALES[kind]
    return Moments(
        n=n,
        clusters=clusters,
        mean=mean,
        se=se,
        size=sums(np.abs(x), groups) / n,
        whole=_every(np.isin(x, (-1.0, 0.0, 1.0)), groups),
        # Rounding leaves about 1e-16 per row; a true residual of scores is at least about 1 / n.
        flat=_largest(np.abs(deviations), inner) <= 1e-9 * _largest(np.abs(x), groups),
        bounded=_every((x >= low) & (x <= high), groups),
    )


def join_moments(several: Iterable[Moments]) -> Moments:
    """Concatenate the groups of several moments, so that their intervals are computed at once."""
    return Moments(*(np.concatenate(columns) for columns in zip(*several, strict=True)))


def _every(holds: Bools, starts: Ints) -> Bools:
    return np.logical_and.reduceat(holds, starts) if starts.size else np.empty(0, np.bool_)


def _largest(values: Floats, starts: Ints) -> Floats:
    return np.maximum.reduceat(values, starts) if starts.size else np.empty(0)


def effective_n(m: Moments, kind: Kind) -> Floats:
    """Compute the number of independent 0/1 scores (or -1, 0, 1 differences) that would have this SE, at most n.

    Graded scores vary less than 0/1 scores and might count for more than n; near the ends of the scale their SE
    is too uncertain for that (simulated: without the cap, the coverage of 95 % intervals drops to 75 %).
    """
    variance = m.mean * (1 - m.mean) if kind == "scores" else m.size - m.mean**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.minimum(m.n, m.n * variance / (m.n - 1) / m.se**2)


def intervals(m: Moments, level: float | Floats, kind: Kind) -> tuple[Floats, Floats, npt.NDArray[np.str_]]:
    """Compute the interval of each group, at one level or at its own: low, high, and the name of its method."""
    method = methods(m, kind)
    return *bounds(m, method, level, kind), method


def bounds(m: Moments, method: npt.NDArray[np.str_], level: float | Floats, kind: Kind) -> Interval:
    """Compute the interval of each group by the method chosen for it, which does not depend on the level."""
    levels = np.broadcast_to(level, m.n.shape)
    forms: dict[str, Callable[[Moments, Floats], Interval]] = {
        "t": student,
        "t, few clusters": student,
        "wilson": wilson_effective,
        "tango": tango_effective,
        "exact": partial(exact, scale=SCALES[kind]),
    }
    low, high = np.full(m.n.size, np.nan), np.full(m.n.size, np.nan)
    for name, form in forms.items():
        chosen = method == name
        if chosen.any():
            low[chosen], high[chosen] = form(Moments(*(column[chosen] for column in m)), levels[chosen])
    return Interval(low, high)


def methods(m: Moments, kind: Kind) -> npt.NDArray[np.str_]:
    """Choose the interval of each group by the rules at the top of this file."""
    few = m.clusters < FEW_CLUSTERS
    share = np.minimum(m.mean, 1 - m.mean) if kind == "scores" else m.size
    rare = effective_n(m, kind) * share < FEW_EVENTS
    special = m.bounded & (rare | (m.whole & few))
    conditions = [m.flat & m.bounded, m.flat, special, few]
    names = ["exact", "none", "wilson" if kind == "scores" else "tango", "t, few clusters"]
    return np.select(conditions, names, "t")


def student(m: Moments, level: Floats) -> Interval:
    """Compute the clustered t interval."""
    half = scipy.special.stdtrit(m.clusters - 1.0, (1 + level) / 2) * m.se
    return Interval(m.mean - half, m.mean + half)


def wilson_effective(m: Moments, level: Floats) -> Interval:
    """Compute Wilson's interval at the effective sample size."""
    n = effective_n(m, "scores")
    return score_interval(m.mean * n, n, quantile(m, level))


def tango_effective(m: Moments, level: Floats) -> Interval:
    """Compute Tango's interval at the effective sample size."""
    return tango_interval(*discordant(m), quantile(m, level))


def discordant(m: Moments) -> tuple[Floats, Floats, Floats]:
    """Count the rows that rose, those that fell, and all rows, at the effective sample size."""
    n = effective_n(m, "differences")
    return n * (m.size + m.mean) / 2, n * (m.size - m.mean) / 2, n


def exact(m: Moments, level: Floats, scale: tuple[float, float]) -> Interval:
    """Bound the mean by the share of clusters that may differ from those seen."""
    low, high = scale
    unseen = -np.expm1(np.log((1 - level) / 2) / m.clusters)
    return Interval(m.mean - unseen * (m.mean - low), m.mean + unseen * (high - m.mean))


def quantile(m: Moments, level: Floats) -> Floats:
    """Return Student's quantile, or the normal one, for the degrees of freedom."""
    return np.asarray(scipy.special.stdtrit(degrees(m), (1 + level) / 2), dtype=np.float64)


def degrees(m: Moments) -> Floats:
    """Return C - 1 degrees of freedom, infinitely many where whole rows are their own clusters."""
    return np.where(m.whole & (m.clusters == m.n), np.inf, m.clusters - 1.0)
