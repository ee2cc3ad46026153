"""Sort vectors into cells, and search the nearest cells for very many vectors at once.

A library's index takes vectors one by one. Here a block of them is compared with each cell by one matrix product, the
members of the cell by all vectors of the block that search it, which is several times as fast. The nearest cells
come first: after them, hardly any member of the others is near enough to be kept.

Blocks contain numbers of vectors, so that any engine can search them; results are keyed by these numbers.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from eyechart.base.kernels import kernel
from eyechart.data.protocols import Engine
from eyechart.engines.local import Local
from eyechart.language.word_vectors import Vectors

AT_ONCE = 20_000  # vectors in a block
FIRST = 8  # cells searched before the others
ROW, PLACES = "row", "places"

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
Places = NDArray[np.int32]


def number_blocks(n: int) -> Iterator[pl.DataFrame]:
    """List the numbers of n vectors, in blocks."""
    for start in range(0, n, AT_ONCE):
        yield pl.DataFrame({ROW: np.arange(start, min(start + AT_ONCE, n), dtype=np.int32)})


def sort_neighbours(distances: NDArray[Any], places: NDArray[Any]) -> Places:
    """Sort neighbours by distance, equally near ones by number; missing ones (-1) stay at the end."""
    order = np.lexsort((places, distances, places < 0), axis=1)
    return np.take_along_axis(places, order, axis=1).astype(np.int32)


def with_neighbours(block: pl.DataFrame, distances: NDArray[Any], places: NDArray[Any]) -> pl.DataFrame:
    """Add the sorted neighbours of the vectors of a block."""
    return block.with_columns(pl.Series(PLACES, sort_neighbours(distances, places)))


def join_blocks(blocks: Iterable[pl.DataFrame], n: int, k: int) -> Places:
    """Collect the neighbours of n vectors from blocks in any order."""
    numbers = np.empty((n, k), np.int32)
    for block in blocks:
        numbers[block[ROW].to_numpy()] = block[PLACES].to_numpy()
    return numbers


class Cells(NamedTuple):
    """The vectors by cell: cell c has the members from `starts[c]` to `starts[c + 1]`."""

    vectors: Vectors
    members: Ints
    starts: NDArray[np.int64]
    centres: Any  # faiss's index of the centres

    @property
    def n(self) -> int:
        """Count the cells."""
        return len(self.starts) - 1

    def search(self, vectors: Vectors, k: int, n_cells: int) -> tuple[Floats, Ints]:
        """Find the k nearest in the nearest cells of each vector, on one thread.

        Return their similarities and their numbers, unordered; a number of -1 means none.
        """
        similarities = np.full((len(vectors), k), -np.inf, np.float32)
        numbers = np.full((len(vectors), k), -1, np.int32)
        with threadpool_limits(1, "blas"):  # splitting a product among threads would be slower for small cells
            nearest = self.centres.search(vectors, n_cells)[1].astype(np.int32)
            for part in (nearest[:, :FIRST], nearest[:, FIRST:]):
                for cell, rows in by_cell(part):
                    # A copy, because memory shared between processes is read-only, which is another type to Numba.
                    members = self.members[self.starts[cell] : self.starts[cell + 1]].copy()
                    products = vectors[rows] @ self.vectors[members].T
                    keep_nearest(similarities, numbers, rows, members, products)
        return similarities, numbers


@dataclass(frozen=True)
class CellSearch:
    """Find the nearest of the cells' own vectors; an index cannot be sent, so each process builds its own."""

    cells: Cells  # without the index
    centres: Vectors
    k: int
    n_cells: int

    @cached_property
    def _cells(self) -> Cells:
        import faiss

        index = faiss.IndexFlatIP(self.centres.shape[1])
        index.add(self.centres)
        return self.cells._replace(centres=index)

    def __call__(self, block: pl.DataFrame) -> pl.DataFrame:
        """Search for the vectors of a block."""
        similarities, numbers = self._cells.search(self.cells.vectors[block[ROW].to_numpy()], self.k, self.n_cells)
        return with_neighbours(block, -similarities, numbers)


def search_all(cells: Cells, k: int, n_cells: int, engine: Engine) -> Places:
    """Search for all vectors; in this process each thread has a block."""
    n = len(cells.vectors)
    step = CellSearch(cells._replace(centres=None), cells.centres.reconstruct_n(0, cells.n), k, n_cells)
    if not isinstance(engine, Local):
        return join_blocks(engine.map(step, number_blocks(n)), n, k)
    # The limit applies to the whole process: the first finished block must not lift it for the others.
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        return join_blocks(pool.map(step, number_blocks(n)), n, k)


def make_cells(faiss: Any, vectors: Vectors) -> Cells:  # noqa: ANN401 - faiss has no types
    """Cluster the vectors into cells by k-means."""
    n = int(4 * np.sqrt(len(vectors)))
    means = faiss.Kmeans(vectors.shape[1], n, niter=10, spherical=True, max_points_per_centroid=64)
    means.train(vectors)
    own = means.index.search(vectors, 1)[1][:, 0]
    members = np.argsort(own, kind="stable").astype(np.int32)
    return Cells(vectors, members, np.searchsorted(own[members], np.arange(n + 1)), means.index)


def by_cell(nearest: Ints) -> Iterator[tuple[int, Ints]]:
    """Convert the cells of each row to the rows of each cell."""
    flat = nearest.ravel()
    order = np.argsort(flat, kind="stable")
    cells, starts = np.unique(flat[order], return_index=True)
    rows = (order // max(nearest.shape[1], 1)).astype(np.int32)
    for cell, some in zip(cells.tolist(), np.split(rows, starts[1:]), strict=False):
        if cell >= 0:  # not found by faiss
            yield cell, some


@kernel
def keep_nearest(similarities: Floats, places: Ints, rows: Ints, members: Ints, products: Floats) -> None:
    """Replace the farthest of the k nearest by each nearer member; rows of `similarities` are heaps of the k."""
    k = similarities.shape[1]
    for i in range(len(rows)):
        heap, named = similarities[rows[i]], places[rows[i]]
        for j in range(len(members)):
            new = products[i, j]
            if new <= heap[0]:
                continue
            parent, child = 0, 1
            while child < k:
                if child + 1 < k and heap[child + 1] < heap[child]:
                    child += 1
                if heap[child] >= new:
                    break
                heap[parent], named[parent] = heap[child], named[child]
                parent, child = child, 2 * child + 1
            heap[parent], named[parent] = new, members[j]
