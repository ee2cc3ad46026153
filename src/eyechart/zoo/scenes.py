"""Features of the planted world's objects: codes of label, colour, size and action under noise, and where they stand.

    v = one-hot(label) + one-hot(colour) + one-hot(size) + one-hot(action) side by side, + sd * N(0, 1); then the box

The noise of an image is a function of its key alone, so that an image looks the same in every dataset it occurs in.
NumPy alone.
"""

from collections.abc import Sequence

import numpy as np

from eyechart.zoo.arrays import Array, Regions

NOISE = 0.1  # standard deviation


def make_regions(codes: Array, keys: Array, boxes: Array, sizes: Sequence[int], noise: float = NOISE) -> Regions:
    """Make features from codes [I, N, parts] (-1: the object lacks the part, all -1: no object) and boxes [I, N, 4].

    `sizes` says how many codes each part has, `keys` [I] are whole numbers that decide the noise.
    """
    there = (codes >= 0).any(-1)  # [I, N]
    starts = np.concatenate([[0], np.cumsum(there.sum(1))]).astype(np.int64)
    shown = codes[there]  # [R, parts]
    hot = np.zeros((len(shown), sum(sizes)), np.float32)
    for at, start in enumerate(np.cumsum([0, *sizes])[:-1]):
        rows = np.flatnonzero(shown[:, at] >= 0)
        hot[rows, start + shown[rows, at]] = 1
    where = boxes[there].astype(np.float32)
    hot += np.float32(noise) * _noise(keys, there.sum(1), hot.shape[1])
    return Regions(np.concatenate([hot, where], axis=1), starts, where)


def _noise(keys: Array, counts: Array, width: int) -> Array:
    drawn = [
        np.random.Generator(np.random.Philox(key=int(key))).standard_normal((int(n), width), np.float32)
        for key, n in zip(keys, counts, strict=True)
    ]
    return np.concatenate([np.zeros((0, width), np.float32), *drawn])
