"""Every audit keeps every promise, catches the planted cheaters it is meant to catch, and clears the seer."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import random

import polars as pl
import pytest

from eyechart.audits import AUDITS, make_audit
from eyechart.audits.accuracy import Accuracy
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import Predictions
from eyechart.data.protocols import Engine
from eyechart.data.result import Result
from eyechart.formats import read
from eyechart.models import load
from eyechart.runs.contract import PROMISES, Case, check_audit, work_resumes_from_files
from eyechart.runs.verbs import audit

# Who must be caught where; an audit without a line here fails `test_every_audit_says_whom_it_catches`.
CAUGHT = {
    "accuracy": ("deaf",),
    "decoys": ("cheater:decoy",),
    "grounding": (
        "blind",
        "deaf",
        "guesser",
        "cheater:prior",
        "cheater:word",
        "cheater:object",
        "cheater:pair",
        "cheater:decoy",
        "cheater",
    ),
    "perception": ("blind", "deaf", "guesser", "cheater:prior", "cheater:word", "cheater:decoy"),
    "rules": ("cheater:word", "cheater:object", "cheater:pair", "cheater", "blind"),
    "splits": ("cheater:prior", "cheater:word", "cheater:object", "cheater:pair", "blind"),
}


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
    assert audit(large_world, f"world:{cheater}", [name])[name].verdict.state == "no"


@pytest.mark.parametrize("name", AUDITS.names())
def test_the_seer_is_cleared(name: str, large_world: Dataset) -> None:
    assert audit(large_world, "world:seer", [name])[name].verdict.state == "yes"


class Leaky(Accuracy):
    """Show the answer with the question."""

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterator[tuple[str, pl.DataFrame]]:  # noqa: A002
        for condition, probes in super().probe(data, study, round):
            yield condition, probes.join(data.examples.select("id", "answer"), on="id")


class Forgetful(Accuracy):
    """Lose an example of each count."""

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        result = super().judge(data, study, predictions, engine)
        return replace(result, tables={"counts": result.tables["counts"].with_columns(pl.col("n") - 1)})


class Moody(Accuracy):
    """Come out differently each time."""

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        result = super().judge(data, study, predictions, engine)
        return replace(result, rows=result.rows.with_columns(pl.lit(random()).alias("mood")))  # noqa: S311


def test_an_audit_that_breaks_a_promise_is_told_so(world: Dataset) -> None:
    """The suite itself can fail: a leaking, a forgetful and a moody audit each break what they should."""
    for kind, message in ((Leaky, "gives away"), (Forgetful, "counted"), (Moody, "mood")):
        with pytest.raises(AssertionError, match=message):
            check_audit(kind(), world, load("world:seer"))


def test_too_little_data_to_interrupt_is_said(tiny: Dataset, tmp_path: Path) -> None:
    case = Case(make_audit("accuracy"), tiny, load("world:guesser"))

    with pytest.raises(AssertionError, match="provide more than two batches"):
        work_resumes_from_files(case, tmp_path)
