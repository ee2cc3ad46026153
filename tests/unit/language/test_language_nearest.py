"""Nearest vectors, against brute force."""

import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from threadpoolctl import threadpool_limits

from eyechart.base.errors import MissingExtraError
from eyechart.data.protocols import Engine
from eyechart.engines import Local
from eyechart.language import nearest as room
from eyechart.language.nearest import ExactSearch, find_nearest, search_gpu
from eyechart.language.word_vectors import Vectors, unit
from eyechart.runs.contract import Backwards


def made_up(n: int, size: int, seed: int) -> Vectors:
    return unit(np.random.default_rng(seed).normal(size=(n, size)).astype(np.float32))


def similarities(vectors: Vectors) -> np.ndarray:
    """Compare all with all others in double."""
    alike = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
    np.fill_diagonal(alike, -np.inf)
    return alike


def brute_force(vectors: Vectors, k: int) -> np.ndarray:
    return np.argsort(-similarities(vectors), axis=1)[:, :k]


def clear(vectors: Vectors, k: int) -> bool:
    """Say whether single precision can tell the k nearest of each from each other and from those behind them."""
    alike = -np.sort(-similarities(vectors), axis=1)[:, : k + 1]
    return bool((alike[:, :-1] - alike[:, 1:] > 1e-6).all())


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 60), st.integers(1, 8), st.integers(0, 1000))
def test_exact_search_finds_what_brute_force_finds(n: int, k: int, seed: int) -> None:
    vectors = made_up(n, 6, seed)
    assume(clear(vectors, min(k, n - 1)))

    found = find_nearest(vectors, k)

    assert found.recall == 1.0
    assert np.array_equal(found.places, brute_force(vectors, min(k, n - 1)))


@pytest.mark.parametrize("engine", [Local(), Backwards()])
def test_blocks_find_what_brute_force_finds(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of them is smaller."""
    monkeypatch.setattr(room, "AT_ONCE", 70)
    vectors = made_up(300, 6, 2)

    assert clear(vectors, 7)
    assert np.array_equal(find_nearest(vectors, 7, engine=engine).places, brute_force(vectors, 7))


def test_the_number_of_threads_does_not_decide_which_of_equally_near_ones_a_block_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors = made_up(900, 4, 5)[np.random.default_rng(5).integers(0, 60, 900)]  # 15 times each, of which 8 are wanted
    search, block = ExactSearch(vectors, 8), pl.DataFrame({"row": np.arange(900, dtype=np.int32)})
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(pl, "thread_pool_size", lambda n=threads: n)
        with threadpool_limits(threads):
            found.append(search(block))

    assert_frame_equal(found[0], found[1])
    assert_frame_equal(found[0], found[2])


def test_equally_near_ones_come_in_the_order_of_their_numbers() -> None:
    vectors = unit(np.array([[1, 0], [1, 0], [0, 1], [1, 0], [1, 0]], np.float32))

    assert find_nearest(vectors, 3).places[[0, 3]].tolist() == [[1, 3, 4], [0, 1, 4]]


def test_a_vector_of_zeros_is_nobodys_neighbour_and_has_none() -> None:
    vectors = np.array([[1, 0], [0, 0], [0, 1]], np.float32)

    assert find_nearest(vectors, 2).places.tolist() == [[2], [-1], [0]]


@pytest.mark.parametrize("n", [0, 1])
def test_one_vector_alone_has_no_neighbours(n: int) -> None:
    assert find_nearest(np.ones((n, 2), np.float32), 5).places.shape == (n, 0)


def test_approximate_search_tells_a_recall_that_brute_force_confirms(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    monkeypatch.setattr(pl, "thread_pool_size", lambda: 3)  # each has a block
    monkeypatch.setattr(room, "AT_ONCE", 800)
    vectors = made_up(3_000, 8, 0)

    found = find_nearest(vectors, 20, exact_below=1_000)
    true = brute_force(vectors, 20)
    recall = np.mean([len(set(row) & set(other)) / 20 for row, other in zip(found.places, true, strict=True)])

    assert "approximate" in found.note
    assert found.recall >= room.ENOUGH
    assert recall == pytest.approx(found.recall, abs=0.02)
    assert not (found.places == np.arange(3_000)[:, None]).any()


def test_without_faiss_search_is_exact_and_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    vectors = made_up(50, 4, 0)

    found = find_nearest(vectors, 5, exact_below=10)

    assert "eyechart[neighbours]" in found.note
    assert clear(vectors, 5)
    assert np.array_equal(found.places, brute_force(vectors, 5))


def test_without_faiss_too_many_texts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.setattr(room, "PATIENCE", 40)

    with pytest.raises(MissingExtraError, match=r"eyechart\[neighbours\]"):
        find_nearest(made_up(50, 4, 0), 5, exact_below=10)


def test_torch_finds_what_brute_force_finds() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    vectors = made_up(300, 8, 1)

    _, places = search_gpu(torch, vectors, 11)

    assert clear(vectors, 10)
    assert np.array_equal(places[:, 0], np.arange(300))
    assert np.array_equal(places[:, 1:], brute_force(vectors, 10))


def test_where_there_is_a_gpu_many_texts_are_searched_there(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(room, "torch_with_gpu", lambda: torch)
    vectors = made_up(300, 8, 11)
    vectors[7] = 0

    found = find_nearest(vectors, 10, exact_below=100)

    known = np.delete(np.arange(300), 7)
    assert clear(vectors[known], 10)
    assert found.note == "exact search on a GPU"
    assert (found.places[7] == -1).all()
    assert np.array_equal(found.places[known], known[brute_force(vectors[known], 10)])
