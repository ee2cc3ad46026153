"""The audit of docs/extending.md shows all that it brings: a view, a colour, a page of the explorer and an export."""

import csv
import io
import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from starlette.testclient import TestClient

from eyechart.cli import main
from eyechart.data.store import Store
from eyechart.viewing.server import Guard, build_explorer
from packed import unpacked
from test_pages import FILE_NAME, PROJECT, blocks

PAGE = PROJECT / "docs" / "extending.md"
OWN = ("quiz.py", "quiz.txt", "oracle.py", "brevity.py")  # the files of the page that the audit needs
RUNS = ("QUIZ", "runs/brief")  # what its commands write
COLOR, SAID = "7a4fd0", "without the picture"
WORDY = ["0", "2"]  # the examples that the oracle answers in two words


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Put down the files of the page and type its commands on them; stay in their folder."""
    here = tmp_path_factory.mktemp("extending")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(here)
        for language, text, _ in blocks(PAGE):
            name = FILE_NAME.match(text)
            if name and name[1] in OWN:
                Path(name[1]).write_text(text[name.end() :], encoding="utf-8")
            if language == "console":
                commands = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
                for command in commands:
                    if any(run in shlex.split(command) for run in RUNS):
                        patched.setattr("sys.argv", shlex.split(command))
                        with pytest.raises(SystemExit) as leaving:
                            main()
                        assert not leaving.value.code
        yield here


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    guard = Guard("a-token", ["127.0.0.1"], 8000)
    app = build_explorer(Store(folder / "runs" / "brief"), guard, ("brevity.py:Brevity",))
    with TestClient(app, base_url="http://127.0.0.1:8000", cookies={guard.cookie: guard.token}) as opened:
        yield opened


def test_the_export_has_the_wordy_examples(folder: Path) -> None:
    assert json.loads((folder / "wordy" / "wordy.json").read_text()) == WORDY


def test_the_report_has_the_view_and_the_colour_of_the_condition(folder: Path) -> None:
    report = unpacked((folder / "brief.html").read_text())
    shares = Store(folder / "runs" / "brief").results()["answer"]["brevity"].tables["shares"]

    assert shares.select("words", "n").rows() == [("1", 1), ("2", 2)]
    assert shares["share"].to_list() == pytest.approx([1 / 3, 2 / 3])
    assert "Words in an answer" in report
    assert "A long first bar is a model that is brief." in report
    assert f".under.of-{COLOR} {{ --dot: #{COLOR}; }}" in report
    assert f'class="under of-{COLOR}" title="{SAID}">unseen' in report


def test_the_explorer_has_its_page_and_its_file(client: TestClient) -> None:
    assert '<a href="/wordy">Wordy answers</a>' in client.get("/").text
    page = client.get("/wordy")
    rows = list(csv.DictReader(io.StringIO(client.get("/wordy.csv").text)))

    assert "Examples that some model answers in several words." in page.text
    assert "Nothing to list" not in page.text
    assert all(f"/example?id={name}" in page.text for name in WORDY)
    assert [(row["id"], row["words"]) for row in rows] == [(name, "2") for name in WORDY]


def test_the_explorer_has_the_colour_and_the_words_of_its_condition(client: TestClient) -> None:
    assert f".dot.of-{COLOR}" in client.get("/looks.css").text
    for path in ("/example?id=0", "/examples?model=answer&condition=unseen"):
        page = client.get(path).text
        assert f'<span class="dot of-{COLOR}" aria-hidden="true"></span><span title="{SAID}">unseen</span>' in page
    assert f'<option title="{SAID}" selected>unseen</option>' in page


def test_models_are_compared_by_it(folder: Path) -> None:
    measures = Store(folder / "runs" / "brief").results()["answer"]["brevity"].measures

    assert measures.filter(pl.col("of") == "brief")["better"].to_list() == ["higher"]
