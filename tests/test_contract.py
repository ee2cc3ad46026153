"""Every audit keeps every promise, catches the planted cheaters it is meant to catch, and clears the seer."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from random import random
from typing import Any, ClassVar

import polars as pl
import pytest

from eyechart.audits import AUDITS, make_audit
from eyechart.audits.accuracy import Accuracy
from eyechart.base.errors import EyechartError
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import Predictions
from eyechart.data.protocols import Audit, Engine
from eyechart.data.result import Key, Result, State
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.models import load
from eyechart.reporting.overall import Overall, Remedies, combine
from eyechart.runs.contract import PROMISES, Case, check_audit, work_resumes_from_files
from eyechart.runs.run import Run
from eyechart.runs.verbs import audit

# The right verdict on each planted answerer; no audit may be missing there.
STATES: tuple[State, ...] = ("yes", "no", "cannot tell", "not tested")
TRUTH = (Path(__file__).parent.parent / "docs" / "truth.md").read_text(encoding="utf-8")


def read_truth(text: str) -> dict[str, dict[str, str]]:
    """Read a table of the docs: its cells by column and row."""
    lines = [
        [cell.strip(" `") for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")
    ]
    head, *rows = lines
    return {audit: {row[0]: row[column] for row in rows} for column, audit in enumerate(head) if column}


OF_MODELS, OF_DATA = TRUTH.split("## World forms")
RIGHT, FORMS = read_truth(OF_MODELS), read_truth(OF_DATA)
OVERALL = RIGHT.pop("overall")  # the line that sums up an answerer
SURE = [(audit, answerer, right) for audit, by in RIGHT.items() for answerer, right in by.items() if right != "open"]

# What audits miss: the right verdict stays in the docs, and its test fails until they find it.
NO_SCORE = "perception goes by scores, and an answer that names two options scores 0 with any picture"
MISSED = {
    ("perception", "hedger"): NO_SCORE,
    ("splits", "abstainer"): "half of the answers are wrong at random: 1,500 are too few to be sure to 5 points",
}


def expected(*case: str, by: str = "") -> Any:  # noqa: ANN401 - pytest's own
    """Mark a case as one that an audit misses, with the reason."""
    key = tuple(part for part in (by, *case) if part not in {"yes", "no", ""})
    marks = [pytest.mark.xfail(reason=MISSED[key], strict=True)] if key in MISSED else []
    return pytest.param(*case, marks=marks, id="-".join(case))


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=11, images=60)


@pytest.fixture(scope="module")
def large_world() -> Dataset:
    return read("world", seed=12, images=1000)


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


@pytest.fixture(scope="module")
def studied(large_world: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Study the world once by every audit, to judge one answerer after another."""
    run = Run(Store(tmp_path_factory.mktemp("truth") / "run")).start(large_world)
    run.study([make_audit(name) for name in AUDITS.names()])
    return run


def judged(studied: Run, answerer: str) -> Mapping[str, Result]:
    """Judge an answerer by every audit, once."""
    model = load(f"world:{answerer}")
    return studied.store.results().get(model.name) or studied.audit(model)


@pytest.mark.parametrize(("name", "answerer", "right"), [expected(*case) for case in SURE])
def test_a_planted_answerer_gets_the_right_verdict(name: str, answerer: str, right: str, studied: Run) -> None:
    assert judged(studied, answerer)[name].verdict.state == right


def test_the_line_of_an_answerer_follows_from_its_row() -> None:
    """Whatever the open cells of a row turn out to be; where that would change the line, the line is open."""
    subjects = {audit: about for audit, about in Remedies.of().about.items() if about != "other"}
    looking = [audit for audit, about in subjects.items() if about == "looking"]
    for answerer, line in OVERALL.items():
        row = {audit: RIGHT[audit][answerer] for audit in subjects}
        possible = [STATES if cell == "open" else (cell,) for cell in row.values()]
        lines = {
            combine({a: [s] for a, s in zip(row, states, strict=True)}, looking)[0] for states in product(*possible)
        }

        assert {line} == lines if line != "open" else len(lines) > 1


@pytest.mark.parametrize(
    ("answerer", "right"), [expected(*pair, by="overall") for pair in OVERALL.items() if pair[1] != "open"]
)
def test_a_planted_answerer_gets_the_right_line(answerer: str, right: str, studied: Run) -> None:
    verdicts = {name: result.verdicts for name, result in judged(studied, answerer).items()}

    found = Overall.of(answerer, verdicts, Remedies.of())

    assert (found.state, found.commands) == (right, {})


@cache
def make_form(name: str) -> Dataset:
    """Make the data of a row of the world forms."""
    made = read("world", seed=12, **dict(part.split("=", 1) for part in FORMS["settings"][name].split()))
    return made.take(pl.col("answer_type") == "yes/no") if "only" in name else made


def on_own_options(name: str) -> Audit:
    """Make an audit; decoys without repaired options, which are not asked about here."""
    return make_audit(name, {"sets": ("orig",), "ask": ("orig",)} if name == "decoys" else {})


@pytest.fixture(scope="module")
def form_runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """Give the run of a form, whose data are studied by decoys: all answerers share it, and all audits the answers."""

    @cache
    def start(form: str) -> Run:
        run = Run(Store(tmp_path_factory.mktemp("form") / "run")).start(make_form(form))
        run.study([on_own_options("decoys")])
        return run

    return start


@pytest.mark.parametrize("form", FORMS["settings"])
def test_data_of_every_form_get_the_right_verdicts(form: str, form_runs: Callable[[str], Run]) -> None:
    verdicts = form_runs(form).store.studies()["decoys"].verdicts

    questions = [verdict.question.lower() for verdict in verdicts]
    assert questions == [column for column in FORMS if column != "settings"]
    assert [verdict.state for verdict in verdicts] == [FORMS[question][form] for question in questions]


@pytest.mark.parametrize(
    ("name", "answerer", "form"),
    [
        expected(audit, answerer, form)
        for form in ("length cue", "one question an image", "no train")
        for audit, by in RIGHT.items()
        for answerer in ("seer", "blind")
        if by[answerer] != "open"
    ],
)
def test_a_planted_answerer_gets_the_right_verdict_on_every_form(
    name: str, answerer: str, form: str, form_runs: Callable[[str], Run]
) -> None:
    run = form_runs(form)
    run.study([on_own_options(audit) for audit in AUDITS.names()])  # what is studied already stays

    assert judged(run, answerer)[name].verdict.state == RIGHT[name][answerer]


def test_who_goes_by_length_is_caught_where_length_is_planted(form_runs: Callable[[str], Run]) -> None:
    assert judged(form_runs("length cue"), "cheater:length")["decoys"].verdict.state == "no"


@pytest.mark.parametrize("name", AUDITS.names())
@pytest.mark.parametrize("form", ["test only", "no split column", "one question an image"])
def test_little_data_of_any_form_get_a_verdict_or_one_line(name: str, form: str) -> None:
    small = read("world", seed=13, images=40, **({"questions": 1} if "one" in form else {"shares": (0.0, 0.0, 1.0)}))
    if form == "no split column":
        small = replace(small, examples=small.examples.drop("split"))
    try:
        found = audit(small, "world:seer", [on_own_options(name)])[name].verdict
        said = f"{found.state}: {found.sentence}"
    except EyechartError as error:
        said = str(error)

    assert said
    assert "\n" not in said
    assert not said.startswith("no: ")


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


class Meddling(Accuracy):
    """Write into the data."""

    def study(self, data: Dataset, engine: Engine) -> Result:
        data.examples.insert_column(0, pl.lit(value=True).alias("seen"))
        return super().study(data, engine)


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
        (Meddling, r"columns mismatch: .*seen"),
        (Greedy, "rows of examples that are learned from: .*; judge those of `data.divided`"),
    ],
)
def test_an_audit_that_breaks_a_promise_is_told_so(kind: type[Accuracy], message: str, world: Dataset) -> None:
    """The suite itself can fail: each of these audits breaks what it should, and one line says so."""
    own = replace(world, examples=world.examples.clone())
    with pytest.raises(AssertionError, match=message) as told:
        check_audit(kind(), own, load("world:seer"))
    if kind not in (Moody, Meddling):  # which tables differ, and how, takes more
        assert "\n" not in str(told.value)


def test_too_little_data_to_interrupt_is_said(tiny: Dataset, tmp_path: Path) -> None:
    case = Case(make_audit("accuracy"), tiny, load("world:guesser"))

    with pytest.raises(AssertionError, match="provide more than two batches"):
        work_resumes_from_files(case, tmp_path)
