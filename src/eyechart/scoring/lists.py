"""Flatten columns of lists: all elements one after the other, each with the number of its row."""

from typing import NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray


class FlatLists(NamedTuple):
    """The elements of all lists of a column."""

    rows: NDArray[np.int64]  # of each element, ascending
    places: NDArray[np.int64]  # of each element inside its list, from 0
    values: pl.Series
    sizes: NDArray[np.int64]  # of each list, 0 where it is null

    @classmethod
    def flatten(cls, lists: pl.Series) -> Self:
        """Flatten lists; a null counts as an empty list."""
        sizes = lists.list.len().fill_null(0).cast(pl.Int64).to_numpy()
        rows = np.repeat(np.arange(len(sizes)), sizes)
        starts = np.cumsum(sizes) - sizes
        values = lists.filter(pl.Series(sizes > 0)).explode()
        return cls(rows, np.arange(len(rows)) - starts[rows], values, sizes)

    def count_where(self, holds: pl.Series) -> NDArray[np.int64]:
        """Count per row the elements for which `holds` is true; null counts as false."""
        return np.bincount(self.rows[holds.fill_null(value=False).to_numpy()], minlength=len(self.sizes))


def or_null(values: NDArray[np.float64], has_score: NDArray[np.bool_]) -> pl.Series:
    """Keep the values of rows that have a score, and set the others to null."""
    return pl.Series(np.where(has_score, values, np.nan)).fill_nan(None)
