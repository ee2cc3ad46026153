"""What the README and the docs tell people to type works, in the order they tell it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
PAGES = [
    path for path in (PROJECT / "README.md", *sorted(PROJECT.glob("docs/**/*.md"))) if "```console" in path.read_text()
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# ([\w.]+\.\w+)\n")


def vqa_files(folder: Path) -> None:
    """Put down the files that the README's second example takes for granted."""
    import json

    (folder / "vqa_files").mkdir()
    ids = list(range(1000, 1020))
    questions = [{"question_id": n, "image_id": n // 3, "question": "what color is it?"} for n in ids]
    annotations = [
        {
            "question_id": n,
            "image_id": n // 3,
            "question_type": "what color is",
            "answer_type": "other",
            "multiple_choice_answer": "red",
            "answers": [{"answer": "red", "answer_confidence": "yes", "answer_id": i} for i in range(10)],
        }
        for n in ids
    ]
    (folder / "vqa_files" / "v2_OpenEnded_mscoco_val2014_questions.json").write_text(
        json.dumps({"questions": questions})
    )
    (folder / "vqa_files" / "v2_mscoco_val2014_annotations.json").write_text(json.dumps({"annotations": annotations}))
    (folder / "results.json").write_text(json.dumps([{"question_id": n, "answer": "red"} for n in ids]))


def run(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": "200"}
    done = subprocess.run(
        ["/bin/bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_work(page: Path, tmp_path: Path) -> None:
    """Blocks that begin with `# name.py` are files; `$` lines are typed; other lines stand in the output."""
    vqa_files(tmp_path)
    for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        name = FILE_NAME.match(text)
        if name:
            (tmp_path / name[1]).write_text(text[name.end() :], encoding="utf-8")
        elif language == "console":
            printed = ""
            for line in text.splitlines():
                if not line.startswith("$ "):
                    assert line in printed
                elif not line.startswith("$ make "):  # this very test is run by one of them
                    printed = run(line.removeprefix("$ "), tmp_path)
