"""Compare weighted sums of scores of two models in pairs, such as gaps, drops or means over sets.

With d_i the difference of the scores of row i and w_i its weight, of either sign, the difference of the sums is
sum_i w_i d_i. As a mean of contributions (see `paired`) it reflects how many rows there are in all, not how few of them
carry it: a set of one row counts as certain. So rows of one sign whose weights agree within a factor of two are a
part, with the interval that a paired difference of that part would have (see `intervals`), its numbers of rows and
clusters multiplied by (sum w)^2 / (n sum w^2), which is 8/9 or more. Where all of these are t, the contributions are to
be trusted. Else the interval is combined from those of the parts, as in `unpaired`: with W_k the weight of a part
and R_kl the correlation between W_k mean_k and W_l mean_l due to shared clusters,

    low = value - sqrt(sum_kl R_kl down_k down_l)        down_k = W_k (mean_k - low_k), or by high_k where W_k < 0

and high alike; it is never inside that of the contributions. p is the largest of that of the contributions, of the
smallest 1 - level at which the interval of the parts excludes 0, and of that of each part that is not t: the signs of
its clusters are flipped about the mean it would need for a sum of 0, if such a mean is possible. Hence a part of
one row decides nothing, and a part of five not much.
"""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from eyechart.statistics.intervals import Moments, intervals, join_moments, methods, moments
from eyechart.statistics.paired import Difference, differences, sign_flip_ps
from eyechart.statistics.proportions import Interval
from eyechart.statistics.rows import Bools, Clusters, Floats, Ints, arrange, check_share, keys, numbers
from eyechart.statistics.unpaired import p_by_inversion

NO_WEIGHT = 1e-15  # rounding error where weights cancel


class WeightedParts(NamedTuple):
    """The parts of a sum: moments of their differences, weights in the sum, and their correlations."""

    moments: Moments
    weights: Floats
    correlations: Floats
    about_zero: list[Floats]  # of each part to be tested, by cluster: the residuals about the mean it would need


class WeightedRows(NamedTuple):
    """The rows with a weight, and the numbers of their part and their cluster."""

    moved: Floats
    weight: Floats
    part: Ints
    cluster: Ints

    @classmethod
    def sort(cls, moved: Floats, weights: Floats, clusters: Clusters | None) -> Self:
        """Sort the rows with a weight, and number their parts."""
        kept = np.abs(weights) > NO_WEIGHT
        rows = arrange((moved[kept], weights[kept]), keys(clusters, moved.size).filter(pl.Series(kept)))
        moved, weight = rows.columns
        size, above = np.abs(weight), weight > 0
        largest = np.where(above, size.max(where=above, initial=0), size.max(where=~above, initial=0))
        halvings = np.floor(np.log2(largest / size) + 1e-9)
        part = np.unique(np.sign(weight) * (halvings + 1), return_inverse=True)[1]
        cluster = np.repeat(np.arange(rows.clusters.size), np.diff(rows.clusters, append=moved.size))
        return cls(moved, weight, part, cluster)

    def part_moments(self, sums: Floats, off: Floats) -> Moments:
        """Compute the moments of each part, with rows and clusters reduced for unequal weights."""
        part, moved = self.part, self.moved
        n, squares = np.bincount(part), _summed(self.weight**2, part)
        mean, size = (_summed(self.weight * values, part) / sums for values in (moved, np.abs(moved)))
        share = sums**2 / (n * squares)
        m = moments(arrange((mean[part] + (n / sums)[part] * off,), self.cluster, part), "differences")
        return m._replace(
            n=_left(m.n, share),
            clusters=_left(m.clusters, share),
            size=size,
            whole=_all(np.isin(moved, (-1.0, 0.0, 1.0)), part),
            bounded=_all(np.abs(moved) <= 1, part),
        )

    def correlations(self, off: Floats) -> Floats:
        """Correlate the parts by the clusters they share; a part without spread correlates with no other."""
        shape = (int(self.part.max()) + 1, int(self.cluster.max()) + 1)
        cell = self.part * shape[1] + self.cluster
        by_cluster = np.bincount(cell, off, minlength=shape[0] * shape[1]).reshape(shape)
        size = np.sqrt(np.sum(by_cluster**2, axis=1, keepdims=True))
        unit = np.divide(by_cluster, size, out=np.zeros(shape), where=size > NO_WEIGHT)
        together: Floats = unit @ unit.T
        np.fill_diagonal(together, 1.0)
        return together

    def about(self, part: int, mean: float) -> Floats:
        """Sum a part's deviations from a mean by cluster."""
        own = self.part == part
        return _summed(self.weight[own] * (self.moved[own] - mean), self.cluster[own])


class JoinedParts(NamedTuple):
    """The concatenated parts of several sums: the sum each belongs to, and all pairs of parts of the same sum."""

    values: Floats  # of the sums
    moments: Moments
    weights: Floats
    of: Ints
    first: Ints
    second: Ints
    correlations: Floats

    @classmethod
    def join(cls, values: Sequence[float], parts: Sequence[WeightedParts]) -> Self:
        """Concatenate the parts of all sums."""
        sizes = [each.weights.size for each in parts]
        starts = np.cumsum([0, *sizes[:-1]])
        pairs = [start + np.indices((size, size)).reshape(2, -1) for start, size in zip(starts, sizes, strict=True)]
        first, second = np.concatenate(pairs, axis=1)
        return cls(
            values=np.array(values),
            moments=join_moments(each.moments for each in parts),
            weights=np.concatenate([each.weights for each in parts]),
            of=np.repeat(np.arange(len(parts)), sizes),
            first=first,
            second=second,
            correlations=np.concatenate([each.correlations.ravel() for each in parts]),
        )

    def interval(self, level: Floats) -> Interval:
        """Combine the intervals of the parts into those of the sums, each sum at its own level."""
        low, high, _ = intervals(self.moments, level[self.of], "differences")
        above, weights, mean = self.weights > 0, self.weights, self.moments.mean
        down, up = weights * (mean - np.where(above, low, high)), weights * (np.where(above, high, low) - mean)
        return Interval(self.values - self._lengths(down), self.values + self._lengths(up))

    def _lengths(self, steps: Floats) -> Floats:
        products = steps[self.first] * self.correlations * steps[self.second]
        return np.sqrt(np.maximum(_summed(products, self.of[self.first]), 0.0))

    def leaves_out_zero(self, alpha: Floats) -> Bools:
        """Return for each sum whether its interval at level 1 - alpha excludes 0."""
        low, high = self.interval(1 - alpha)
        return np.asarray((low > 0) | (high < 0))


def no_surer_than_parts(
    found: Difference,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    weights: npt.ArrayLike,
    clusters: Clusters | None = None,
    *,
    level: float = 0.95,
) -> Difference:
    """Widen a paired difference of two weighted sums of scores if few rows carry it."""
    check_share("level", level)
    parts = reduce_parts(found.value, a, b, weights, clusters)
    return found if parts is None else widen([found], [parts], level)[0]


def reduce_parts(
    value: float, a: npt.ArrayLike, b: npt.ArrayLike, weights: npt.ArrayLike, clusters: Clusters | None = None
) -> WeightedParts | None:
    """Reduce sums that differ by `value` to their parts; return None if their contributions can be trusted."""
    rows = WeightedRows.sort(differences(a, b), numbers(weights, "weights"), clusters)
    if not rows.part.size:
        return None
    sums = _summed(rows.weight, rows.part)
    deviations = rows.weight * (rows.moved - (_summed(rows.weight * rows.moved, rows.part) / sums)[rows.part])
    m = rows.part_moments(sums, deviations)
    method = methods(m, "differences")
    if (method == "t").all() or (method == "none").any():
        return None
    needed = m.mean - value / sums
    tested = np.flatnonzero((method != "t") & (np.abs(needed) <= 1 + 1e-9)).tolist()
    return WeightedParts(m, sums, rows.correlations(deviations), [rows.about(part, needed[part]) for part in tested])


def widen(found: Sequence[Difference], parts: Sequence[WeightedParts], level: float = 0.95) -> list[Difference]:
    """Compute `no_surer_than_parts` of each, all at once."""
    if not found:
        return []
    joined = JoinedParts.join([it.value for it in found], parts)
    low, high = joined.interval(np.full(len(found), level))
    inverted = p_by_inversion(joined.leaves_out_zero, len(found))
    flipped = iter(sign_flip_ps([totals for each in parts for totals in each.about_zero]))
    return [
        it._replace(
            low=min(it.low, float(low[index])),
            high=max(it.high, float(high[index])),
            p=max(it.p, float(inverted[index]), *islice(flipped, len(parts[index].about_zero))),
            method="mover",
        )
        for index, it in enumerate(found)
    ]


def _summed(values: Floats, part: Ints) -> Floats:
    return np.bincount(part, values).astype(np.float64)


def _all(holds: Bools, part: Ints) -> Bools:
    return np.asarray(np.bincount(part, ~holds) == 0)


def _left(number: Ints, share: Floats) -> Ints:
    # The interval of a spread needs at least two values.
    return np.asarray(np.maximum(np.floor(number * share + 1e-9).astype(np.int64), np.minimum(number, 2)))
