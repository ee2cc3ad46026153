"""Paired difference of weighted sums of scores, such as the gaps, drops or means over sets of two models.

With d_i the difference of the scores of row i and w_i its weight, of either sign, the difference of the sums is
sum_i w_i d_i. As the mean of contributions (see `paired`) it knows how many rows there are in all, not how few of them
carry it: a set of one row counts as sure. So rows of one sign whose weights are alike, within a factor of two, are a
part, with the interval that a paired difference of that part would have (see `intervals`), its numbers of rows and
clusters multiplied by (sum w)^2 / (n sum w^2), which is 8/9 or more. Where all of these are t, the contributions are to
be trusted. Else the interval is put together from those of the parts, as in `unpaired`: with W_k the weight of a part
and R_kl the correlation that shared clusters give W_k mean_k and W_l mean_l,

    low = value - sqrt(sum_kl R_kl down_k down_l)        down_k = W_k (mean_k - low_k), or by high_k where W_k < 0

and high alike; it is never inside that of the contributions. p is the largest of that of the contributions, of the
smallest 1 - level at which the interval of the parts leaves out 0, and of that of each part that is not t: the signs of
its clusters are flipped about the mean it would need for a sum of 0, where there can be such a mean. Hence a part of
one row decides nothing, and one of five not much.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from eyechart.statistics.intervals import intervals, methods
from eyechart.statistics.means import Span
from eyechart.statistics.moments import Moments, moments
from eyechart.statistics.paired import Difference, differences, sign_flip_p
from eyechart.statistics.rows import Clusters, Floats, Ints, arrange_table, cluster_begins, keys, numbers
from eyechart.statistics.unpaired import p_by_inversion

NO_WEIGHT = 1e-15  # what rounding leaves where weights cancel


class Parts(NamedTuple):
    """What the parts of a sum tell: moments of their differences, weights in the sum, and how they vary together."""

    moments: Moments
    weights: Floats
    correlations: Floats


def no_surer_than_parts(
    found: Difference,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    weights: npt.ArrayLike,
    clusters: Clusters | None = None,
    *,
    level: float = 0.95,
) -> Difference:
    """Widen the paired difference `found` of two sums of weights times scores where few rows carry it."""
    rows = _parted(differences(a, b), numbers(weights, "weights"), clusters)
    if not rows.height:
        return found
    parts = _reduce(rows)
    method = methods(parts.moments, "differences")
    if (method == "t").all() or (method == "none").any():
        return found
    low, high = _ends(parts, found.value, level)
    inverted = p_by_inversion(partial(_leaves_out_zero, parts, found.value))
    p = max(found.p, inverted, *_flipped(rows, parts, found.value))
    return found._replace(low=min(found.low, low), high=max(found.high, high), p=p, method="mover")


def _parted(moved: Floats, weights: Floats, clusters: Clusters | None) -> pl.DataFrame:
    """Give each row that has a weight the numbers of its part and its cluster."""
    rows = pl.DataFrame({"moved": moved, "weight": weights, "cluster": keys(clusters, moved.size)})
    rows = rows.filter(pl.col("weight").abs() > NO_WEIGHT).sort("cluster", "moved", "weight", nulls_last=True)
    weight, above = pl.col("weight"), pl.col("weight") > 0
    halvings = (weight.abs().max().over(above) / weight.abs()).log(2) + 1e-9
    part = (weight.sign() * (halvings.floor() + 1)).rank("dense").cast(pl.Int64) - 1
    number = pl.Series("cluster", np.cumsum(cluster_begins(rows)) - 1)
    return rows.select("moved", "weight", part.alias("part"), number)


def _reduce(rows: pl.DataFrame) -> Parts:
    moved, weight, part = (rows[name].to_numpy() for name in ("moved", "weight", "part"))
    n, sums, squares = np.bincount(part), _summed(weight, part), _summed(weight**2, part)
    mean, size = _summed(weight * moved, part) / sums, _summed(weight * np.abs(moved), part) / sums
    off = moved - mean[part]
    spread = rows.with_columns(pl.Series("value", mean[part] + (n / sums)[part] * weight * off))
    share = sums**2 / (n * squares)
    found = moments(arrange_table(spread, "value", ["part"], "cluster").rows, "differences")
    found = found._replace(
        n=_left(found.n, share),
        clusters=_left(found.clusters, share),
        size=size,
        whole=_all(np.isin(moved, (-1.0, 0.0, 1.0)), part),
        bounded=_all(np.abs(moved) <= 1, part),
    )
    return Parts(found, sums, _correlations(weight * off, part, rows["cluster"].to_numpy()))


def _summed(values: Floats, part: Ints) -> Floats:
    return np.bincount(part, values).astype(np.float64)


def _all(holds: npt.NDArray[np.bool_], part: Ints) -> npt.NDArray[np.bool_]:
    return np.asarray(np.bincount(part, ~holds) == 0)


def _left(number: Ints, share: Floats) -> Ints:
    # The interval of a spread needs two of what it is the spread of.
    return np.asarray(np.maximum(np.floor(number * share + 1e-9).astype(np.int64), np.minimum(number, 2)))


def _correlations(off: Floats, part: Ints, cluster: Ints) -> Floats:
    """Correlate the parts by the clusters they share; a part without spread varies with no other."""
    shape = (int(part.max()) + 1, int(cluster.max()) + 1)
    by_cluster = np.bincount(part * shape[1] + cluster, off, minlength=shape[0] * shape[1]).reshape(shape)
    size = np.sqrt(np.sum(by_cluster**2, axis=1, keepdims=True))
    unit = np.divide(by_cluster, size, out=np.zeros(shape), where=size > NO_WEIGHT)
    together: Floats = unit @ unit.T
    np.fill_diagonal(together, 1.0)
    return together


def _ends(parts: Parts, value: float, level: float) -> Span:
    low, high, _ = intervals(parts.moments, level, "differences")
    above, weights, mean = parts.weights > 0, parts.weights, parts.moments.mean
    down, up = weights * (mean - np.where(above, low, high)), weights * (np.where(above, high, low) - mean)
    return Span(value - _length(down, parts.correlations), value + _length(up, parts.correlations))


def _length(steps: Floats, correlations: Floats) -> float:
    return float(np.sqrt(max(float(steps @ correlations @ steps), 0.0)))


def _leaves_out_zero(parts: Parts, value: float, alpha: float) -> bool:
    low, high = _ends(parts, value, 1 - alpha)
    return low > 0 or high < 0


def _flipped(rows: pl.DataFrame, parts: Parts, value: float) -> list[float]:
    """Test each part that is not t against the mean with which the sum would be 0."""
    needed = parts.moments.mean - value / parts.weights
    doubtful = (methods(parts.moments, "differences") != "t") & (np.abs(needed) <= 1 + 1e-9)
    own = (rows.filter(pl.col("part") == at) for at in np.flatnonzero(doubtful))
    return [sign_flip_p(part["weight"] * (part["moved"] - needed[part["part"][0]]), part["cluster"]) for part in own]
