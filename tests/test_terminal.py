"""What commands print in the end fits the terminal, and names what was found, where to look and what to run."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from eyechart.base.progress import Advance, watched_by
from eyechart.cli.ending import print_ending
from eyechart.cli.matrix import lay_out
from eyechart.cli.printing import print_error, print_layout
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.result import State
from eyechart.data.store import Store
from eyechart.data.tables import COUNTS, empty
from eyechart.formats import read
from eyechart.reporting import Page, collect
from eyechart.reporting.glance import Cell, Glance, ModelLine
from eyechart.reporting.overall import Overall
from eyechart.runs.run import Run

Eyechart = Callable[..., tuple[int, str, str]]
QUESTIONS = {
    "accuracy": "Better than guessing?",
    "decoys": "Does it need more than the options?",
    "grounding": "Do its answers hang on the evidence?",
    "perception": "Does it use every modality?",
    "rules": "Free of the shortcuts that rules describe?",
    "splits": "As good on rare answers as on frequent ones?",
}
STATES: tuple[State, ...] = ("yes", "no", "cannot tell", "not tested")


def make_line(model: str, first: int, audits: int) -> ModelLine:
    cells = []
    for n, (audit, question) in enumerate([*QUESTIONS.items()] * 3):
        state = STATES[(first + n) % 4]
        text = "" if state == "not tested" else f"-{10 + n}.5 [-21.1, -15.4]"
        if n < audits:
            cells.append(Cell(audit if n < 6 else f"{audit}{n}", question, state, "", "", text=text, measure="gain"))
    return ModelLine(model, "", None, Overall(model, STATES[first % 4], "", (), {}, {}), tuple(cells))


def make_glance(models: int, audits: int) -> Glance:
    names = (
        "blind",
        "cheater",
        "cheater:decoy",
        "guesser",
        "seer",
        *(f"org/Some-Long-Model-7B-v{n}" for n in range(40)),
    )
    lines = tuple(make_line(name, n, audits) for n, name in enumerate(names[:models]))
    heads = tuple((cell.audit, cell.question) for cell in lines[0].cells) if lines else ()
    return Glance((), heads, lines, (), (), None)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize(("models", "audits"), [(1, 1), (1, 6), (2, 6), (5, 6), (8, 6), (30, 6), (5, 18), (30, 18)])
def test_the_matrix_fits_and_holds_every_cell(models: int, audits: int, width: int) -> None:
    glance = make_glance(models, audits)
    lines = lay_out(glance, width, colored=False)
    text = "\n".join(lines)
    tested = sum(cell.state != "not tested" for line in glance.models for cell in line.cells)

    assert max(map(len, lines)) <= width
    assert len(re.findall(r"-1\d\.5|-2\d\.5", text)) == tested
    assert all(audit in text for audit, _ in glance.heads)
    assert ("cannot tell" in text) == any(cell.state == "cannot tell" for line in glance.models for cell in line.cells)


def test_a_wide_terminal_has_words_and_intervals_and_a_narrow_one_signs() -> None:
    glance = make_glance(5, 6)
    wide, narrow = ("\n".join(lay_out(glance, width, colored=False)) for width in (200, 80))

    assert "cannot tell -12.5 [-21.1, -15.4]" in wide
    assert "[-21.1" not in narrow
    assert re.search(r"\? +-12.5", narrow)
    assert "? = cannot tell: more examples would help. - = not tested." in " ".join(narrow.split())
    assert len(narrow.splitlines()) <= 21


def test_long_names_break_where_their_parts_end() -> None:
    text = lay_out(make_glance(5, 6), 80, colored=False)

    assert "cheater:" in text[0].split()
    assert "decoy" in text[1].split()


def test_colours_take_no_room() -> None:
    glance = make_glance(5, 6)
    plain, colored = (lay_out(glance, 80, colored=colored) for colored in (False, True))

    assert colored != plain
    assert [re.sub(r"\x1b\[\d+m", "", line).rstrip() for line in colored] == plain


@pytest.fixture(scope="module")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Audit two models, of which neither was tested by all audits."""
    from eyechart.audits import make_audit
    from eyechart.models import load

    store = Store(tmp_path_factory.mktemp("terminal") / "run")
    run = Run(store).start(read("world", seed=0, images=30), "eyechart audit", 0)
    run.study([make_audit("accuracy", {}), make_audit("perception", {})])
    for _ in run.audit_each([load("world:seer"), load("world:blind")]):
        pass
    return store


@pytest.fixture(scope="module")
def page(demo_run: Store) -> Page:
    return collect(demo_run)


@pytest.fixture
def told(demo_run: Store, page: Page, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def tell(**settings: object) -> str:
        print_ending(page, demo_run, **({"verbose": False, "as_json": False} | settings))  # type: ignore[arg-type]
        return capsys.readouterr().out

    return tell


def test_a_run_ends_with_sentences_the_matrix_and_where_to_look(told: Callable[..., str], demo_run: Store) -> None:
    out = told(report=Path("report.html"))
    flat = " ".join(out.split())

    assert out.startswith("blind is right")
    assert "seer is right 100 % of the time and looks" in flat
    assert "Does it look?" in out
    assert "report: report.html" in out
    assert f"explore: eyechart view {demo_run.folder}" in out
    assert len(out.splitlines()) <= 25
    assert "[95 %]" not in out


def test_what_was_not_tested_says_why_and_what_to_run_once_for_all_models(told: Callable[..., str]) -> None:
    out = told()

    assert out.count("Not tested: decoys, grounding, rules and splits (not run).") == 1
    (command,) = [line for line in out.splitlines() if line.startswith("  to test")]
    assert "for blind, and likewise for seer: eyechart audit " in command
    assert " -a decoys -a grounding -a rules -a splits " in command


def test_the_table_of_verdicts_is_shown_on_request(told: Callable[..., str]) -> None:
    out = told(verbose=True)

    assert "value [95 %]" in out
    assert "seer: Does it look? yes: perception says yes." in out
    assert out.count("to test decoys") == 2


def test_json_holds_the_glance_beside_all_that_it_held(told: Callable[..., str]) -> None:
    import json

    content = json.loads(told(as_json=True))

    assert {"summary", "overall", "sections", "glance"} <= content.keys()
    assert [line["model"] for line in content["glance"]["models"]] == ["blind", "seer"]


def test_a_study_alone_ends_with_what_it_found(eyechart: Eyechart) -> None:
    eyechart("read", "world", "-o", "W", "--set", "images=20")

    code, out, _ = eyechart("study", "W", "-a", "accuracy", "-o", "R")

    assert code == 0
    assert re.search(r"^accuracy  floor, points +\d+\.\d \[", out, re.MULTILINE)
    assert "eyechart report R" in out
    assert "eyechart view R" in out


MESSAGE = (
    "expected a file of answers; found nothing at /a/very/long/path/that/must/stay/whole/so/that/it/can/be/copied.json"
)


def test_an_error_breaks_at_words_in_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    print_error(MESSAGE)
    err = capsys.readouterr().err

    assert err.count("\n") > 1
    assert " ".join(err.split()) == f"eyechart: {MESSAGE}"
    assert "copied.json" in err.splitlines()[-1]


def test_an_error_is_one_line_for_programs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    print_error(MESSAGE)

    assert capsys.readouterr().err == f"eyechart: {MESSAGE}\n"


def test_what_was_read_is_one_line_that_names_what_was_lost(capsys: pytest.CaptureFixture[str]) -> None:
    examples = pl.DataFrame({"id": ["1"], "image": ["a"], "question": ["q"], "answer": ["x"]})
    counts = pl.DataFrame(
        [(None, "read", None, 1), (None, "dropped", "no question", 2)], schema=empty(COUNTS).schema, orient="row"
    )
    whole = Dataset("quiz", examples, Images.named(examples["image"])).with_layout({"id": "key"})
    lossy = Dataset("quiz", examples, Images.named(examples["image"]), counts=counts).with_layout({"id": "key"})

    print_layout(whole, verbose=False)
    print_layout(lossy, verbose=False)

    assert capsys.readouterr().out.splitlines() == [
        "quiz read as: id = key",
        "quiz read as: id = key; lost: 2 dropped (no question)",
    ]


def test_rows_are_counted_in_a_table_only_where_some_were_lost(eyechart: Eyechart) -> None:
    Path("t.csv").write_text("id,image,question,answer\n1,a,q,a\n2,b,q,b\n")

    plain, verbose = (
        eyechart("read", "table", "t.csv", "-o", name, *more)[1] for name, more in (("A", ()), ("B", ("-v",)))
    )

    assert "rows read and dropped" not in plain
    assert "rows read and dropped" in verbose


def test_which_audits_can_run_is_told_in_80_columns(
    eyechart: Eyechart, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    eyechart("read", "world", "-o", "W", "--set", "images=20")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    out = re.sub(r"\x1b\[\d+m", "", eyechart("ls", "audits", "--for", "W")[1])

    assert max(map(len, out.splitlines())) <= 80
    assert all(re.search(rf"^ *{audit} +yes +\w+ \w+", out, re.MULTILINE) for audit in QUESTIONS)
    assert len(out.splitlines()) <= 25


def test_each_crossed_threshold_names_its_condition_and_group(eyechart: Eyechart) -> None:
    eyechart("read", "world", "-o", "W", "--set", "images=20")
    words = (
        "audit",
        "W",
        "-a",
        "perception",
        "-a",
        "accuracy",
        "-m",
        "world:blind",
        "--by",
        "question_type",
        "-o",
        "R",
    )
    code, _, err = eyechart(*words, "--fail-on", "perception.perception < 200", "--fail-on", "accuracy.gain < 200")

    crossed = [line for line in err.splitlines() if line.startswith("crossed: ")]
    assert code == 2
    assert len(crossed) == len(set(crossed)) > 2
    assert any("[image]" in line for line in crossed)
    assert any("[question]" in line for line in crossed)


def test_drawing_a_world_moves_picture_by_picture(tmp_path: Path) -> None:
    steps: list[object] = []

    @contextmanager
    def watch(label: str, total: int) -> Iterator[Advance]:
        steps.append((label, total))
        yield steps.append

    with watched_by(watch):
        read("world", tmp_path, images=3, render=True)

    assert steps[:4] == [("drawing pictures", 3), 1, 1, 1]
