"""All pairs compared by scikit-learn: for unit vectors the nearest by angle are the nearest by distance."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl
from threadpoolctl import threadpool_limits

from eyechart.neighbours.blocks import ROW, Places, answer, cut, join
from eyechart.neighbours.vectors import Vectors
from eyechart.protocols import Engine

ROWS_A_THREAD = 1_024  # of which scikit-learn wants more


@dataclass(frozen=True)
class ExactSearch:
    """Find the k nearest of some of the vectors among all of them."""

    vectors: Vectors
    k: int

    @cached_property
    def _index(self) -> Any:  # noqa: ANN401 - scikit-learn has no types
        from sklearn.neighbors import NearestNeighbors

        return NearestNeighbors(n_neighbors=self.k, algorithm="brute", metric="euclidean").fit(self.vectors)

    def __call__(self, block: pl.DataFrame) -> pl.DataFrame:
        """Search for the vectors of a block, with the same result on any number of threads."""
        # With fewer vectors for a thread, scikit-learn lets each thread search a part of all vectors instead, and the
        # number of threads decides which of equally near ones are found.
        threads = min(pl.thread_pool_size(), (block.height - 1) // ROWS_A_THREAD)
        index = self._index  # made before the limit: it loads the library to be limited
        with threadpool_limits(max(threads, 1), "openmp"):
            return answer(block, *index.kneighbors(self._asked(block)))

    def _asked(self, block: pl.DataFrame) -> Vectors:
        asked: Vectors = self.vectors[block[ROW].to_numpy()]
        return asked

    def run(self, engine: Engine) -> Places:
        """Search for all vectors."""
        n = len(self.vectors)
        return join(engine.map(self, cut(n)), n, self.k)
