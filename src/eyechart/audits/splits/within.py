"""Head against tail within strata, so that like is compared with like.

A tail differs from all examples, and from its head, also in what is asked: it may hold fewer yes/no questions, which
even a guesser gets right half of the time. So head and tail are compared within strata s; with t_i = 1 in the tail,

    gap = - sum_i (t_i - t_s) x_i / sum_i (t_i - t_s)^2

the coefficient of t in a regression of the scores on t with an effect for each stratum. Its interval is clustered, see
`weighted`:

gap, c           strata are the groups of c, by question type: the same concept, a frequent and a rare answer
matched gap, c   strata are question type and answer (the answer alone for QT): the same answer, frequent under one
                 concept and rare under another. What a model loses on rare answers as such is not in it.
pooled gap       all gaps as one: the examples of all concepts under each other, strata by concept too
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.statistics.rows import Floats, Ints

LEAST = 20
DIGITS = 12  # to which contributions are rounded, so that equal scores leave exactly nothing


class Sides(NamedTuple):
    """Scores of examples in head (0) or tail (1), and the stratum of each."""

    scores: Floats
    tail: Floats
    strata: Ints


def gap_contributions(sides: Sides) -> Floats | None:
    """Give each example its contribution, the mean of which is the gap; NaN where its stratum has one side only.

    None where it would rest on fewer than LEAST effective examples, (sum w)^2 / sum w^2 with w = (t_i - t_s)^2: the
    intervals of such were too short in simulations.
    """
    off_tail = _off_tail(sides)
    used = off_tail != 0
    n, effects = int(used.sum()), len(np.unique(sides.strata[used])) + 1
    if n <= effects or np.sum(off_tail**2) ** 2 < LEAST * np.sum(off_tail**4):
        return None
    # Strata of two or three examples leave small residuals: as many degrees of freedom are lost as effects are fitted.
    lost = np.sqrt((n - 1) / (n - effects))
    whole = float(np.sum(off_tail**2))
    value = float(-np.sum(off_tail * sides.scores) / whole)
    residuals = np.round(sides.scores - _means(sides.scores, sides.strata) + value * off_tail, DIGITS)
    return np.where(used, np.round(value, DIGITS) - n * lost * off_tail * residuals / whole, np.nan)


def gap_weights(sides: Sides) -> Floats:
    """Give each example its weight in the gap: above 0 in the head, below 0 in the tail."""
    off_tail = _off_tail(sides)
    return np.asarray(-off_tail / np.sum(off_tail**2))


def number_strata(rows: pl.DataFrame, columns: list[str]) -> Ints:
    """Give each different combination of columns a number."""
    return rows.select(pl.struct(columns).rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()


def _off_tail(sides: Sides) -> Floats:
    return sides.tail - _means(sides.tail, sides.strata)


def _means(values: Floats, strata: Ints) -> Floats:
    sizes = np.bincount(strata)
    return np.asarray((np.bincount(strata, weights=values) / np.maximum(sizes, 1))[strata])
