"""Vectors by blocks that any engine can search: what is nearest comes back under the numbers of the vectors."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

AT_ONCE = 20_000  # vectors of a block
ROW, PLACES = "row", "places"

Places = NDArray[np.int32]


def cut(n: int) -> Iterator[pl.DataFrame]:
    """Give n vectors their numbers, a block at a time."""
    for at in range(0, n, AT_ONCE):
        yield pl.DataFrame({ROW: np.arange(at, min(at + AT_ONCE, n), dtype=np.int32)})


def in_order(distances: NDArray[Any], places: NDArray[Any]) -> Places:
    """Put equally near ones in the order of their numbers; what was not found (-1) stays at the end."""
    order = np.lexsort((places, distances, places < 0), axis=1)
    return np.take_along_axis(places, order, axis=1).astype(np.int32)


def answer(block: pl.DataFrame, distances: NDArray[Any], places: NDArray[Any]) -> pl.DataFrame:
    """Say what was found for the vectors of a block."""
    return block.with_columns(pl.Series(PLACES, in_order(distances, places)))


def join(answers: Iterable[pl.DataFrame], n: int, k: int) -> Places:
    """Put the answers for n vectors at their places, in whatever order they come."""
    places = np.empty((n, k), np.int32)
    for found in answers:
        places[found[ROW].to_numpy()] = found[PLACES].to_numpy()
    return places
