"""Who leads when clusters are drawn again: shares of one, as a slow bootstrap finds them."""

import math

import numpy as np
import pytest

from eyechart.statistics import leads as room
from eyechart.statistics.leads import ClusteredScores, leads


def test_the_lead_of_noisy_models_is_that_of_a_slow_bootstrap() -> None:
    rng = np.random.default_rng(1)
    totals = rng.random((20, 3, 2)).sum(axis=1)
    gap = totals[:, 0] - totals[:, 1]
    slow = np.mean([gap[rng.integers(0, 20, 20)].sum() > 0 for _ in range(4000)])

    (found,) = leads([ClusteredScores(totals, np.full(20, 3))])

    assert found[0] == pytest.approx(slow, abs=4 * math.sqrt(0.25 / 1000))
    assert found.sum() == pytest.approx(1)


def test_clusters_of_different_sizes_count_by_their_rows() -> None:
    """One cluster decides whenever it is drawn, which it is in 1 - (1 - 1/3)^3 of the samples."""
    totals, sizes = np.array([[0.0, 90], [1, 0], [1, 0]]), np.array([100, 1, 1])

    (found,) = leads([ClusteredScores(totals, sizes)])

    assert found[1] == pytest.approx(19 / 27, abs=0.06)


def test_contests_are_found_together_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    several = [
        ClusteredScores(rng.random((size, models)), np.full(size, 1)) for size, models in ((9, 2), (9, 3), (4, 2))
    ]
    alone = [leads([contest])[0] for contest in several]
    monkeypatch.setattr(room, "AT_ONCE", 20)  # two samples of nine clusters, five of four

    for one, other in zip(leads(several), alone, strict=True):
        np.testing.assert_array_equal(one, other)


def test_equal_models_share_the_lead() -> None:
    (found,) = leads([ClusteredScores(np.ones((5, 4)), np.full(5, 2))])

    np.testing.assert_allclose(found, 0.25)
