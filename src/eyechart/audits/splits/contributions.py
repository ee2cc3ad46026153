"""Means over overlapping test sets, and drops, as per-example columns.

With x_i the score of example i, and S_1 ... S_k test sets of sizes n_c, which together hold n examples, the mean of the
sets' means is linear in these, each contributing

    value + n / k sum_c [i in S_c] (x_i - mean_c) / n_c

whose mean is the value and whose spread, clustered, is that of the value (its influence function; sizes are taken as
known). Such a column can be paired between models example by example. A drop is the mean of all less that value, to
which all examples contribute: there n is their number.
"""

from collections.abc import Sequence

import numpy as np

from eyechart.statistics.rows import Bools, Floats


def set_mean(scores: Floats, sets: Sequence[Bools]) -> Floats:
    """Give each example its contribution to the mean over sets, NaN where it is in none; no set may be empty."""
    inside = np.logical_or.reduce(sets)
    return np.where(inside, _contributions(scores, sets, int(inside.sum())), np.nan)


def drop_from_all(scores: Floats, sets: Sequence[Bools]) -> Floats:
    """Give each example its contribution to the mean of all less the mean over sets."""
    return scores - _contributions(scores, sets, len(scores))


def set_weights(sets: Sequence[Bools]) -> Floats:
    """Give each example its weight in the mean over sets."""
    return np.asarray(np.mean([inside / inside.sum() for inside in sets], axis=0))


def _contributions(scores: Floats, sets: Sequence[Bools], n: int) -> Floats:
    means = np.array([scores[inside].mean() for inside in sets])
    off = [np.where(inside, scores - mean, 0.0) / inside.sum() for inside, mean in zip(sets, means, strict=True)]
    return np.asarray(means.mean() + n * np.mean(off, axis=0))
