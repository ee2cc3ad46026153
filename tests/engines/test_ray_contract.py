"""Every audit keeps every promise on Ray, and finds there what it finds in this process, to the last bit."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from eyechart.audits import AUDITS, make_audit
from eyechart.audits import batches as keyed
from eyechart.audits.decoys import candidates as drawing
from eyechart.audits.perception import measures as perception_groups
from eyechart.audits.splits import concepts as groups
from eyechart.audits.splits import salience as salient_parted
from eyechart.data.dataset import Dataset
from eyechart.data.store import Store
from eyechart.engines.ray import Ray
from eyechart.formats import read
from eyechart.language import nearest as blocks
from eyechart.mining import counting
from eyechart.models import load
from eyechart.runs.contract import PROMISES, Case, assert_same, check_engine
from eyechart.runs.interview import Asking
from eyechart.runs.run import Run

MIXED = "world:mix:seer=0.6,guesser=0.4"


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=11, images=60)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut so small that even these data come in several parts."""
    monkeypatch.setattr(salient_parted, "BLOCK", 50)
    monkeypatch.setattr(groups, "BLOCK", 50)
    monkeypatch.setattr(counting, "BLOCK", 50)
    monkeypatch.setattr(keyed, "BLOCK", 50)
    monkeypatch.setattr(perception_groups, "BLOCK", 50)
    monkeypatch.setattr(drawing, "BLOCK", 50)
    monkeypatch.setattr(blocks, "AT_ONCE", 50)


@pytest.fixture(scope="module")
def cases(world: Dataset, engine: Ray) -> Mapping[str, Case]:
    by, sets = {"by": ("question_type", "split")}, {"sets": ("orig", "iou+qou")}  # the others are tried here and below
    settings = {name: by | sets if name == "decoys" else by for name in AUDITS.names()}
    return {name: Case(make_audit(name, own), world, load(MIXED), engine) for name, own in settings.items()}


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
@pytest.mark.parametrize("name", AUDITS.names())
def test_promise_on_ray(name: str, promise, cases: Mapping[str, Case], tmp_path: Path) -> None:  # noqa: ANN001 - a callable
    promise(cases[name], tmp_path)


@pytest.mark.parametrize("name", AUDITS.names())
def test_ray_finds_what_this_process_finds(name: str, world: Dataset, engine: Ray) -> None:
    check_engine(engine, make_audit(name, {"by": ("question_type",)}), world, load(MIXED))


def test_judging_by_all_audits_at_once_finds_what_each_finds_here(world: Dataset, engine: Ray, tmp_path: Path) -> None:
    names = [name for name in AUDITS.names() if name != "decoys"]  # which takes longest, and is judged alone above
    runs = [
        Run(Store(tmp_path / "here"), asking=Asking(batch=37)),
        Run(Store(tmp_path / "there"), engine, asking=Asking(batch=37)),
    ]
    here, there = (
        {"study": run.start(world).study(map(make_audit, names)), "result": run.audit(load(MIXED))} for run in runs
    )

    assert list(there["result"]) == list(here["result"]) == sorted(names)
    for name in names:
        assert_same((here["study"][name], here["result"][name]), (there["study"][name], there["result"][name]))
