"""Neighbours, candidates and blind baselines found on Ray are those of this process."""

import numpy as np
import pytest
from polars.testing import assert_frame_equal

from eyechart.audits.decoys import candidates
from eyechart.audits.decoys.blind import BlindTask, CrossValidation, logistic
from eyechart.audits.decoys.draw import draw_decoys
from eyechart.audits.decoys.features import HashedFeatures, matrix
from eyechart.audits.decoys.settings import DecoysSettings
from eyechart.audits.decoys.study import label_parts
from eyechart.engines import Local
from eyechart.engines.ray import Ray
from eyechart.formats import read
from eyechart.language import nearest as blocks
from eyechart.language.nearest import find_nearest
from eyechart.language.word_vectors import Vectors, unit


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "BLOCK", 150)
    monkeypatch.setattr(blocks, "AT_ONCE", 150)


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    """Make vectors of which many are the same, so that it counts which of the equally near ones are found."""
    draw = np.random.default_rng(0)
    return unit(draw.normal(size=(400, 8)).astype(np.float32))[draw.integers(0, 400, 2_000)]


@pytest.mark.parametrize("exact_below", [1_000, 10_000], ids=["in cells", "exact"])
def test_nearest_vectors(exact_below: int, vectors: Vectors, engine: Ray) -> None:
    pytest.importorskip("faiss", reason="the extra neighbours is not installed")

    there, here = (find_nearest(vectors, 6, exact_below, where) for where in (engine, Local()))

    assert there[1:] == here[1:]
    np.testing.assert_array_equal(there.places, here.places)


@pytest.mark.parametrize("drawing", ["nearest", "neutral"])
def test_drawn_decoys(drawing: str, engine: Ray) -> None:
    world = read("world", seed=11, images=150)
    wanted, settings = label_parts(world), DecoysSettings(drawing=drawing)

    there, here = (draw_decoys(world, wanted, settings, where) for where in (engine, Local()))

    assert_frame_equal(there.decoys, here.decoys)
    assert_frame_equal(there.counts, here.counts)
    assert there.notes == here.notes


def test_lessons_with_more_features_than_one_thread_adds_up(engine: Ray) -> None:
    """Sums over more than 10,000 columns are shared out among threads, whose number decides the last bit."""
    draw = np.random.default_rng(1)
    n = 3_000
    features = {"text": HashedFeatures(np.repeat(np.arange(n), 12), draw.integers(0, 2**63, 12 * n).astype(np.uint64))}
    courses = {name: BlindTask(("text",), draw.random(n) < 0.3) for name in ("A", "B")}
    lessons = CrossValidation(logistic, features, courses, draw.integers(0, 3, n), draw.random(n) < 0.5)

    there, here = (lessons.score(where) for where in (engine, Local()))

    assert matrix(features, n, ("text",)).shape[1] > 10_000
    assert_frame_equal(there, here, check_exact=True)
