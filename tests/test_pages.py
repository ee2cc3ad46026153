"""What the README and the docs tell people to write and to type works, in the order they tell it."""

import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eyechart.base.errors import ReadingWarning
from eyechart.cli import main

PROJECT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# ([\w.]+\.\w+)\n")
NEEDS_SHELL = re.compile(r"[|&;<>*?~$`]")


class Block(NamedTuple):
    """A fenced block of a page: its language, its text, and the line it begins on."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    content = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(content):
        yield Block(found[1], found[2], content[: found.start(2)].count("\n"))


PAGES = [page for page in (PROJECT / "README.md", *sorted(PROJECT.glob("docs/**/*.md"))) if any(blocks(page))]


def put_down_vqa_files(folder: Path) -> None:
    """Put down the files that the README's second example takes for granted."""
    ids = range(1000, 1020)
    annotation = {
        "question_type": "what color is",
        "answer_type": "other",
        "multiple_choice_answer": "red",
        "answers": [{"answer": "red", "answer_confidence": "yes", "answer_id": i} for i in range(10)],
    }
    questions = [{"question_id": n, "image_id": n // 3, "question": "what color is it?"} for n in ids]
    annotations = [{"question_id": n, "image_id": n // 3, **annotation} for n in ids]
    files = {
        "vqa_files/v2_OpenEnded_mscoco_val2014_questions.json": {"questions": questions},
        "vqa_files/v2_mscoco_val2014_annotations.json": {"annotations": annotations},
        "results.json": [{"question_id": n, "answer": "red"} for n in ids],
    }
    (folder / "vqa_files").mkdir()
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")


def type_in(text: str, run: Callable[[str], str]) -> None:
    """Type the `$` lines; the other lines must stand in what the one before them printed."""
    printed = ""
    for line in text.splitlines():
        if not line.startswith("$ "):
            assert line in printed
        elif not line.startswith("$ make "):  # this very test is run by one of them
            printed = run(line.removeprefix("$ "))


def shell(command: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/bash", "-c", command], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """Run our own commands in this process, which has loaded everything; all that needs a shell gets one."""

    def run(command: str) -> str:
        words = shlex.split(command, comments=True)
        if words[0] != "eyechart" or NEEDS_SHELL.search(command):
            return shell(command)
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as leaving:
            main()
        out, err = capsys.readouterr()
        assert not leaving.value.code, f"{command}\n{out}\n{err}"
        return out

    return run


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_a_page_does_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: Callable[[str], str]
) -> None:
    """A block that begins with `# name.py` is a file; Python is run and consoles are typed into, in one folder.

    Python that reads something doubtful says so by `# warns: ...`.
    """
    put_down_vqa_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    namespace: dict[str, Any] = {"__name__": page.stem}
    for language, text, line in blocks(page):
        name = FILE_NAME.match(text)
        if name:
            Path(name[1]).write_text(text[name.end() :], encoding="utf-8")
        elif language == "console":
            type_in(text, here)
        elif language == "python":
            with warnings.catch_warnings(record=True) as doubts:
                warnings.simplefilter("always", ReadingWarning)
                exec(compile("\n" * line + text, str(page), "exec"), namespace)  # noqa: S102 - our own docs
            assert len(doubts) == text.count("  # warns: "), [str(doubt.message) for doubt in doubts]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
