"""Only code that the command line itself names is imported; what a file names needs permission, whatever the verb."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from eyechart.audits import make_audit
from eyechart.base.errors import SettingError
from eyechart.base.trust import check_named, is_everything_trusted, trusting, words_of
from eyechart.data.dataset import Dataset
from eyechart.data.store import Store
from eyechart.models.function import Function
from eyechart.runs.interview import Asking
from eyechart.runs.run import Run
from eyechart.viewing.server import Guard, build_explorer

Eyechart = Callable[..., tuple[int, str, str]]

EVIL = """
from dataclasses import dataclass
from pathlib import Path
from eyechart.audits.accuracy import Accuracy
Path({mark!r}).touch()

@dataclass(frozen=True)
class Evil(Accuracy):
    pass

def answer(rows):
    return ["red"] * len(rows)

def read(path):
    raise RuntimeError

def score(features, targets, others):
    raise RuntimeError
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny: Dataset) -> Path:
    """Make a run with a result, and save its data beside it."""
    folder = tmp_path_factory.mktemp("made")
    tiny.save(folder / "data")
    run = Run(Store(folder / "run")).start(Dataset.load(folder / "data"))
    run.study([make_audit("accuracy")])
    for name in ("one", "two"):
        run.audit(Function(name, lambda rows: ["red"] * len(rows)))
    return folder


@pytest.fixture
def foreign(made: Path, tmp_path: Path) -> Path:
    """Let the plan of a run name code that leaves a mark when it is imported."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    (tmp_path / "evil.py").write_text(EVIL.format(mark=str(tmp_path / "ran")))
    plan = tmp_path / "run" / "studies" / "accuracy.json"
    plan.write_text(json.dumps(json.loads(plan.read_text()) | {"reference": f"{tmp_path / 'evil.py'}:Evil"}))
    return tmp_path


COMMANDS = {
    "probe": ("probe", "run"),
    "judge": ("judge", "run"),
    "predict": ("predict", "run", "-m", "predictions:answers.csv"),
    "study": ("study", "data", "-a", "accuracy", "-o", "run"),
    "audit": ("audit", "data", "-a", "accuracy", "-m", "predictions:answers.csv", "-o", "run"),
    "report": ("report", "run"),
    "compare": ("compare", "run"),
    "export": ("export", "run", "--to", "eee", "-o", "exported"),
}
USING = ("probe", "judge", "study", "audit")  # the verbs that need the audit itself


@pytest.mark.parametrize("verb", COMMANDS)
def test_no_verb_runs_code_that_a_run_names(foreign: Path, eyechart: Eyechart, verb: str) -> None:
    (foreign / "answers.csv").write_text("id,answer\n" + "".join(f"0{n},red\n" for n in range(8)))
    code, _, err = eyechart(*COMMANDS[verb])

    assert not (foreign / "ran").exists()
    assert (code, "add --trust if you trust it" in err) == ((1, True) if verb in USING else (0, False)), err


def test_the_explorer_runs_none_of_it(foreign: Path) -> None:
    guard = Guard("a-token", ["127.0.0.1"], 8000)
    app = build_explorer(Store(foreign / "run"), guard)
    with TestClient(app, base_url="http://127.0.0.1:8000", cookies={guard.cookie: guard.token}) as client:
        codes = [client.get(path).status_code for path in ("/", "/examples", "/compare")]

    assert codes == [200] * 3
    assert not (foreign / "ran").exists()


@pytest.mark.parametrize("verb", ["probe", "judge"])
def test_with_permission_it_runs(foreign: Path, eyechart: Eyechart, verb: str) -> None:
    code, _, err = eyechart(*COMMANDS[verb], "--trust")

    assert (code, (foreign / "ran").exists()) == (0, True), err
    assert not is_everything_trusted(), "the next command in this process asks again"


def test_python_asks_as_well(foreign: Path) -> None:
    with pytest.raises(SettingError, match=r"Asking\(trust=True\)"):
        Run(Store(foreign / "run")).probe()
    assert not (foreign / "ran").exists()
    Run(Store(foreign / "run"), asking=Asking(trust=True)).probe()
    assert (foreign / "ran").exists()


def test_an_audit_of_the_command_line_needs_no_permission(foreign: Path, eyechart: Eyechart) -> None:
    """Its study names the file as well, by its whole path, and the same command goes on with it."""
    words = ("-a", "evil.py:Evil", "-m", "python:evil.py:answer", "-o", "mine")
    code, _, err = eyechart("audit", "data", *words)

    assert (code, (foreign / "ran").exists()) == (0, True), err


@pytest.mark.parametrize(
    ("command", "settings"),
    [
        (("predict", "run"), "model: python:evil.py:answer"),
        (("predict", "run"), "model: ['python:evil:answer']"),
        (("audit", "data", "-o", "mine"), "{model: 'predictions:answers.csv', audit: evil.py:Evil}"),
        (("study", "data", "-o", "mine"), "audit: [accuracy, evil.py:Evil]"),
        (("export", "run", "-o", "exported"), "to: evil.py:read"),
        (("export", "run", "-o", "exported", "--to", "eee"), "audit: evil.py:Evil"),
    ],
)
def test_a_settings_file_names_no_code(
    foreign: Path, eyechart: Eyechart, command: tuple[str, ...], settings: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(foreign))
    (foreign / "answers.csv").write_text("id,answer\n00,red\n")
    (foreign / "settings.yaml").write_text(settings)
    code, _, err = eyechart(*command, "--config", "settings.yaml")

    assert code == 1
    assert "expected code named on the command line; found 'evil" in err
    assert "add --trust" in err
    assert not (foreign / "ran").exists()


@pytest.mark.parametrize("settings", ["trust: true", "model: 'zoo:models/one,trust=yes'"])
def test_a_settings_file_gives_no_permission(foreign: Path, eyechart: Eyechart, settings: str) -> None:
    (foreign / "settings.yaml").write_text(settings)
    code, _, err = eyechart("predict", "run", "--config", "settings.yaml")

    assert code == 1
    assert "expected trust on the command line alone; found trust in settings.yaml" in err


def test_with_permission_a_settings_file_names_code(foreign: Path, eyechart: Eyechart) -> None:
    (foreign / "settings.yaml").write_text("model: python:evil.py:answer")
    code, _, err = eyechart("predict", "run", "--config", "settings.yaml", "--trust")

    assert (code, (foreign / "ran").exists()) == (0, True), err


@pytest.mark.parametrize(
    ("words", "reference"),
    [
        (["-m", "python:it.py:answer"], "it.py:answer"),
        (["--model=python:it.py:answer"], "it.py:answer"),
        (["-mpython:it.py:answer"], "it.py:answer"),
        (["-a", "./it.py:Mine"], "it.py:Mine"),
        (["--set", "decoys.scorer=pack.age:best"], "pack.age:best"),
        (["--debias", "plain@8,lmh+it.py:Mine"], "it.py:Mine"),
        (["read", "it.py:read"], str(Path("it.py").resolve()) + ":read"),
    ],
)
def test_every_way_to_name_code_on_the_command_line_is_understood(words: list[str], reference: str) -> None:
    with words_of(words):
        check_named(reference)


@pytest.mark.parametrize("words", [[], ["-m", "python:data.py:f"], ["a.py"], ["-m", "python:a.py:g"], ["--trusting"]])
def test_what_only_resembles_a_name_is_no_permission(words: list[str]) -> None:
    with words_of(words), pytest.raises(SettingError, match="code named on the command line"):
        check_named("a.py:f")
    check_named("a.py:f")  # a caller in Python names its own
    with words_of(words), trusting():
        check_named("a.py:f")
