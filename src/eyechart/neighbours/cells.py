"""Vectors sorted into cells, and the search of the nearest cells for very many vectors at once.

A library's index takes the vectors one by one. Here a block of them meets each cell as one product of matrices, the
members of the cell against all vectors of the block that search it, which is several times as fast. The nearest cells
come first: once they are through, hardly anything in the others is near enough to be kept.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from eyechart.engines.local import Local
from eyechart.kernels import kernel
from eyechart.neighbours.blocks import ROW, Places, answer, cut, join
from eyechart.neighbours.vectors import Vectors
from eyechart.protocols import Engine

FIRST = 8  # cells that are searched before the others
Ints = NDArray[np.int32]
Floats = NDArray[np.float32]


class Found(NamedTuple):
    """What is nearest to each vector, in no order: similarities, and the numbers of the vectors (-1: none)."""

    alike: Floats
    places: Ints


class Cells(NamedTuple):
    """The vectors by cell: cell c has the members from starts[c] to starts[c + 1]."""

    vectors: Vectors
    members: Ints
    starts: NDArray[np.int64]
    centres: Any  # faiss's index of the centres

    @property
    def n(self) -> int:
        """Count the cells."""
        return len(self.starts) - 1

    def search(self, asked: Vectors, k: int, wide: int) -> Found:
        """Find the k nearest in the `wide` nearest cells of each vector, on one thread."""
        found = Found(np.full((len(asked), k), -np.inf, np.float32), np.full((len(asked), k), -1, np.int32))
        with threadpool_limits(1, "blas"):  # sharing a product among threads would be slower for small cells
            nearest = self.centres.search(asked, wide)[1].astype(np.int32)
            for part in (nearest[:, :FIRST], nearest[:, FIRST:]):
                for cell, rows in by_cell(part):
                    # A copy, since what other processes share is read-only, which is another type to Numba.
                    members = self.members[self.starts[cell] : self.starts[cell + 1]].copy()
                    keep_nearest(found.alike, found.places, rows, members, asked[rows] @ self.vectors[members].T)
        return found


@dataclass(frozen=True)
class CellSearch:
    """Find the nearest of the cells' own vectors; an index cannot be sent, so each process makes it of the centres."""

    cells: Cells  # without the index
    centres: Vectors
    k: int
    wide: int

    @cached_property
    def _cells(self) -> Cells:
        import faiss

        index = faiss.IndexFlatIP(self.centres.shape[1])
        index.add(self.centres)
        return self.cells._replace(centres=index)

    def __call__(self, block: pl.DataFrame) -> pl.DataFrame:
        """Search for the vectors of a block."""
        found = self._cells.search(self.cells.vectors[block[ROW].to_numpy()], self.k, self.wide)
        return answer(block, -found.alike, found.places)


def search_all(cells: Cells, k: int, wide: int, engine: Engine) -> Places:
    """Search for all vectors; in this process each thread has a block."""
    n = len(cells.vectors)
    step = CellSearch(cells._replace(centres=None), cells.centres.reconstruct_n(0, cells.n), k, wide)
    if not isinstance(engine, Local):
        return join(engine.map(step, cut(n)), n, k)
    # The limit holds for the whole process: the block that is done first must not lift it for the others.
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        return join(pool.map(step, cut(n)), n, k)


def make_cells(faiss: Any, vectors: Vectors) -> Cells:  # noqa: ANN401 - faiss has no types
    """Let k-means find the cells."""
    n = int(4 * np.sqrt(len(vectors)))
    means = faiss.Kmeans(vectors.shape[1], n, niter=10, spherical=True, max_points_per_centroid=64)
    means.train(vectors)
    own = means.index.search(vectors, 1)[1][:, 0]
    members = np.argsort(own, kind="stable").astype(np.int32)
    return Cells(vectors, members, np.searchsorted(own[members], np.arange(n + 1)), means.index)


def by_cell(nearest: Ints) -> Iterator[tuple[int, Ints]]:
    """Turn the cells of each row into the rows of each cell."""
    flat = nearest.ravel()
    order = np.argsort(flat, kind="stable")
    cells, starts = np.unique(flat[order], return_index=True)
    rows = (order // max(nearest.shape[1], 1)).astype(np.int32)
    for cell, some in zip(cells.tolist(), np.split(rows, starts[1:]), strict=False):
        if cell >= 0:  # what faiss did not find
            yield cell, some


@kernel
def keep_nearest(alike: Floats, places: Ints, rows: Ints, members: Ints, found: Floats) -> None:
    """Put the members that are nearer than the farthest kept one into its place; rows of `alike` are heaps of the k."""
    k = alike.shape[1]
    for i in range(len(rows)):
        heap, named = alike[rows[i]], places[rows[i]]
        for j in range(len(members)):
            new = found[i, j]
            if new <= heap[0]:
                continue
            at, child = 0, 1
            while child < k:
                if child + 1 < k and heap[child + 1] < heap[child]:
                    child += 1
                if heap[child] >= new:
                    break
                heap[at], named[at] = heap[child], named[child]
                at, child = child, 2 * child + 1
            heap[at], named[at] = new, members[j]
