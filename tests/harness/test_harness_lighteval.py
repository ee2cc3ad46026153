"""Details that lighteval itself saved are read: texts, and likelihoods of options and of their letters."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl

from eyechart.formats import read
from eyechart.formats.predictions import read_predictions
from harness.conftest import needs

PYTHON = "EYECHART_LIGHTEVAL"
pytestmark = needs(PYTHON)

TASKS = """
from lighteval.metrics.metrics import Metrics
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc

def texts(line, task_name=None):
    choices = [" " + one for one in line["choices"]]
    return Doc(task_name=task_name, query=line["question"], choices=choices, gold_index=line["gold"])

def letters(line, task_name=None):
    listed = [f"{letter}. {one}" for letter, one in zip("ABC", line["choices"])]
    query = "\\n".join([line["question"], *listed, "Answer:"])
    named = {"question_id": line["name"]}
    return Doc(task_name=task_name, query=query, choices=[" A", " B", " C"], gold_index=line["gold"], specific=named)

def free(line, task_name=None):
    return Doc(task_name=task_name, query=line["question"], choices=[line["choices"][line["gold"]]], gold_index=0)

def task(function, metric):
    return LightevalTaskConfig(
        name=function.__name__, prompt_function=function, hf_repo="data", hf_subset="default",
        hf_avail_splits=["train"], evaluation_splits=["train"], metrics=[metric], generation_size=5, stop_sequence=[],
    )

logprobs = Metrics.loglikelihood_acc
TASKS_TABLE = [task(texts, logprobs), task(letters, logprobs), task(free, Metrics.exact_match)]
"""
# The tool looks judges up on the hub and downloads a pickle for tasks that are not asked here.
SCRIPT = """
import os, pathlib
import huggingface_hub, lighteval, requests

class Nothing:
    status_code = 404

huggingface_hub.HfApi.list_models = lambda *a, **k: [1]
requests.get = lambda *a, **k: Nothing()

from lighteval.logging.evaluation_tracker import EvaluationTracker
from lighteval.models.dummy.dummy_model import DummyModelConfig
from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters

parameters = PipelineParameters(launcher_type=ParallelismManager.NONE, custom_tasks_directory="tasks.py")
pipeline = Pipeline(
    tasks="texts|0,letters|0,free|0",
    pipeline_parameters=parameters,
    evaluation_tracker=EvaluationTracker(output_dir="out", save_details=True),
    model_config=DummyModelConfig(),
)
pipeline.evaluate()
pipeline.save_and_push_results()
"""
WORDS = ["red", "green", "blue"]
ROWS = [{"question": f"number {n}?", "choices": WORDS, "gold": n % 3, "name": f"q{n}"} for n in range(4)]


def test_details_are_read_as_answers_and_as_data(harness: Callable[..., str], tmp_path: Path) -> None:
    """Its dummy model says `random baseline` and draws likelihoods by chance."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "quiz.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    (tmp_path / "tasks.py").write_text(TASKS)
    (tmp_path / "make.py").write_text(SCRIPT)
    harness(PYTHON, tmp_path, "make.py")
    files = {path.name.split("|")[0]: path for path in (tmp_path / "out").rglob("details_*.parquet")}

    texts, letters, free = (read_predictions(files[f"details_{name}"]).answers for name in ("texts", "letters", "free"))

    assert sorted(free.select("id", "answer").rows()) == [(str(n), "random baseline") for n in range(4)]
    assert sorted(texts["id"]) == ["0", "1", "2", "3"]
    assert sorted(letters["id"]) == ["q0", "q1", "q2", "q3"]
    for answers in (texts, letters):
        assert set(answers["answer"]) <= set(WORDS)
        best = pl.col("scores").list.eval(pl.element().struct.field("score")).list.arg_max()
        named = pl.col("scores").list.eval(pl.element().struct.field("answer")).list.get(best)
        assert answers.select((named == pl.col("answer")).all()).item()
    gold = dict(read("lighteval", files["details_letters"]).examples.select("id", "answer").rows())
    assert gold == {f"q{n}": WORDS[n % 3] for n in range(4)}
