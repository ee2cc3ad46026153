"""Which interval a mean gets, and its formula: the same code for one group or a hundred thousand.

t         mean +- t_{C-1} SE, the clustered standard error of `moments`.
wilson    0/1 scores with fewer than 30 clusters, or any scores in 0..1 with fewer than 10 effective successes or
          failures: Wilson's interval at the effective size n_eff = n mean (1 - mean) / (n - 1) / SE^2, at most n
          (Korn & Graubard 1998; Dean & Pagano 2015), with Student's quantile.
tango     differences in the same straits, in -1..1 (what they rose and fell by being the events): Tango's interval
          with all counts divided by the design effect (Yang, Sun & Hardin 2012).
exact     every cluster has the same mean v, so SE = 0 and says nothing. The share of clusters elsewhere is at most
          u = 1 - (alpha/2)^(1/C) (Clopper-Pearson), so on a scale from a to b the mean lies in
          v - u (v - a) .. v + u (b - v). For all 0 or all 1 this is Clopper-Pearson with n = C.
t, few clusters   anything else with fewer than 30 clusters.
none      no spread on a scale without ends: no interval.

Where 0/1 rows are their own clusters their variance is known from their mean, and the normal quantile stands in
for Student's: plain Wilson, plain Tango.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from eyechart.statistics.moments import SCALES, Kind, Moments, effective_n
from eyechart.statistics.proportions import Bounds, Discordant, score_bounds, tango_bounds
from eyechart.statistics.rows import Floats

FEW_CLUSTERS = 30
FEW_EVENTS = 10


class Intervals(NamedTuple):
    """The interval of each group and the name of its method."""

    low: Floats
    high: Floats
    method: npt.NDArray[np.str_]


def intervals(m: Moments, level: float | Floats, kind: Kind) -> Intervals:
    """Give each group the interval of its method, at one level or at its own."""
    method, levels = methods(m, kind), np.broadcast_to(level, m.n.shape)
    forms: dict[str, Callable[[Moments, Floats], Bounds]] = {
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
    return Intervals(low, high, method)


def methods(m: Moments, kind: Kind) -> npt.NDArray[np.str_]:
    """Name the interval of each group by the rules at the head of this file."""
    few = m.clusters < FEW_CLUSTERS
    share = np.minimum(m.mean, 1 - m.mean) if kind == "scores" else m.size
    rare = effective_n(m, kind) * share < FEW_EVENTS
    special = m.bounded & (rare | (m.whole & few))
    conditions = [m.flat & m.bounded, m.flat, special, few]
    names = ["exact", "none", "wilson" if kind == "scores" else "tango", "t, few clusters"]
    return np.select(conditions, names, "t")


def student(m: Moments, level: Floats) -> Bounds:
    """Give the clustered t interval."""
    half = scipy.special.stdtrit(m.clusters - 1.0, (1 + level) / 2) * m.se
    return Bounds(m.mean - half, m.mean + half)


def wilson_effective(m: Moments, level: Floats) -> Bounds:
    """Give Wilson's interval at the effective sample size."""
    n = effective_n(m, "scores")
    return score_bounds(m.mean * n, n, quantile(m, level))


def tango_effective(m: Moments, level: Floats) -> Bounds:
    """Give Tango's interval at the effective sample size."""
    return tango_bounds(discordant(m), quantile(m, level))


def discordant(m: Moments) -> Discordant:
    """Count the rows that rose and fell, at the effective sample size."""
    n = effective_n(m, "differences")
    return Discordant(n * (m.size + m.mean) / 2, n * (m.size - m.mean) / 2, n)


def exact(m: Moments, level: Floats, scale: tuple[float, float]) -> Bounds:
    """Bound the mean by the share of clusters that may differ from those seen."""
    low, high = scale
    unseen = -np.expm1(np.log((1 - level) / 2) / m.clusters)
    return Bounds(m.mean - unseen * (m.mean - low), m.mean + unseen * (high - m.mean))


def quantile(m: Moments, level: Floats) -> Floats:
    """Take Student's quantile, or the normal one, by the degrees of freedom."""
    return np.asarray(scipy.special.stdtrit(degrees(m), (1 + level) / 2), dtype=np.float64)


def degrees(m: Moments) -> Floats:
    """Count C - 1 degrees of freedom, infinitely many where whole rows are their own clusters."""
    return np.where(m.whole & (m.clusters == m.n), np.inf, m.clusters - 1.0)
