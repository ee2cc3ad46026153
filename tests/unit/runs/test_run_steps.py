"""What the steps of a run do with several audits, conditions and engines at once."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest

from eyechart.audits.accuracy import Accuracy
from eyechart.base.errors import ModelError
from eyechart.base.progress import Advance
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.probes import PLAIN_CONDITION, Prober
from eyechart.data.protocols import Step
from eyechart.data.result import Result
from eyechart.data.store import Store
from eyechart.data.tables import COUNTS, empty
from eyechart.models.function import Function
from eyechart.runs.run import Asking, Run

RED = Function("red", lambda rows: ["red"] * len(rows))


@dataclass(frozen=True)
class Borrowing(Accuracy):
    """Needs what another study finds."""

    name: ClassVar[str] = "borrowing"
    needs: ClassVar[tuple[str, ...]] = ("answer", "accuracy.floor")
    by: tuple[str, ...] = ("accuracy.floor",)


@dataclass(frozen=True)
class Halved(Accuracy):
    """Asks about the first half of the examples only."""

    name: ClassVar[str] = "halved"

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterator[tuple[str, pl.DataFrame]]:  # noqa: A002
        yield PLAIN_CONDITION, Prober(data).plain(study.rows["id"].head(2))


@dataclass(frozen=True)
class Recording:
    """Runs batches here, and keeps what they were."""

    batches: list[pl.DataFrame] = field(default_factory=list)

    def map(self, step: Step, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        for batch in batches:
            self.batches.append(batch)
            yield step(batch)


@dataclass(frozen=True)
class Told:
    """Adds up the steps that are reported."""

    steps: dict[str, list[int]] = field(default_factory=dict)

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Advance]:
        self.steps[label] = [total, 0]

        def advance(n: int) -> None:
            self.steps[label][1] += n

        yield advance


@pytest.fixture
def run(tiny: Dataset, tmp_path: Path) -> Run:
    return Run(Store(tmp_path / "run")).start(tiny)


def test_audits_that_use_what_others_find_are_studied_after_them(run: Run) -> None:
    assert list(run.study([Borrowing(), Accuracy()])) == ["accuracy", "borrowing"]


def test_each_study_is_one_step_of_the_progress(run: Run) -> None:
    told = Told()
    replace(run, progress=told).study([Accuracy(), Halved()])

    assert told.steps["studying"] == [2, 2]


@pytest.mark.parametrize("order", [(Accuracy(), Halved()), (Halved(), Accuracy())])
def test_a_condition_has_the_probes_that_any_audit_needs(run: Run, order: tuple[Accuracy, ...]) -> None:
    run.study(order)

    assert run.probe() == {"plain": 4}
    assert run.store.probes("plain")["id"].to_list() == ["04", "05", "06", "07"]


def test_several_audits_are_judged_side_by_side_by_an_engine_and_one_by_itself(run: Run) -> None:
    engine = Recording()
    run.study([Accuracy(), Halved()])
    run.probe()
    run.predict(RED)
    both = replace(run, engine=engine).judge("red")
    asked = [batch["audit"].to_list() for batch in engine.batches if "audit" in batch.columns]

    assert sorted(both) == ["accuracy", "halved"]
    assert sorted(asked) == [["accuracy"], ["halved"]]


def test_one_audit_is_judged_here_with_the_engine_for_its_batches(run: Run) -> None:
    engine = Recording()
    run.study([Accuracy()])
    run.probe()
    run.predict(RED)
    replace(run, engine=engine).judge("red")

    assert [batch for batch in engine.batches if "audit" in batch.columns] == []


class Estimating:
    """Knows that all questions are the same call."""

    name = "thrifty"
    draws = 1
    identity = '{"revision": "a"}'

    def __init__(self, different: int) -> None:
        self.different = different

    def foresee(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        calls = [(str(at % self.different), False, 1, 10) for at in range(probes.height)]
        return pl.DataFrame(calls, schema=["key", "known", "pictures", "tokens"], orient="row")

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        return probes.select("id", pl.lit("red").alias("answer"))


def test_a_budget_is_of_calls_as_they_are_foreseen_and_may_be_used_up(run: Run) -> None:
    """Four questions are two calls: as many as allowed, or one too many."""
    run.study([Accuracy()])
    run.probe()

    with pytest.raises(ModelError, match="at most 1 calls of thrifty; found 2 to make"):
        replace(run, asking=Asking(max_calls=1)).predict(Estimating(2))
    replace(run, asking=Asking(max_calls=2)).predict(Estimating(2))
    assert run.store.answers("thrifty").answers.height == 4


@dataclass(frozen=True)
class Lenient(Halved):
    """Asks more than it needs."""

    name: ClassVar[str] = "lenient"

    def can_spare(self, condition: str) -> bool:
        return condition == "more"

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterator[tuple[str, pl.DataFrame]]:  # noqa: A002
        for condition, probes in super().probe(data, study, round):
            yield condition, probes
            yield "more", probes.with_columns(condition=pl.lit("more"))


@dataclass(frozen=True)
class Filed:
    """Answers from files for some conditions."""

    conditions: tuple[str, ...]
    name: str = "filed"

    def holds(self, condition: str) -> bool:
        return condition in self.conditions

    def stock(self, probes: pl.DataFrame) -> pl.DataFrame:
        return empty(COUNTS)

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        return probes.select("id", pl.lit("red").alias("answer"))


@pytest.mark.parametrize("conditions", [("plain",), ("more", "plain")])
def test_files_are_read_under_conditions_that_an_audit_can_spare_where_they_have_them(
    run: Run, conditions: tuple[str, ...]
) -> None:
    run.study([Lenient()])
    run.probe()
    run.predict(Filed(conditions))

    assert run.store.answered("filed") == list(conditions)


class Identified:
    """Says which revision it is, and breaks down where asked to."""

    name = "org/model"

    def __init__(self, revision: str, *, breaks: bool = False) -> None:
        self.identity = f'{{"revision": "{revision}"}}'
        self.breaks = breaks

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        if self.breaks:
            raise InterruptedError
        return probes.select("id", pl.lit("red").alias("answer"))


def test_a_model_that_has_not_answered_yet_may_become_another_one(run: Run) -> None:
    run.study([Accuracy()])
    run.probe()
    with pytest.raises(InterruptedError):
        run.predict(Identified("a", breaks=True))
    run.predict(Identified("b"))

    with pytest.raises(ModelError, match="found another revision"):
        run.predict(Identified("c"))
