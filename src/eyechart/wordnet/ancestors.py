"""All ancestors of every noun, with the shortest way to each."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Bytes = NDArray[np.uint8]


class Ladder(NamedTuple):
    """Where each noun leads to: its ancestors, itself among them, in the order of their numbers."""

    starts: Int64s
    ancestors: Int32s
    distances: Bytes
    min_depths: Bytes  # steps from the noun to the root, along the shortest way
    max_depths: Bytes  # and along the longest
    climbs: Bytes  # steps to a root put above all: one more than to the farthest ancestor


def climb(starts: Int64s, hypernyms: Int32s, min_depths: Bytes, max_depths: Bytes) -> Ladder:
    """Walk up from all nouns at once, a step at a time; the first arrival at an ancestor is the shortest."""
    n = len(starts) - 1
    noun, at = np.arange(n, dtype=np.int64), np.arange(n, dtype=np.int64)
    steps = [noun * n + at]
    while len(noun):
        widths = starts[at + 1] - starts[at]
        ends = np.cumsum(widths)
        places = np.arange(widths.sum()) - np.repeat(ends - widths, widths) + np.repeat(starts[at], widths)
        noun, at = np.repeat(noun, widths), hypernyms[places].astype(np.int64)
        steps.append(noun * n + at)
    distances = np.repeat(np.arange(len(steps)), [len(step) for step in steps])
    keys, first = np.unique(np.concatenate(steps), return_index=True)
    begins = np.searchsorted(keys, np.arange(n + 1) * n)
    shortest = distances[first].astype(np.uint8)
    climbs = np.maximum.reduceat(shortest, begins[:-1]) + np.uint8(1)
    return Ladder(begins, (keys % n).astype(np.int32), shortest, min_depths, max_depths, climbs)
