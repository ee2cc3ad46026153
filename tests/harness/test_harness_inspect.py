"""Inspect itself asks what a run exports, and scores repaired options as eyechart judges them."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from eyechart.data.dataset import Dataset
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.formats.exports import EXPORTS
from eyechart.models import load
from eyechart.runs.run import Run
from harness.conftest import CONDITIONS, needs

PYTHON = "EYECHART_INSPECT"
pytestmark = needs(PYTHON)
# Each output carries its usage, or the tool would download a tokenizer to count its tokens.
SCRIPT = """
import json, sys
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

def say(messages, tools, choice, config):
    parts = messages[-1].content
    pictures = 0 if isinstance(parts, str) else sum(part.type == "image" for part in parts)
    output = ModelOutput.from_content("mockllm/model", f"{pictures} pictures.\\nANSWER: A")
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output

for log in eval(sys.argv[1], model=get_model("mockllm/model", custom_outputs=say), log_dir="logs", display="none"):
    assert log.status == "success", log.error
    for score in log.results.scores if log.results else ():
        print("TOLD", json.dumps(score.metrics["accuracy"].value))
"""


def test_every_condition_is_asked_and_comes_back_by_id(harness: Callable[..., str], run: Store, tmp_path: Path) -> None:
    EXPORTS.get("inspect")(run, tmp_path)
    (tmp_path / "ask.py").write_text(SCRIPT)
    harness(PYTHON, tmp_path, "ask.py", "tasks.py")
    model = load(f"predictions:{tmp_path / 'logs'},extract=yes")
    Run(run).predict(model)
    answers = run.answers(model.name).answers

    assert sorted(answers.group_by("condition").len().rows()) == [(one, 6) for one in CONDITIONS]
    seen = dict(answers.select("condition", pl.col("raw").str.extract(r"^(\d) pictures")).unique().rows())
    assert seen == {"image=blank": "1", "image=none": "0", "plain": "1"}


def test_repaired_options_are_scored_as_we_judge_them(
    harness: Callable[..., str],
    export_repaired: Callable[[str, Path], None],
    judged: Callable[[Dataset, Path], float],
    tmp_path: Path,
) -> None:
    """The model says A to everything."""
    export_repaired("decoys-inspect", tmp_path)
    (tmp_path / "ask.py").write_text(SCRIPT)
    told = harness(PYTHON, tmp_path, "ask.py", "task.py")
    [theirs] = [float(line.removeprefix("TOLD ")) for line in told.splitlines() if line.startswith("TOLD ")]
    [table] = tmp_path.glob("*.jsonl")
    data = read("table", table, map={"answer": "target"}, answer_is="letter")

    assert theirs == pytest.approx((pl.read_ndjson(table)["target"] == "A").mean())
    assert theirs == pytest.approx(judged(data, tmp_path / "logs"))
