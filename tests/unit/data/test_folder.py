"""One file knows where everything in a run folder is."""

import ast
import re
from pathlib import Path

import pytest

from eyechart.data.folder import RunFolder

SOURCE = Path(__file__).parents[3] / "src" / "eyechart"
ROOMS = ("audits", "runs", "reporting", "viewing", "cli")
FILES = sorted(path for room in ROOMS for path in (SOURCE / room).rglob("*.py"))
OF_A_RUN = re.compile(
    r"(manifest|division|left_out|wanted|settings|views)\.json|people\.jsonl|\.jsonl|report\.html"
    r"|(data|studies|probes|answers|results)/.*|.*\*.*\.(json|parquet)"
)
OTHERS = {  # what only looks like a file of a run
    "audits/decoys/exports.py": {".jsonl"},  # the end of the files that it writes
    "reporting/page.py": {"report.html"},  # the template of the page
    "viewing/bundle.py": {"data/"},  # a folder of the site that it writes
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nobody_else_knows_where_the_files_of_a_run_are(path: Path) -> None:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    named = {text for text in texts if OF_A_RUN.fullmatch(text)}

    assert named <= OTHERS.get(str(path.relative_to(SOURCE)), set())


def test_names_with_slashes_and_colons_are_one_folder(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.result_folder("org/red:1", "accuracy").mkdir(parents=True)
    run.answer_folder("org/red:1").mkdir(parents=True)

    assert list(run.result_folders()) == run.models() == ["org/red:1"]
    assert not run.has_answers("org/red:1")


def test_drafts_are_no_studies(tmp_path: Path) -> None:
    for name in ("accuracy", ".accuracy.x1"):
        RunFolder(tmp_path).study_folder(name).mkdir(parents=True)

    assert list(RunFolder(tmp_path).study_folders()) == ["accuracy"]
    assert RunFolder(tmp_path).plan_files() == []
    assert RunFolder(tmp_path).verdict_files() == [tmp_path / "studies" / "accuracy" / "settings.json"]
