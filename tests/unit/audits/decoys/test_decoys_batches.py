"""Decoys that are drawn, and baselines that are learned, by batches in any order are those of one process."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import get_args

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from threadpoolctl import threadpool_limits

from eyechart.audits.decoys import DecoysAudit, candidates
from eyechart.audits.decoys.adversaries import SCORED
from eyechart.audits.decoys.blind import BlindTask, CrossValidation
from eyechart.audits.decoys.diagnosis import CONTROLS
from eyechart.audits.decoys.draw import draw_decoys
from eyechart.audits.decoys.features import SEEN, HashedFeatures
from eyechart.audits.decoys.settings import DecoysSettings, Drawing, Published
from eyechart.audits.decoys.study import label_parts
from eyechart.data.dataset import Dataset
from eyechart.data.protocols import Step
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.language import nearest as blocks
from eyechart.runs.contract import Backwards, assert_same


@dataclass
class Watched:
    """An engine that runs the batches in reverse, and writes down how many of each step there were."""

    batches: dict[str, list[int]] = field(default_factory=dict)

    def map(self, step: Step, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        cut = list(batches)
        self.batches.setdefault(type(step).__name__, []).append(len(cut))
        return Backwards().map(step, cut)


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=11, images=60)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "BLOCK", 70)
    monkeypatch.setattr(blocks, "AT_ONCE", 70)


@pytest.mark.parametrize("published", get_args(Published))
@pytest.mark.parametrize("drawing", get_args(Drawing))
def test_decoys_and_counts_do_not_depend_on_blocks(drawing: str, published: str, world: Dataset) -> None:
    settings = DecoysSettings(drawing=drawing, published=published, leave_out=True)
    watched = Watched()

    here = draw_decoys(world, label_parts(world), settings)
    there = draw_decoys(world, label_parts(world), settings, watched)

    assert_frame_equal(there.decoys, here.decoys)
    assert_frame_equal(there.counts, here.counts)
    assert there.notes == here.notes
    assert min(watched.batches["ExactSearch"] + watched.batches["CandidateSearch"]) > 1
    # Two sources are walked and one is drawn at random, each with what fills it up; thinning walks one of them before.
    assert len(watched.batches["CandidateSearch"]) == (7 if drawing == "neutral" else 6)


def test_no_examples_to_draw_for_make_no_batch(world: Dataset) -> None:
    nobody = pl.DataFrame({"id": ["not there"], "part": ["judged"]})

    drawn = draw_decoys(world, nobody, DecoysSettings(), Backwards())

    assert drawn.decoys.is_empty()


def test_a_study_does_not_depend_on_the_order_of_batches(world: Dataset) -> None:
    """Each fit is a batch: what is seen, the controls, and adversaries, with every part left out once."""
    audit, watched = DecoysAudit(sets=("orig", "iou"), folds=4), Watched()

    here, there = (audit.study(world, engine) for engine in (Local(), watched))

    assert_same((here, here), (there, there))
    # Beside the two sets there is the random one. An adversary leaves out each part and, to choose, each two.
    solvers, adversaries = len(SEEN) * 4, len(SCORED) * (4 + 6)
    of_sets = [[solvers, controls, adversaries] for controls in (CONTROLS * 4, 4, 4)]
    assert watched.batches["CrossValidation"] == [n for of_set in of_sets for n in of_set]


def dot(known, target, asked):  # noqa: ANN001, ANN201 - matrices
    """Sum over so many columns that the library for it would share them out among threads."""
    weights = known.T @ (target - target.mean())
    return asked @ (weights / np.sqrt(np.dot(weights, weights)))


def test_the_number_of_threads_around_it_does_not_change_a_fit() -> None:
    draw = np.random.default_rng(0)
    rows = np.repeat(np.arange(4_000), 10)
    features = {"text": HashedFeatures(rows, draw.integers(0, 2**63, len(rows)).astype(np.uint64))}
    task = BlindTask(("text",), draw.random(4_000) < 0.3)
    validation = CrossValidation(dot, features, {"A": task}, np.arange(4_000) % 2, np.ones(4_000, np.bool_))
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            found.append(validation.score(Local()))

    assert_frame_equal(found[0], found[1], check_exact=True)
    assert_frame_equal(found[0], found[2], check_exact=True)
    assert found[0]["A"].std() > 0
