"""The contract: the promises of every audit, as checks to run on any audit, including your own.

    from eyechart import check_audit

    check_audit(MyAudit(), data, model)

A broken promise raises an AssertionError that says what is wrong. docs/extending.md has an example.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal

from eyechart.audits import learns, refer_to, remake_audit
from eyechart.base.errors import TableError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.probes import fill
from eyechart.data.protocols import Audit, Engine, Model, Step
from eyechart.data.result import Measure, Result, Verdict
from eyechart.data.store import Store
from eyechart.data.tables import PROBES, check
from eyechart.engines import Local
from eyechart.runs.interview import Asking
from eyechart.runs.run import Run

SECRETS = ("answer", "answers", "relevance", "evidence", "evidence_pictures")  # columns that would give the answer away


@dataclass(frozen=True)
class Case:
    """An audit with data and a model to test it on, and the engine to use."""

    audit: Audit
    data: Dataset
    model: Model
    engine: Engine = field(default_factory=Local)

    def results(self, folder: Path, data: Dataset | None = None, engine: Engine | None = None) -> tuple[Result, Result]:
        """Study and judge in a folder, and return the study and the result."""
        run = Run(Store(folder), engine or self.engine, asking=Asking(batch=37)).start(data or self.data)
        try:
            study = run.study([self.audit])[self.audit.name]
            return study, run.audit(self.model)[self.audit.name]
        except TableError as error:  # raised by a table or a result that is invalid in itself
            raise AssertionError(str(error)) from None

    @cached_property
    def usual(self) -> tuple[Result, Result]:
        """Study and judge once for all promises that only look at what comes out, or compare something else with it."""
        with tempfile.TemporaryDirectory() as folder:
            study, result = self.results(Path(folder))
            return study.read(), result.read()


@dataclass(frozen=True)
class Backwards:
    """An engine that runs the batches in reverse order."""

    def map(self, step: Step, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Apply the step to the last batch first."""
        return map(step, reversed(list(batches)))


@dataclass(frozen=True)
class Failing:
    """A model that fails after some batches, counted in a folder so that several processes can share the count."""

    model: Model
    batches: int
    counted: Path

    @property
    def name(self) -> str:
        """Return the name of the wrapped model."""
        return self.model.name

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Answer the first batches, then fail."""
        self.counted.mkdir(parents=True, exist_ok=True)
        if len(list(self.counted.iterdir())) >= self.batches:
            raise InterruptedError
        (self.counted / str(probes["id"][0])).touch()
        return self.model.answer(probes, images)


def probes_fit_and_keep_the_secret(case: Case, _folder: Path) -> None:
    """Check that probes fit their schema, and that neither they nor what they show contain the reference."""
    study, _ = case.usual
    for condition, probes in case.audit.probe(case.data, study):
        check(probes, PROBES)
        shown = fill(probes.head(100), case.data)
        revealed = [name for name in SECRETS if name in (*probes.columns, *shown.columns)]
        assert not revealed, f"condition {condition} gives away {revealed}"


def two_runs_are_equal(case: Case, folder: Path) -> None:
    """Check that the same input gives the same study and the same result."""
    assert_same(case.usual, case.results(folder))


def input_stays_untouched(case: Case, _folder: Path) -> None:
    """Check that study and probes change neither table of the dataset they are handed; a run hands them copies."""
    examples, images = case.data.examples.clone(), case.data.images.table.clone()
    for _ in case.audit.probe(case.data, case.audit.study(case.data, case.engine)):
        pass
    assert_frame_equal(examples, case.data.examples)
    assert_frame_equal(images, case.data.images.table)


def order_does_not_matter(case: Case, folder: Path) -> None:
    """Check that the results do not depend on the order of examples or batches."""
    shuffled = replace(case.data, examples=case.data.examples.sample(fraction=1, shuffle=True, seed=1))
    assert_same(case.usual, case.results(folder / "examples", data=shuffled))
    assert_same(case.usual, case.results(folder / "batches", engine=Backwards()))


def work_resumes_from_files(case: Case, folder: Path) -> None:
    """Check that a run that fails and is continued gives the same results as one that never failed."""
    broken = replace(case, model=Failing(case.model, 2, folder / "counted"))
    try:
        broken.results(folder / "broken")
    except InterruptedError:
        pass
    else:
        raise AssertionError("the model should have failed: provide more than two batches of 37 probes")
    assert_same(case.results(folder / "broken"), case.usual)


def verdicts_rest_on_a_measure(case: Case, _folder: Path) -> None:
    """Check that every verdict answers a question, has a label, and rests on a measure of the result.

    A verdict that tests something has a margin, and one of yes or no a measure of which one direction is better. The
    question is the same for the data and the model, unless the study answers its own.
    """
    for result in case.usual:
        for verdict, headline in zip(result.verdicts, result.headlines, strict=True):
            _check_verdict(verdict, headline, result)
    of_data, of_model = (result.verdict for result in case.usual)
    is_same = of_data.question == of_model.question or of_data.state != "not tested"
    assert is_same, f"a study of {of_data.question!r}, which the result does not answer: {of_model.question!r}"


def _check_verdict(verdict: Verdict, headline: Measure | None, result: Result) -> None:
    assert verdict.question.endswith("?"), f"not a question: {verdict.question!r}"
    assert verdict.label, "no label: sum up the verdict in two or three words"
    assert verdict.measure or not result.measures.height, "no measure: name the one that the verdict rests on"
    is_margin_known = verdict.margin is not None or verdict.state == "not tested"
    assert is_margin_known, f"{verdict.state!r} without a margin: say how far from the ideal counts"
    has_way = verdict.state not in ("yes", "no") or headline is None or headline.better != "neither"
    assert has_way, f"{verdict.state!r} by {headline}, which neither direction makes better: declare which is"


def settings_are_recorded(case: Case, _folder: Path) -> None:
    """Check that the settings recorded in study and result recreate the same audit."""
    for result in case.usual:
        assert remake_audit(refer_to(case.audit), result.settings) == case.audit, result.settings


def nothing_learned_from_is_judged(case: Case, _folder: Path) -> None:
    """Check that no row of the study is of an example that the run learns from."""
    study, _ = case.usual
    learned = case.data.divided(learns=learns(case.audit)).learn
    both = set(study.rows["id"]) & set(learned.examples["id"])
    assert not both, f"rows of examples that are learned from: {sorted(both)[:3]}; judge those of `data.divided`"


def every_example_is_accounted_for(case: Case, _folder: Path) -> None:
    """Check that each probe is counted once under its condition, and that all rows belong to known examples."""
    study, result = case.usual
    counts = result.tables["counts"]
    for condition, probes in case.audit.probe(case.data, study):
        counted = counts.filter(pl.col("condition") == condition)["n"].sum()
        assert counted == probes.height, f"{probes.height} probes of {condition}, {counted} counted"
    unknown = set(result.rows["id"]) - set(case.data.examples["id"])
    assert not unknown, f"rows of examples that do not exist: {sorted(unknown)[:3]}"


PROMISES: Sequence[Callable[[Case, Path], None]] = (
    probes_fit_and_keep_the_secret,
    two_runs_are_equal,
    input_stays_untouched,
    order_does_not_matter,
    verdicts_rest_on_a_measure,
    work_resumes_from_files,
    settings_are_recorded,
    nothing_learned_from_is_judged,
    every_example_is_accounted_for,
)


def check_audit(audit: Audit, data: Dataset, model: Model, engine: Engine | None = None) -> None:
    """Check every promise of an audit, on the local engine or another one."""
    case = Case(audit, data, model, engine or Local())
    for promise in PROMISES:
        with tempfile.TemporaryDirectory() as folder:
            promise(case, Path(folder))


def check_engine(engine: Engine, audit: Audit, data: Dataset, model: Model) -> None:
    """Check that an engine gives exactly the results of the local one, floats included."""
    case = Case(audit, data, model)
    with tempfile.TemporaryDirectory() as folder:
        here, there = Path(folder) / "here", Path(folder) / "there"
        assert_same(case.results(here), case.results(there, engine=engine))


def assert_same(left: tuple[Result, Result], right: tuple[Result, Result]) -> None:
    """Check that two pairs of study and result are exactly equal, table by table."""
    for one, other in zip(left, right, strict=True):
        for name in ("measures", "rows", *one.tables):
            assert_frame_equal(one.table(name), other.table(name), check_exact=True)
        assert (one.views, one.verdicts, one.settings) == (other.views, other.verdicts, other.settings)
