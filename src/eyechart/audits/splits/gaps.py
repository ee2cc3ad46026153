"""Means over sets, drops and gaps: weighted sums of scores, each with per-example contributions and an interval.

Means over overlapping test sets, and drops
    With x_i the score of example i, and S_1 ... S_k test sets of sizes n_c, which together hold n examples, the mean of
    the sets' means is linear in these, each contributing

        value + n / k sum_c [i in S_c] (x_i - mean_c) / n_c

    whose mean is the value and whose clustered spread is that of the value (its influence function; sizes are taken as
    known). Such a column can be paired between models example by example. A drop is the mean of all minus that value,
    to which all examples contribute: there n is their number.

Gaps: head against tail within strata, so that like is compared with like
    A tail also differs from all examples, and from its head, in what is asked: it may have fewer yes/no questions,
    which even guessing gets right half of the time. So head and tail are compared within strata s; with t_i = 1 in the
    tail,

        gap = - sum_i (t_i - t_s) x_i / sum_i (t_i - t_s)^2

    the coefficient of t in a regression of the scores on t with an effect for each stratum. Its interval is clustered:

    gap, c           strata are the groups of c, by question type: the same concept, a frequent and a rare answer
    matched gap, c   strata are question type and answer (the answer alone for QT): the same answer, frequent under one
                     concept and rare under another. It excludes what a model loses on rare answers as such.
    pooled gap       all gaps as one: the examples of all concepts stacked, strata also by concept

Intervals
    The weights of a mean over sets sum to 1, those of a drop or a gap to 0. With s the sum of the weights above 0, a
    sum of the second kind is a difference of two weighted means:

        sum_i w_i x_i = s (mean of the examples with w > 0 - mean of those with w < 0)

    Its interval is the t interval of its contributions if both means would have t intervals too. If one of them rests
    on few clusters or few mistakes, contributions vary too little and reflect only the total number of examples. Then
    the interval is combined from those of the two means (see `unpaired`), and a mean over sets has its own: that of a
    plain mean (see `intervals`) whose numbers of rows and clusters are multiplied by (sum w)^2 / (n sum w^2)
    (Kish 1965).
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import polars as pl
import scipy

from eyechart.statistics import Difference, Estimate
from eyechart.statistics.intervals import Moments, methods, moments
from eyechart.statistics.means import estimate
from eyechart.statistics.rows import Bools, Floats, Ints, arrange
from eyechart.statistics.unpaired import Contrast, contrast, summarise

LEVEL = 0.95
NO_WEIGHT = 1e-15  # rounding error where weights cancel
LEAST = 20  # effective examples of a gap
DIGITS = 12  # to which contributions are rounded, so that equal scores leave exactly nothing


class WeightedSum(NamedTuple):
    """The weight of each example in a sum, and contributions whose mean is the sum, NaN where an example has none."""

    weights: Floats
    contributions: Floats


def set_mean(scores: Floats, sets: Sequence[Bools]) -> Floats:
    """Compute the contribution of each example to the mean over sets, NaN where it is in none; no set may be empty."""
    in_any = np.logical_or.reduce(sets)
    return np.where(in_any, _set_contributions(scores, sets, int(in_any.sum())), np.nan)


def drop_from_all(scores: Floats, sets: Sequence[Bools]) -> Floats:
    """Compute the contribution of each example to the mean of all minus the mean over sets."""
    return scores - _set_contributions(scores, sets, len(scores))


def set_weights(sets: Sequence[Bools]) -> Floats:
    """Compute the weight of each example in the mean over sets."""
    return np.asarray(np.mean([inside / inside.sum() for inside in sets], axis=0))


def _set_contributions(scores: Floats, sets: Sequence[Bools], n: int) -> Floats:
    means = np.array([scores[inside].mean() for inside in sets])
    off = [np.where(inside, scores - mean, 0.0) / inside.sum() for inside, mean in zip(sets, means, strict=True)]
    return np.asarray(means.mean() + n * np.mean(off, axis=0))


class Sides(NamedTuple):
    """Scores of examples in head (0) or tail (1), and the stratum of each."""

    scores: Floats
    tail: Floats
    strata: Ints


def gap_contributions(sides: Sides) -> Floats | None:
    """Compute the contribution of each example to the gap, their mean; NaN where its stratum has one side only.

    Return None where the gap would rest on fewer than LEAST effective examples, (sum w)^2 / sum w^2 with
    w = (t_i - t_s)^2: the intervals of such gaps were too short in simulations.
    """
    off_tail = _off_tail(sides)
    used = off_tail != 0
    n, effects = int(used.sum()), len(np.unique(sides.strata[used])) + 1
    if n <= effects or np.sum(off_tail**2) ** 2 < LEAST * np.sum(off_tail**4):
        return None
    # Strata of two or three examples leave small residuals: as many degrees of freedom are lost as effects are fitted.
    correction = np.sqrt((n - 1) / (n - effects))
    total = float(np.sum(off_tail**2))
    value = float(-np.sum(off_tail * sides.scores) / total)
    residuals = np.round(sides.scores - _stratum_means(sides.scores, sides.strata) + value * off_tail, DIGITS)
    return np.where(used, np.round(value, DIGITS) - n * correction * off_tail * residuals / total, np.nan)


def gap_weights(sides: Sides) -> Floats:
    """Compute the weight of each example in the gap: above 0 in the head, below 0 in the tail."""
    off_tail = _off_tail(sides)
    return np.asarray(-off_tail / np.sum(off_tail**2))


def number_strata(rows: pl.DataFrame, columns: list[str]) -> Ints:
    """Assign a number to each distinct combination of columns."""
    return rows.select(pl.struct(columns).rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()


def _off_tail(sides: Sides) -> Floats:
    return sides.tail - _stratum_means(sides.tail, sides.strata)


def _stratum_means(values: Floats, strata: Ints) -> Floats:
    sizes = np.bincount(strata)
    return np.asarray((np.bincount(strata, weights=values) / np.maximum(sizes, 1))[strata])


class WeightedScores(NamedTuple):
    """The examples behind a weighted mean: their scores, weights that sum to 1, and clusters."""

    scores: Floats
    weights: Floats
    clusters: pl.Series

    @classmethod
    def above_zero(cls, weights: Floats, rows: pl.DataFrame) -> Self:
        """Keep the rows whose weight is above 0."""
        positive = weights > NO_WEIGHT
        part, own = rows.filter(pl.Series(positive)), weights[positive]
        return cls(part["accuracy"].to_numpy(), own / own.sum(), part["cluster"])

    def contributions(self) -> Floats:
        """Compute the contribution of each example to the mean."""
        value = np.sum(self.weights * self.scores)
        return np.asarray(value + self.weights.size * self.weights * (self.scores - value))

    def moments(self) -> Moments:
        """Estimate the moments of the mean."""
        return self.as_scores(moments(arrange((self.contributions(),), self.clusters), "scores"))

    def as_scores(self, of_mean: Moments) -> Moments:
        """Convert moments of contributions to those of the effective number of scores under unequal weights."""
        share = float(1 / (self.weights.size * np.sum(self.weights**2)))
        n, clusters = (_effective(number, share) for number in (of_mean.n, of_mean.clusters))
        whole = np.array([np.isin(self.scores, (0.0, 1.0)).all()])
        bounded = np.array([((self.scores >= 0) & (self.scores <= 1)).all()])
        return of_mean._replace(n=n, clusters=clusters, whole=whole, bounded=bounded)

    def is_trusted(self) -> bool:
        """Return whether the mean has a t interval."""
        return str(methods(self.moments(), "scores")[0]).startswith("t")


class ScaledContrast(NamedTuple):
    """Two weighted means to compare, and the factor of their difference."""

    means: Contrast
    factor: float


def mean_of_rows(weights: Floats, rows: pl.DataFrame, spread: Estimate) -> Estimate:
    """Estimate a weighted mean by its contributions, whose estimate is `spread`, or by its examples."""
    scores = WeightedScores.above_zero(weights, rows)
    if scores.is_trusted():
        return spread
    own = estimate(scores.moments(), LEVEL, "scores")
    return own._replace(value=spread.value, n=spread.n, clusters=spread.clusters)


def doubtful_sides(weights: Floats, rows: pl.DataFrame) -> ScaledContrast | None:
    """Contrast the two sides of a difference if its contributions cannot be trusted, else return None."""
    above, below = (WeightedScores.above_zero(each, rows) for each in (weights, -weights))
    if not above.scores.size or not below.scores.size or (above.is_trusted() and below.is_trusted()):
        return None
    means = contrast((above.contributions(), below.contributions()), (above.clusters, below.clusters))
    means = means._replace(a=above.as_scores(means.a), b=below.as_scores(means.b))
    return ScaledContrast(means, float(weights[weights > 0].sum()))


def difference_of_sides(sides: ScaledContrast | None, spread: Estimate, level: float = LEVEL) -> Difference:
    """Estimate a difference by its doubtful sides, or if it has none by its contributions: `spread`."""
    if sides is not None:
        of_means = summarise(sides.means, level)
        if of_means.method != "none":
            low, high, se = (number * sides.factor for number in (of_means.low, of_means.high, of_means.se))
            return Difference(spread.value, low, high, spread.n, spread.clusters, of_means.p, of_means.method, se)
    value, low, high, n, clusters, method, se = spread
    return Difference(value, low, high, n, clusters, _p(spread), method, se)


def _effective(number: Ints, share: float) -> Ints:
    # The interval of a spread needs two of what it is the spread of.
    return np.asarray(np.maximum(np.floor(number * share + 1e-9).astype(np.int64), np.minimum(number, 2)))


def _p(mean: Estimate) -> float:
    """Compute the p-value of the clustered t test; NaN where there is no spread."""
    return 2 * float(scipy.special.stdtr(mean.clusters - 1, -abs(mean.value) / mean.se)) if mean.se > 0 else np.nan
