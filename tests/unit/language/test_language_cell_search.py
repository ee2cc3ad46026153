"""Cells hold every vector once, and searching all of them is exact search."""

import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from eyechart.data.protocols import Engine
from eyechart.engines import Local
from eyechart.language import nearest as blocks
from eyechart.language.nearest import Cells, CellSearch, by_cell, make_cells, search_all
from eyechart.language.word_vectors import unit
from eyechart.runs.contract import Backwards

faiss = pytest.importorskip("faiss", reason="the extra neighbours is not installed")


@pytest.fixture(scope="module")
def cells() -> Cells:
    vectors = unit(np.random.default_rng(3).normal(size=(2_500, 6)).astype(np.float32))
    return make_cells(faiss, vectors)


def nearest(cells: Cells, asked: np.ndarray, inside: np.ndarray, k: int) -> np.ndarray:
    """Sort all similarities of the vectors that lie in the given cells."""
    own = np.repeat(np.arange(cells.n), np.diff(cells.starts))[np.argsort(cells.members)]
    alike = asked @ cells.vectors.T
    return -np.sort(-np.where(np.isin(own, inside), alike, -np.inf))[:k]


def test_every_vector_is_a_member_of_one_cell(cells: Cells) -> None:
    assert np.array_equal(np.sort(cells.members), np.arange(2_500))
    assert cells.starts[-1] == 2_500


@pytest.mark.parametrize("wide", [1, 5, 40, 200])
def test_the_nearest_of_the_searched_cells_are_found(cells: Cells, wide: int) -> None:
    asked = cells.vectors[:300]
    inside = cells.centres.search(asked, wide)[1]

    similarities, places = cells.search(asked, 9, wide)

    for at in range(0, 300, 7):
        truth = nearest(cells, asked[at], inside[at], 9)
        np.testing.assert_allclose(-np.sort(-similarities[at]), truth, atol=1e-6)
        known = places[at] >= 0
        np.testing.assert_allclose(asked[at] @ cells.vectors[places[at][known]].T, similarities[at][known], atol=1e-6)
        assert len(set(places[at][known])) == known.sum() == np.isfinite(truth).sum()


@pytest.mark.parametrize("engine", [Local(), Backwards()])
def test_blocks_find_what_one_search_finds(cells: Cells, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """By threads here or by an engine that takes the last block first; the last one is smaller."""
    monkeypatch.setattr(blocks, "AT_ONCE", 70)
    similarities, _ = cells.search(cells.vectors, 9, 12)

    found = search_all(cells, 9, 12, engine)

    told = np.einsum("nd,nkd->nk", cells.vectors, cells.vectors[found])
    np.testing.assert_allclose(told, -np.sort(-similarities), atol=1e-6)
    assert all(len(set(row)) == 9 for row in found.tolist())


def test_a_search_that_was_sent_finds_the_same(cells: Cells) -> None:
    """The index of the centres is made anew where the search is, of arrays that may be read-only there."""
    step = CellSearch(cells._replace(centres=None), cells.centres.reconstruct_n(0, cells.n), 9, 12)
    sent = pickle.loads(pickle.dumps(step))  # noqa: S301 - made here
    for array in (*sent.cells[:3], sent.centres):
        array.flags.writeable = False
    block = pl.DataFrame({"row": np.arange(400, 900, dtype=np.int32)})

    assert_frame_equal(sent(block), step(block))


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-1, 6), min_size=3, max_size=3), min_size=1, max_size=20))
def test_rows_are_listed_by_cell(rows: list[list[int]]) -> None:
    found = {cell: some.tolist() for cell, some in by_cell(np.array(rows, np.int32))}

    assert found == {
        cell: [at for at, row in enumerate(rows) for each in row if each == cell]
        for cell in range(7)
        if any(cell in row for row in rows)
    }


def test_no_cells_have_no_rows() -> None:
    assert list(by_cell(np.empty((4, 0), np.int32))) == []
