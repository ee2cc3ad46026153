"""Find the nearest vectors of each vector by cosine: exactly if affordable, else approximately with measured recall.

The time of exact search (scikit-learn) is quadratic in the number of vectors: half a minute for 50,000, hours for a
million. Above 50,000 faiss sorts the vectors into cells and searches only the nearest cells; their number is chosen by
trials on a sample, whose recall against exact search is reported. With torch and a GPU the search is always exact.

A library's index takes vectors one by one. Here a block of them is compared with each cell by one matrix product, the
members of the cell by all vectors of the block that search it, which is several times as fast. The nearest cells come
first: after them, hardly any member of the others is near enough to be kept. Blocks contain numbers of vectors, so that
any engine can search them; results are keyed by these numbers.
"""

import math
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from eyechart.base.errors import MissingExtraError
from eyechart.base.kernels import kernel
from eyechart.data.protocols import Engine
from eyechart.engines import Local
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


EXACT_BELOW = 50_000
PATIENCE = 200_000  # without faiss, the most texts for exact search
ENOUGH = 0.91  # share of the sample's true neighbours to find; the mean has an error below 0.005
FEWEST_CELLS, MORE_CELLS = 4, 1.25  # cells searched at first, and the factor by which their number grows
SAMPLE = 1_000
ROWS_A_THREAD = 1_024  # scikit-learn needs more to split by rows
SIMILARITIES_AT_ONCE = 2**28  # on a GPU: 1 GB of them


class Neighbours(NamedTuple):
    """The nearest other rows of each row, nearest first, padded with -1."""

    places: Places
    recall: float
    note: str


def find_nearest(vectors: Vectors, k: int, exact_below: int = EXACT_BELOW, engine: Engine | None = None) -> Neighbours:
    """Find the k nearest other rows of each row, by blocks of rows; rows of zeros are never neighbours."""
    known = np.flatnonzero(np.any(vectors != 0, axis=1))
    if len(known) < 2:
        return Neighbours(np.full((len(vectors), 0), -1, np.int32), 1.0, "no two texts can be compared")
    k = min(k, len(known) - 1) + 1
    nearest = _search(np.ascontiguousarray(vectors[known]), k, exact_below, engine or Local())
    numbers = np.full((len(vectors), nearest.places.shape[1] - 1), -1, np.int32)
    numbers[known] = _without_self(np.where(nearest.places < 0, -1, known[nearest.places]), known)
    return nearest._replace(places=numbers)


def _search(vectors: Vectors, k: int, exact_below: int, engine: Engine) -> Neighbours:
    if len(vectors) <= exact_below:
        return Neighbours(ExactSearch(vectors, k).run(engine), 1.0, "exact search")
    if (torch := torch_with_gpu()) is not None:
        similarities, numbers = search_gpu(torch, vectors, k)
        return Neighbours(sort_neighbours(-similarities, numbers), 1.0, "exact search on a GPU")
    try:
        import faiss
    except ImportError:
        return _search_without_faiss(vectors, k, engine)
    return _search_cells(faiss, vectors, k, engine)


def _search_without_faiss(vectors: Vectors, k: int, engine: Engine) -> Neighbours:
    advice = "pip install 'eyechart[neighbours]'"
    if len(vectors) > PATIENCE:
        found = f"{len(vectors):,} distinct texts and no faiss"
        raise MissingExtraError(f"faiss for more than {PATIENCE:,} texts", found, advice)
    note = f"exact search among {len(vectors):,} texts; faster with faiss: {advice}"
    return Neighbours(ExactSearch(vectors, k).run(engine), 1.0, note)


def _search_cells(faiss: Any, vectors: Vectors, k: int, engine: Engine) -> Neighbours:  # noqa: ANN401 - no types
    """Search as many of the nearest cells of each vector as reach the recall on a sample."""
    cells = make_cells(faiss, vectors)
    chosen = np.random.default_rng(0).choice(len(vectors), min(SAMPLE, len(vectors)), replace=False)
    sample = vectors[np.sort(chosen)]
    whole = faiss.IndexFlatIP(vectors.shape[1])
    whole.add(vectors)
    least = whole.search(sample, k)[0][:, -1:]
    del whole
    n_cells, recall = FEWEST_CELLS, 0.0
    while recall < ENOUGH and n_cells < cells.n:
        n_cells = min(math.ceil(n_cells * MORE_CELLS), cells.n)
        # Texts with the same words have equal similarities: any of them will do.
        similarities, _ = cells.search(sample, k, n_cells)
        recall = float((similarities >= least - 1e-6).mean())
    note = f"approximate search: {n_cells} of {cells.n} cells, recall {recall:.3f} on {len(sample):,} texts"
    return Neighbours(search_all(cells, k, n_cells, engine), recall, note)


def _without_self(places: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Drop each row's own number, or the last neighbour if it was not found among its equals."""
    same = places == own[:, None]
    same[~same.any(axis=1), -1] = True
    kept: NDArray[np.int64] = places[~same]
    return kept.reshape(len(places), -1)


@dataclass(frozen=True)
class ExactSearch:
    """Find the k nearest of some of the vectors among all of them, by comparing all pairs with scikit-learn.

    For unit vectors the nearest by angle are also the nearest by distance.
    """

    vectors: Vectors
    k: int

    @cached_property
    def _index(self) -> Any:  # noqa: ANN401 - scikit-learn has no types
        from sklearn.neighbors import NearestNeighbors

        return NearestNeighbors(n_neighbors=self.k, algorithm="brute", metric="euclidean").fit(self.vectors)

    def __call__(self, block: pl.DataFrame) -> pl.DataFrame:
        """Search for the vectors of a block, with the same result on any number of threads."""
        # With fewer vectors per thread, scikit-learn lets each thread search a part of all vectors instead, and the
        # number of threads decides which of equally near vectors are found.
        threads = min(pl.thread_pool_size(), (block.height - 1) // ROWS_A_THREAD)
        index = self._index  # created before the limit: it loads the library to limit
        with threadpool_limits(max(threads, 1), "openmp"):
            return with_neighbours(block, *index.kneighbors(self._queries(block)))

    def _queries(self, block: pl.DataFrame) -> Vectors:
        queries: Vectors = self.vectors[block[ROW].to_numpy()]
        return queries

    def run(self, engine: Engine) -> Places:
        """Search for all vectors."""
        n = len(self.vectors)
        return join_blocks(engine.map(self, number_blocks(n)), n, self.k)


def torch_with_gpu() -> Any:  # noqa: ANN401 - torch is not a dependency
    """Import torch if it is installed and finds a GPU."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def search_gpu(torch: Any, vectors: Vectors, k: int) -> tuple[Vectors, NDArray[np.int64]]:  # noqa: ANN401 - as above
    """Find the k highest similarities of each vector, including its own, and their vectors, by products of blocks."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    all_of_them = torch.from_numpy(vectors).to(device)
    blocks = all_of_them.split(max(1, SIMILARITIES_AT_ONCE // len(vectors)))
    highest = [torch.topk(block @ all_of_them.T, k) for block in blocks]
    similarities, numbers = (torch.cat(parts).cpu().numpy() for parts in zip(*highest, strict=True))
    return similarities, numbers
