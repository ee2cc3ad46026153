"""The nearest vectors of each vector by cosine: exact where that is affordable, else approximate and measured.

Exact search (scikit-learn) takes time with the square of the number of vectors: half a minute for 50,000, hours for a
million. Above 50,000 faiss sorts the vectors into cells and searches the nearest cells only; how many is found by
trying on a sample, whose recall against exact search is the one reported. With torch and a GPU it is exact there too.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart.engines.local import Local
from eyechart.errors import MissingExtraError
from eyechart.neighbours.blocks import Places, in_order
from eyechart.neighbours.exact import ExactSearch
from eyechart.neighbours.on_gpu import search_gpu, torch_with_gpu
from eyechart.neighbours.vectors import Vectors
from eyechart.protocols import Engine

EXACT_BELOW = 50_000
PATIENCE = 200_000  # without faiss, exact search goes so far and no further
ENOUGH = 0.91  # of the true neighbours of the sample, whose mean strays by less than 0.005
FEWEST_CELLS, MORE_CELLS = 4, 1.25  # how many are searched at first, and by what factor that grows
SAMPLE = 1_000


class Neighbours(NamedTuple):
    """The nearest others of each row, the nearest first; -1 fills a row up."""

    places: Places
    recall: float
    note: str


def find_nearest(vectors: Vectors, k: int, exact_below: int = EXACT_BELOW, engine: Engine | None = None) -> Neighbours:
    """Find the k nearest other rows of each row, by blocks of rows; rows of zeros are neighbours of none."""
    known = np.flatnonzero(np.any(vectors != 0, axis=1))
    if len(known) < 2:
        return Neighbours(np.full((len(vectors), 0), -1, np.int32), 1.0, "no two texts can be compared")
    k = min(k, len(known) - 1) + 1
    found = _search(np.ascontiguousarray(vectors[known]), k, exact_below, engine or Local())
    places = np.full((len(vectors), found.places.shape[1] - 1), -1, np.int32)
    places[known] = _without_self(np.where(found.places < 0, -1, known[found.places]), known)
    return found._replace(places=places)


def _search(vectors: Vectors, k: int, exact_below: int, engine: Engine) -> Neighbours:
    if len(vectors) <= exact_below:
        return Neighbours(ExactSearch(vectors, k).run(engine), 1.0, "exact search")
    if (torch := torch_with_gpu()) is not None:
        alike, places = search_gpu(torch, vectors, k)
        return Neighbours(in_order(-alike, places), 1.0, "exact search on a GPU")
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
    """Search the nearest cells, as many as a sample needs."""
    # Numba is loaded with the kernels, so only where they are needed.
    from eyechart.neighbours.cells import make_cells, search_all

    cells = make_cells(faiss, vectors)
    chosen = np.random.default_rng(0).choice(len(vectors), min(SAMPLE, len(vectors)), replace=False)
    sample = vectors[np.sort(chosen)]
    whole = faiss.IndexFlatIP(vectors.shape[1])
    whole.add(vectors)
    least = whole.search(sample, k)[0][:, -1:]
    del whole
    wide, recall = FEWEST_CELLS, 0.0
    while recall < ENOUGH and wide < cells.n:
        wide = min(math.ceil(wide * MORE_CELLS), cells.n)
        # Equal texts in other words have equal similarities: any of them will do.
        recall = float((cells.search(sample, k, wide).alike >= least - 1e-6).mean())
    note = f"approximate search: {wide} of {cells.n} cells, recall {recall:.3f} on {len(sample):,} texts"
    return Neighbours(search_all(cells, k, wide, engine), recall, note)


def _without_self(places: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Drop each row's own number, or the last one where it was not found among its equals."""
    same = places == own[:, None]
    same[~same.any(axis=1), -1] = True
    kept: NDArray[np.int64] = places[~same]
    return kept.reshape(len(places), -1)
