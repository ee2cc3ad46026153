"""Lists of numbers laid end to end, as kernels take them."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]


class Lists(NamedTuple):
    """List i stands at starts[i] up to starts[i + 1]."""

    starts: Int64s
    items: Int32s


def lay_out(words: pl.Series) -> Lists:
    """Lay lists of texts out, each text as its place in the alphabet of all."""
    long = words.explode(empty_as_null=False, keep_nulls=False)
    known = long.unique().sort()
    return Lists(
        starts_of(words.list.len().fill_null(0).to_numpy()), known.search_sorted(long).to_numpy().astype(np.int32)
    )


def flatten(texts: pl.Series) -> Lists:
    """Lay texts out as lists of bytes."""
    data = np.frombuffer(str(texts.str.join("").item()).encode(), np.uint8)
    return Lists(starts_of(texts.str.len_bytes().to_numpy()), data.astype(np.int32))


def group(keys: NDArray[np.integer], items: NDArray[np.integer], n: int) -> Lists:
    """Lay items out by their keys 0 to n - 1, which are sorted."""
    return Lists(starts_of(np.bincount(keys, minlength=n)), items.astype(np.int32))


def starts_of(lengths: NDArray[np.integer]) -> Int64s:
    """Sum up where lists of these lengths start, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
