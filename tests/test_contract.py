"""Every audit keeps every promise, catches the planted cheaters it is meant to catch, and clears the seer."""

from pathlib import Path

import pytest

from eyechart.audits import AUDITS, make_audit
from eyechart.contract import PROMISES, Case
from eyechart.dataset import Dataset
from eyechart.models import load
from eyechart.readers import read
from eyechart.verbs import audit

# Who must be caught where; an audit without a line here fails `test_every_audit_says_whom_it_catches`.
CAUGHT = {"accuracy": ("deaf",)}


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=11, images=60)


@pytest.fixture(scope="module")
def large_world() -> Dataset:
    return read("world", seed=12, images=1000)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
@pytest.mark.parametrize("name", AUDITS.names())
def test_promise(name: str, promise, world: Dataset, tmp_path: Path) -> None:  # noqa: ANN001 - a callable
    settings = {"by": ("question_type", "split")}

    promise(Case(make_audit(name, settings), world, load("world:mix:seer=0.6,guesser=0.4")), tmp_path)


def test_every_audit_says_whom_it_catches() -> None:
    assert set(CAUGHT) == set(AUDITS.names())


@pytest.mark.parametrize(("name", "cheater"), [(name, cheater) for name, all_ in CAUGHT.items() for cheater in all_])
def test_the_cheater_is_caught(name: str, cheater: str, large_world: Dataset) -> None:
    assert audit(large_world, f"world:{cheater}", [name])[name].verdict.state == "caught"


@pytest.mark.parametrize("name", AUDITS.names())
def test_the_seer_is_cleared(name: str, large_world: Dataset) -> None:
    assert audit(large_world, "world:seer", [name])[name].verdict.state == "clear"
