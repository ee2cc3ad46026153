"""Samples that lm-eval itself logged are read: generated answers under two filters, and likelihoods of options."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from eyechart.base.errors import FileFormatError
from eyechart.formats.predictions import read_predictions
from harness.conftest import needs

PYTHON = "EYECHART_LM_EVAL"
pytestmark = needs(PYTHON)

TASK = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: data.jsonl}}}}
test_split: test
doc_to_text: "{{{{question}}}}"
"""
TOLD = """
output_type: generate_until
doc_to_target: answer
repeats: 2
filter_list:
  - {name: strict, filter: [{function: regex, regex_pattern: "([0-9]+)"}, {function: take_first}]}
  - {name: both, filter: [{function: take_first_k, k: 2}]}
metric_list: [{metric: exact_match}]
"""
CHOSEN = """
output_type: multiple_choice
doc_to_target: 0
doc_to_choice: ["red", "blue"]
metric_list: [{metric: acc}]
"""
DATA = [{"question": f"{n}?", "answer": "red", "id": f"00{n}"} for n in range(6)]


def test_samples_of_the_tool_itself_are_read(harness: Callable[..., str], tmp_path: Path) -> None:
    """Its dummy model says `lol` and draws likelihoods by chance; `acc` tells which option the tool finds chosen."""
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, DATA)))
    for name, more in {"told": TOLD, "chosen": CHOSEN}.items():
        (tmp_path / f"{name}.yaml").write_text(TASK.format(name=name) + more)
    asked = ("--model", "dummy", "--include_path", ".", "--tasks", "told,chosen")
    harness(PYTHON, tmp_path, "-m", "lm_eval", *asked, "--log_samples", "--output_path", "out")
    told, chosen, results = (
        next((tmp_path / "out").rglob(f"{name}_*")) for name in ("samples_told", "samples_chosen", "results")
    )
    ids = [one["id"] for one in DATA]

    strict, both = (read_predictions(told, scorer=name).answers for name in ("strict", "both"))
    options = read_predictions(chosen).answers

    assert strict.select("id", "raw", "status").sort("id").rows() == [(key, "lol", "unparsed") for key in ids]
    assert both.select("id", "draw", "answer").sort("id", "draw").rows() == [
        (key, n, "lol") for key in ids for n in (0, 1)
    ]
    right = {line["doc"]["id"]: line["acc"] for line in map(json.loads, chosen.read_text().splitlines())}
    assert dict(options.select("id", (pl.col("answer") == "red").cast(float)).rows()) == right
    with pytest.raises(FileFormatError, match="aggregate results"):
        read_predictions(results)
