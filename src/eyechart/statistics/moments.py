"""What an interval must know of each group of clustered rows: size, mean, standard error, shape.

Clustered standard error (Miller 2024, arXiv 2411.00640, with the correction C / (C - 1) for few clusters), rows
i in C clusters c:

    SE = sqrt( C / (C - 1) * sum_c (sum_{i in c} (x_i - mean))^2 ) / n
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from eyechart.statistics.rows import Bools, Floats, Ints, Rows, sums

Kind = Literal["scores", "differences"]

SCALES: dict[Kind, tuple[float, float]] = {"scores": (0.0, 1.0), "differences": (-1.0, 1.0)}


class Moments(NamedTuple):
    """One entry a group."""

    n: Ints
    clusters: Ints
    mean: Floats
    se: Floats  # NaN for one cluster
    size: Floats  # mean of the absolute values: where they are -1, 0 and 1, the share that is not 0
    whole: Bools  # every value is -1, 0 or 1
    flat: Bools  # every cluster has the same mean
    bounded: Bools  # every value lies on the scale


def moments(rows: Rows, kind: Kind) -> Moments:
    """Reduce the first column of the rows to the moments of each group."""
    x, groups = rows.columns[0], rows.groups
    n = np.diff(groups, append=x.size)
    mean = sums(x, groups) / n
    off = sums(x - np.repeat(mean, n), rows.clusters)
    inner = np.searchsorted(rows.clusters, groups)
    clusters = np.diff(inner, append=off.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        se = np.sqrt(sums(off**2, inner) * clusters / (clusters - 1)) / n
    low, high = SCALES[kind]
    return Moments(
        n=n,
        clusters=clusters,
        mean=mean,
        se=se,
        size=sums(np.abs(x), groups) / n,
        whole=_every(np.isin(x, (-1.0, 0.0, 1.0)), groups),
        # Rounding leaves about 1e-16 a row; a true residual of scores is at least some 1 / n.
        flat=_largest(np.abs(off), inner) <= 1e-9 * _largest(np.abs(x), groups),
        bounded=_every((x >= low) & (x <= high), groups),
    )


def join_moments(several: Iterable[Moments]) -> Moments:
    """Set the groups of several moments in one row, so that their intervals are found at once."""
    return Moments(*(np.concatenate(columns) for columns in zip(*several, strict=True)))


def _every(holds: Bools, starts: Ints) -> Bools:
    return np.logical_and.reduceat(holds, starts) if starts.size else np.empty(0, np.bool_)


def _largest(values: Floats, starts: Ints) -> Floats:
    return np.maximum.reduceat(values, starts) if starts.size else np.empty(0)


def effective_n(m: Moments, kind: Kind) -> Floats:
    """Give the number of independent 0/1 scores (or -1, 0, 1 differences) that would have this SE, at most n.

    Softer scores vary less than 0/1 scores and might count for more than n; near the ends of the scale their SE
    is too uncertain to claim so (simulated: without the cap, 95 % intervals cover down to 75 %).
    """
    variance = m.mean * (1 - m.mean) if kind == "scores" else m.size - m.mean**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.minimum(m.n, m.n * variance / (m.n - 1) / m.se**2)
