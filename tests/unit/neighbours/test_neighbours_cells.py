"""Cells hold every vector once, and searching all of them is exact search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.neighbours import cells as room
from eyechart.neighbours.cells import Cells, by_cell, make_cells
from eyechart.neighbours.vectors import unit

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
def test_the_nearest_of_the_searched_cells_are_found(cells: Cells, wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "AT_ONCE", 70)  # several blocks, the last one smaller
    asked = cells.vectors[:300]
    inside = cells.centres.search(asked, wide)[1]

    found = cells.search(asked, 9, wide)

    for at in range(0, 300, 7):
        truth = nearest(cells, asked[at], inside[at], 9)
        np.testing.assert_allclose(-np.sort(-found.alike[at]), truth, atol=1e-6)
        known = found.places[at] >= 0
        np.testing.assert_allclose(
            asked[at] @ cells.vectors[found.places[at][known]].T, found.alike[at][known], atol=1e-6
        )
        assert len(set(found.places[at][known])) == known.sum() == np.isfinite(truth).sum()


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
