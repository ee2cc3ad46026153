"""Neighbours, candidates and blind baselines found on Ray are those of this process."""

import numpy as np
import pytest
from polars.testing import assert_frame_equal

from eyechart.audits.decoys.blind import logistic
from eyechart.audits.decoys.drawing import parted
from eyechart.audits.decoys.features import Block, matrix
from eyechart.audits.decoys.lessons import Course, Lessons
from eyechart.audits.decoys.parts import parts_of
from eyechart.audits.decoys.recipes import Recipe, draw_decoys
from eyechart.engines.local import Local
from eyechart.engines.ray import Ray
from eyechart.neighbours import blocks, find_nearest
from eyechart.neighbours.vectors import Vectors, unit
from eyechart.readers import read


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parted, "BLOCK", 150)
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
    asked, recipe = parts_of(world).examples, Recipe(drawing=drawing)

    there, here = (draw_decoys(world, asked, recipe, where) for where in (engine, Local()))

    assert_frame_equal(there.decoys, here.decoys)
    assert_frame_equal(there.counts, here.counts)
    assert there.notes == here.notes


def test_lessons_with_more_features_than_one_thread_adds_up(engine: Ray) -> None:
    """Sums over more than 10,000 columns are shared out among threads, whose number decides the last bit."""
    draw = np.random.default_rng(1)
    n = 3_000
    features = {"text": Block(np.repeat(np.arange(n), 12), draw.integers(0, 2**63, 12 * n).astype(np.uint64))}
    courses = {name: Course(("text",), draw.random(n) < 0.3) for name in ("A", "B")}
    lessons = Lessons(logistic, features, courses, draw.integers(0, 3, n))

    there, here = (lessons.run(where) for where in (engine, Local()))

    assert matrix(features, n, ("text",)).shape[1] > 10_000
    assert_frame_equal(there, here, check_exact=True)
