"""Runs of EvalScope itself are read, as answers and as data, with options in an order that it shuffled."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl

from eyechart.formats import read
from eyechart.formats.predictions import read_predictions
from harness.conftest import needs

PYTHON = "EYECHART_EVALSCOPE"
pytestmark = needs(PYTHON)

SCRIPT = """
from itertools import cycle

from evalscope import TaskConfig, run_task
from evalscope.api.model import GenerateConfig, Model, ModelOutput
from evalscope.models.mockllm import MockLLM

said = cycle(["ANSWER: B", "no idea", "ANSWER: C", "ANSWER: A"])
outputs = (ModelOutput.from_content("mock", text) for text in said)
arguments = {"local_path": "data", "subset_list": ["quiz"], "shuffle_choices": True}
run_task(
    TaskConfig(
        model=Model(MockLLM("mock", custom_outputs=outputs), GenerateConfig()),
        model_id="mock",
        datasets=["general_mcq"],
        dataset_args={"general_mcq": arguments},
        work_dir="outputs",
        repeats=2,
        eval_batch_size=1,
    )
)
"""
ROWS = [("0", "first?", "ant", "bee", "cat", "C"), ("1", "second?", "ape", "bat", "cow", "A")]


def test_letters_are_the_options_that_it_showed(harness: Callable[..., str], tmp_path: Path) -> None:
    """What it counts as right has the text of the right option, wherever that option stands."""
    (tmp_path / "data").mkdir()
    lines = ["id,question,A,B,C,answer", *map(",".join, ROWS)]
    (tmp_path / "data" / "quiz_val.csv").write_text("\n".join(lines))
    (tmp_path / "make.py").write_text(SCRIPT)
    harness(PYTHON, tmp_path, "make.py")

    answers, counts = read_predictions(tmp_path / "outputs")
    data = read("evalscope", tmp_path / "outputs")

    right = {"0": "cat", "1": "ape"}
    assert dict(data.examples.select("id", "answer").rows()) == right
    assert sorted(answers.select("id", "draw").rows()) == [("0", 0), ("0", 1), ("1", 0), ("1", 1)]
    (reviews,) = (tmp_path / "outputs").rglob("reviews/*/*.jsonl")
    told = [json.loads(line)["sample_score"] for line in reviews.read_text().splitlines()]
    theirs = {(one["sample_metadata"]["id"], one["generation_index"]): one["score"]["value"] for one in told}
    for key, draw, answer in answers.select("id", "draw", "answer").iter_rows():
        assert float(answer == right[key]) == next(iter(theirs[key, draw].values()))
    assert answers.filter(pl.col("raw") == "no idea")["status"].to_list() == ["unparsed"]
    assert counts.filter(status="read")["n"].to_list() == [4]
