"""What every audit promises, as checks that can be run over any audit, yours included.

    from eyechart.contract import check_audit
    check_audit(MyAudit(), data, model)

Each promise raises an AssertionError that says what was broken. docs/extending.md shows it at work.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal

from eyechart.audits import refer_to, remake_audit
from eyechart.dataset import Dataset, Images
from eyechart.engines.local import Local
from eyechart.errors import TableError
from eyechart.interview import Asking
from eyechart.probes import fill
from eyechart.protocols import Audit, Engine, Model, Step
from eyechart.result import Result
from eyechart.run import Run
from eyechart.store import Store
from eyechart.tables import PROBES, check

SECRETS = ("answer", "answers", "relevance", "evidence")  # what would give the answer away


@dataclass(frozen=True)
class Case:
    """An audit with data and a model to try it on, and where the work is done."""

    audit: Audit
    data: Dataset
    model: Model
    engine: Engine = field(default_factory=Local)

    def results(self, folder: Path, data: Dataset | None = None, engine: Engine | None = None) -> tuple[Result, Result]:
        """Study and judge, in a folder."""
        run = Run(Store(folder), engine or self.engine, asking=Asking(batch=37)).start(data or self.data)
        study = run.study([self.audit])[self.audit.name]
        return study, run.audit(self.model)[self.audit.name]


@dataclass(frozen=True)
class Backwards:
    """An engine that runs the batches in reverse."""

    def map(self, step: Step, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Apply the step to the last batch first."""
        return map(step, reversed(list(batches)))


@dataclass(frozen=True)
class Failing:
    """A model that breaks down after some batches, which it counts in a folder: several processes may share one."""

    model: Model
    batches: int
    counted: Path

    @property
    def name(self) -> str:
        """Pass for the model itself."""
        return self.model.name

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Answer until the patience is gone."""
        self.counted.mkdir(parents=True, exist_ok=True)
        if len(list(self.counted.iterdir())) >= self.batches:
            raise InterruptedError
        (self.counted / str(probes["id"][0])).touch()
        return self.model.answer(probes, images)


def probes_fit_and_keep_the_secret(case: Case, folder: Path) -> None:
    """Probes have their schema's form, and neither they nor what is shown carries the reference."""
    study, _ = case.results(folder)
    for condition, probes in case.audit.probe(case.data, study):
        check(probes, PROBES)
        shown = fill(probes.head(100), case.data)
        told = [name for name in SECRETS if name in (*probes.columns, *shown.columns)]
        assert not told, f"condition {condition} gives away {told}"


def two_runs_are_equal(case: Case, folder: Path) -> None:
    """The same input gives the same study and the same result."""
    assert_same(case.results(folder / "once"), case.results(folder / "twice"))


def input_stays_untouched(case: Case, folder: Path) -> None:
    """Neither table of the dataset is changed."""
    examples, images = case.data.examples.clone(), case.data.images.table.clone()
    case.results(folder)
    assert_frame_equal(examples, case.data.examples)
    assert_frame_equal(images, case.data.images.table)


def order_does_not_matter(case: Case, folder: Path) -> None:
    """Examples and batches may come in any order: every row of every table stays the same."""
    turned = replace(case.data, examples=case.data.examples.sample(fraction=1, shuffle=True, seed=1))
    straight = case.results(folder / "straight")
    assert_same(straight, case.results(folder / "examples", data=turned))
    assert_same(straight, case.results(folder / "batches", engine=Backwards()))


def work_resumes_from_files(case: Case, folder: Path) -> None:
    """A run that breaks down and goes on ends like one that never broke."""
    broken = replace(case, model=Failing(case.model, 2, folder / "counted"))
    try:
        broken.results(folder / "broken")
    except InterruptedError:
        pass
    else:
        raise AssertionError("the model was to break down: give it more than two batches of 37 probes")
    assert_same(case.results(folder / "broken"), case.results(folder / "whole"))


def verdicts_rest_on_a_measure(case: Case, folder: Path) -> None:
    """A verdict answers a question in its own words, and rests on a measure of the result."""
    try:
        results = case.results(folder)
    except TableError as error:  # what a result itself refuses
        raise AssertionError(str(error)) from None
    for result in results:
        verdict = result.verdict
        assert verdict.question.endswith("?"), f"no question, but {verdict.question!r}"
        assert verdict.label, "no label: say the verdict in two or three words"
        assert verdict.measure or not result.measures.height, "a verdict names the measure it rests on"


def settings_are_recorded(case: Case, folder: Path) -> None:
    """The settings in study and result make the same audit again."""
    for result in case.results(folder):
        assert remake_audit(refer_to(case.audit), result.settings) == case.audit, result.settings


def every_example_is_accounted_for(case: Case, folder: Path) -> None:
    """Each probe is counted once under its condition, and each usable one has a row in the result."""
    study, result = case.results(folder)
    counts = result.tables["counts"]
    for condition, probes in case.audit.probe(case.data, study):
        counted = counts.filter(pl.col("condition") == condition)["n"].sum()
        assert counted == probes.height, f"{probes.height} probes of {condition}, {counted} counted"
    strangers = set(result.rows["id"]) - set(case.data.examples["id"])
    assert not strangers, f"rows of examples nobody has: {sorted(strangers)[:3]}"


PROMISES: Sequence[Callable[[Case, Path], None]] = (
    probes_fit_and_keep_the_secret,
    two_runs_are_equal,
    input_stays_untouched,
    order_does_not_matter,
    verdicts_rest_on_a_measure,
    work_resumes_from_files,
    settings_are_recorded,
    every_example_is_accounted_for,
)


def check_audit(audit: Audit, data: Dataset, model: Model, engine: Engine | None = None) -> None:
    """Hold an audit to every promise, on the local engine or another one."""
    for promise in PROMISES:
        with tempfile.TemporaryDirectory() as folder:
            promise(Case(audit, data, model, engine or Local()), Path(folder))


def check_engine(engine: Engine, audit: Audit, data: Dataset, model: Model) -> None:
    """Hold an engine to the results of the local one, row for row, floats included."""
    case = Case(audit, data, model)
    with tempfile.TemporaryDirectory() as folder:
        here, there = Path(folder) / "here", Path(folder) / "there"
        assert_same(case.results(here), case.results(there, engine=engine))


def assert_same(left: tuple[Result, Result], right: tuple[Result, Result]) -> None:
    """Compare two pairs of study and result, every table to the last bit."""
    for one, other in zip(left, right, strict=True):
        for name in ("measures", "rows", *one.tables):
            assert_frame_equal(one.table(name), other.table(name), check_exact=True)
        assert (one.views, one.verdict, one.settings) == (other.views, other.verdict, other.settings)
