"""lmms-eval itself asks a tiny model what a run exports, and scores repaired options as eyechart judges them."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from eyechart.data.dataset import Dataset
from eyechart.data.probes import fill
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.formats.exports import EXPORTS
from eyechart.models import load
from eyechart.runs.run import Run
from harness.conftest import CONDITIONS, needs

PYTHON = "EYECHART_LMMS_EVAL"
pytestmark = needs(PYTHON)


def test_a_tiny_model_is_asked_under_every_condition(
    harness: Callable[..., str], run: Store, tiny_llava: Path, tmp_path: Path
) -> None:
    """Each question comes back once under its condition, with what the model said; blind ones show no picture."""
    EXPORTS.get("lmms-eval")(run, tmp_path)
    tasks = ",".join(file.stem for file in sorted(tmp_path.glob("*.yaml")))
    model = f"pretrained={tiny_llava},device=cpu,device_map=cpu,dtype=float32,attn_implementation=eager"
    words = ["-m", "lmms_eval", "--model", "llava_hf", "--model_args", model, "--include_path", ".", "--tasks", tasks]
    told = harness(PYTHON, tmp_path, *words, "--batch_size", 1, "--log_samples", "--output_path", "logs")
    files = list((tmp_path / "logs").rglob("*_samples_*.jsonl"))
    assert len(files) == len(CONDITIONS), told[-3000:]  # the tool leaves with 0 even where it failed
    logged = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    opened = load(f"predictions:{tmp_path / 'logs'},extract=yes")
    Run(run).predict(opened)
    answers = run.answers(opened.name).answers

    assert sorted(answers.group_by("condition").len().rows()) == [(one, 6) for one in CONDITIONS]
    said = {
        (one["answered"]["eyechart"], one["answered"]["question_id"]): one["filtered_resps"].strip() for one in logged
    }
    assert {(row["condition"], row["id"]): row["raw"].strip() for row in answers.to_dicts()} == said
    assert len(set(said.values())) > 1  # it does look
    seen = {one["answered"]["eyechart"]: len(one.get("input_media") or ()) for one in logged}
    assert seen == {"image=blank": 1, "image=none": 0, "plain": 1}
    asked = {one["answered"]["question_id"]: one["input"] for one in logged}
    questions = fill(run.probes("plain"), run.data).select("id", "question").rows()
    assert all(question in asked[key] for key, question in questions)


def test_repaired_options_are_scored_as_we_judge_them(
    harness: Callable[..., str],
    export_repaired: Callable[[str, Path], None],
    judged: Callable[[Dataset, Path], float],
    tmp_path: Path,
) -> None:
    """The tool's dummy says A to everything."""
    export_repaired("decoys-lmms-eval", tmp_path)
    [task], [table] = tmp_path.glob("*.yaml"), tmp_path.glob("*.parquet")
    words = ["-m", "lmms_eval", "--model", "dummy", "--include_path", ".", "--tasks", task.stem, "--log_samples"]
    told = harness(PYTHON, tmp_path, *words, "--output_path", "logs")
    results = list((tmp_path / "logs").rglob("*_results.json"))
    assert results, told[-3000:]
    [scored] = [json.loads(file.read_text())["results"][task.stem] for file in results]
    theirs = next(value for name, value in scored.items() if name.startswith("accuracy,"))

    assert theirs == pytest.approx((pl.read_parquet(table)["answer"] == "A").mean())
    assert theirs == pytest.approx(judged(read("table", table, answer_is="letter"), tmp_path / "logs"))
