"""Every audit keeps every promise, catches the planted cheaters it is meant to catch, and clears the seer."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import random
from typing import Any, ClassVar

import polars as pl
import pytest

from eyechart.audits import AUDITS, make_audit
from eyechart.audits.accuracy import Accuracy
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import Predictions
from eyechart.data.protocols import Engine
from eyechart.data.result import Key, Result
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.models import load
from eyechart.runs.contract import PROMISES, Case, check_audit, work_resumes_from_files
from eyechart.runs.run import Run

# The right verdict on each planted answerer; no audit may be missing there.
TRUTH = (Path(__file__).parent.parent / "docs" / "truth.md").read_text(encoding="utf-8")


def read_truth() -> dict[str, dict[str, str]]:
    """Read the right verdicts by audit and answerer from the docs."""
    lines = [
        [cell.strip(" `") for cell in line.split("|")[1:-1]] for line in TRUTH.splitlines() if line.startswith("| ")
    ]
    head, *rows = lines
    return {audit: {row[0]: row[column] for row in rows} for column, audit in enumerate(head) if column}


RIGHT = read_truth()
SURE = [(audit, answerer, right) for audit, by in RIGHT.items() for answerer, right in by.items() if right != "open"]


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=11, images=60)


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """Study a larger world by an audit, once for all whom it judges."""
    large_world = read("world", seed=12, images=1000)

    @cache
    def study(name: str) -> Run:
        run = Run(Store(tmp_path_factory.mktemp(name) / "run")).start(large_world)
        run.study([make_audit(name)])
        return run

    return study


@pytest.fixture(scope="module")
def cases(world: Dataset) -> Mapping[str, Case]:
    settings, model = {"by": ("question_type", "split")}, load("world:mix:seer=0.6,guesser=0.4")
    return {name: Case(make_audit(name, settings), world, model) for name in AUDITS.names()}


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
@pytest.mark.parametrize("name", AUDITS.names())
def test_promise(name: str, promise, cases: Mapping[str, Case], tmp_path: Path) -> None:  # noqa: ANN001 - a callable
    promise(cases[name], tmp_path)


def test_every_audit_says_whom_it_catches() -> None:
    assert set(RIGHT) == set(AUDITS.names())
    assert {right for _, _, right in SURE} == {"yes", "no"}
    assert all("no" in by.values() and by["seer"] == "yes" for by in RIGHT.values())


@pytest.mark.parametrize(("name", "answerer", "right"), SURE)
def test_a_planted_answerer_gets_the_right_verdict(
    name: str, answerer: str, right: str, studied: Callable[[str], Run]
) -> None:
    assert studied(name).audit(load(f"world:{answerer}"))[name].verdict.state == right


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


class Changed(Accuracy):
    """Come to another verdict about a model than Accuracy does."""

    changes: ClassVar[Mapping[str, Any]] = {}

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        result = super().judge(data, study, predictions, engine)
        return replace(result, verdict=replace(result.verdict, **self.changes))


class Measureless(Changed):
    """Say yes for no reason."""

    changes: ClassVar[Mapping[str, Any]] = {"state": "yes", "measure": None}


class Wordy(Changed):
    """Name a measure by a word, not by its key."""

    changes: ClassVar[Mapping[str, Any]] = {"measure": "gain"}


class Mistaken(Changed):
    """Name a measure that there is not."""

    changes: ClassVar[Mapping[str, Any]] = {"measure": Key("gain", "nowhere")}


class Boundless(Changed):
    """Say yes without a word on how far from the ideal would count."""

    changes: ClassVar[Mapping[str, Any]] = {"state": "yes", "margin": None}


class Evasive(Changed):
    """Answer another question than the one asked of the data."""

    changes: ClassVar[Mapping[str, Any]] = {"question": "Is it well?"}


class Aimless(Accuracy):
    """Say yes by a measure of which neither direction is better."""

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        result = super().judge(data, study, predictions, engine)
        return replace(result, measures=result.measures.with_columns(better=pl.lit("neither")))


class Greedy(Accuracy):
    """Judge what is learned from, too."""

    def study(self, data: Dataset, engine: Engine) -> Result:
        result = super().study(data, engine)
        rows = data.examples.select("id", data.clusters().alias("cluster"), floor=0.0)
        return replace(result, rows=rows.select(name for name in result.rows.columns if name in rows.columns))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Leaky, "gives away"),
        (Forgetful, "counted"),
        (Moody, "mood"),
        (Measureless, "verdict of accuracy to name the measure it is based on; found 'yes' without a measure; name it"),
        (Wordy, "verdict of accuracy to name the measure it is based on; found 'gain'; name it by Key"),
        (Mistaken, "to be based on one of its measures; found none Key"),
        (Boundless, "'yes' without a margin: say"),
        (Evasive, "a study of 'Better than guessing.', which the result does not answer: 'Is it well.'"),
        (Aimless, "which neither direction makes better: declare"),
        (Greedy, "rows of examples that are learned from: .*; judge those of `data.divided`"),
    ],
)
def test_an_audit_that_breaks_a_promise_is_told_so(kind: type[Accuracy], message: str, world: Dataset) -> None:
    """The suite itself can fail: each of these audits breaks what it should, and one line says so."""
    with pytest.raises(AssertionError, match=message) as told:
        check_audit(kind(), world, load("world:seer"))
    if kind is not Moody:  # which tables differ, and how, takes more
        assert "\n" not in str(told.value)


def test_too_little_data_to_interrupt_is_said(tiny: Dataset, tmp_path: Path) -> None:
    case = Case(make_audit("accuracy"), tiny, load("world:guesser"))

    with pytest.raises(AssertionError, match="provide more than two batches"):
        work_resumes_from_files(case, tmp_path)
