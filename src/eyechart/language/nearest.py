"""Find the nearest vectors of each vector by cosine: exactly if affordable, else approximately with measured recall.

The time of exact search (scikit-learn) is quadratic in the number of vectors: half a minute for 50,000, hours for a
million. Above 50,000 faiss sorts the vectors into cells and searches only the nearest cells; their number is chosen by
trials on a sample, whose recall against exact search is reported. With torch and a GPU the search is always exact.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from eyechart.base.errors import MissingExtraError
from eyechart.data.protocols import Engine
from eyechart.engines.local import Local
from eyechart.language.cell_search import (
    ROW,
    Places,
    join_blocks,
    make_cells,
    number_blocks,
    search_all,
    sort_neighbours,
    with_neighbours,
)
from eyechart.language.word_vectors import Vectors

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
