"""Weighted sums of scores: a mean over sets, whose weights sum to 1, a drop or a gap, whose weights sum to 0.

With s the sum of the weights above 0, a sum of the second kind is a difference of two weighted means:

    sum_i w_i x_i = s (mean of the examples with w > 0 - mean of those with w < 0)

Its interval is that of its contributions, t, where both means would have t intervals too. Where one of them rests on
few clusters or few mistakes, contributions spread too little, and know only how many examples there are in all. There
the interval is put together from those of the two means (see `unpaired`), and a mean over sets has its own: that of a
plain mean (see `intervals`) whose numbers of rows and clusters are multiplied by (sum w)^2 / (n sum w^2) (Kish 1965).
"""

from typing import NamedTuple

import numpy as np
import polars as pl
import scipy

from eyechart.statistics import Difference, Estimate
from eyechart.statistics.intervals import methods
from eyechart.statistics.means import estimate
from eyechart.statistics.moments import Moments, moments
from eyechart.statistics.rows import Floats, Ints, arrange
from eyechart.statistics.unpaired import Contrast, contrast, summarise

LEVEL = 0.95
NO_WEIGHT = 1e-15  # what rounding leaves where weights cancel


class Linear(NamedTuple):
    """The weight of each example in a sum, and contributions whose mean is the sum, NaN where an example has none."""

    weights: Floats
    contributions: Floats


class Side(NamedTuple):
    """Examples that a weighted mean rests on: their scores, weights that sum to 1, and clusters."""

    scores: Floats
    weights: Floats
    clusters: pl.Series


class Pair(NamedTuple):
    """Two weighted means set against each other, and the factor of their difference."""

    means: Contrast
    factor: float


def mean_of_rows(weights: Floats, rows: pl.DataFrame, spread: Estimate) -> Estimate:
    """Estimate a weighted mean by its contributions, whose estimate is `spread`, or by the examples it rests on."""
    own = _own_moments(_side(weights, rows))
    if _trusted(own):
        return spread
    found = estimate(own, LEVEL, "scores")
    return found._replace(value=spread.value, n=spread.n, clusters=spread.clusters)


def doubtful_sides(weights: Floats, rows: pl.DataFrame) -> Pair | None:
    """Set the two sides of a difference against each other where its contributions are not to be trusted."""
    above, below = _side(weights, rows), _side(-weights, rows)
    if not above.scores.size or not below.scores.size or all(_trusted(_own_moments(side)) for side in (above, below)):
        return None
    means = contrast((_contributions(above), _contributions(below)), (above.clusters, below.clusters))
    means = means._replace(a=_of_scores(means.a, above), b=_of_scores(means.b, below))
    return Pair(means, float(weights[weights > 0].sum()))


def difference_of_sides(pair: Pair | None, spread: Estimate, level: float = LEVEL) -> Difference:
    """Estimate a difference by its doubtful sides, or where it has none by its contributions: `spread`."""
    if pair is not None:
        found = summarise(pair.means, level)
        if found.method != "none":
            low, high, se = (number * pair.factor for number in (found.low, found.high, found.se))
            return Difference(spread.value, low, high, spread.n, spread.clusters, found.p, found.method, se)
    value, low, high, n, clusters, method, se = spread
    return Difference(value, low, high, n, clusters, _p(spread), method, se)


def _side(weights: Floats, rows: pl.DataFrame) -> Side:
    inside = weights > NO_WEIGHT
    part, own = rows.filter(pl.Series(inside)), weights[inside]
    return Side(part["accuracy"].to_numpy(), own / own.sum(), part["cluster"])


def _contributions(side: Side) -> Floats:
    value = np.sum(side.weights * side.scores)
    return np.asarray(value + side.weights.size * side.weights * (side.scores - value))


def _own_moments(side: Side) -> Moments:
    return _of_scores(moments(arrange((_contributions(side),), side.clusters), "scores"), side)


def _of_scores(found: Moments, side: Side) -> Moments:
    """Make the moments of contributions those of scores, as many as unequal weights leave."""
    share = float(1 / (side.weights.size * np.sum(side.weights**2)))
    n, clusters = (_left(number, share) for number in (found.n, found.clusters))
    whole = np.array([np.isin(side.scores, (0.0, 1.0)).all()])
    bounded = np.array([((side.scores >= 0) & (side.scores <= 1)).all()])
    return found._replace(n=n, clusters=clusters, whole=whole, bounded=bounded)


def _left(number: Ints, share: float) -> Ints:
    # The interval of a spread needs two of what it is the spread of.
    return np.asarray(np.maximum(np.floor(number * share + 1e-9).astype(np.int64), np.minimum(number, 2)))


def _trusted(m: Moments) -> bool:
    return str(methods(m, "scores")[0]).startswith("t")


def _p(found: Estimate) -> float:
    """Give the p-value of the clustered t test; NaN where there is no spread."""
    return 2 * float(scipy.special.stdtr(found.clusters - 1, -abs(found.value) / found.se)) if found.se > 0 else np.nan
