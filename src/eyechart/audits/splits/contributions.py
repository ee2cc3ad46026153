"""Means over overlapping test sets, and drops, as per-example columns.

With x_i the score of example i of N, and S_1 ... S_k test sets of sizes n_c among them, the mean of the sets' means is
linear in the examples, each contributing

    value + N / k sum_c [i in S_c] (x_i - mean_c) / n_c

whose mean is the value and whose spread, clustered, is that of the value (its influence function; sizes are taken as
known). Such a column can be paired between models example by example. A drop is the mean of all less that value.
"""

from collections.abc import Sequence

import numpy as np

from eyechart.statistics.rows import Bools, Floats


def set_mean(scores: Floats, sets: Sequence[Bools]) -> Floats:
    """Give each example its contribution to the mean over sets; none may be empty."""
    means = np.array([scores[inside].mean() for inside in sets])
    off = [np.where(inside, scores - mean, 0.0) / inside.sum() for inside, mean in zip(sets, means, strict=True)]
    return np.asarray(means.mean() + len(scores) * np.mean(off, axis=0))


def drop_from_all(scores: Floats, sets: Sequence[Bools]) -> Floats:
    """Give each example its contribution to the mean of all less the mean over sets."""
    return scores - set_mean(scores, sets)
