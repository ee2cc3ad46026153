"""A task of lmms-eval: a Parquet file, the YAML that describes it, and the functions that both kinds of task name.

lmms-eval logs the number of a row, not its id; so each metric carries `question_id`, where the reader finds it, and of
what a run asks also its condition. It takes the paths of tables from where it is started, so they are written in full.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl

from eyechart.files import replacing

FUNCTIONS = "utils.py"
RUN = (
    "python -m lmms_eval --model MODEL --model_args ARGS --include_path . --tasks {tasks} --log_samples"
    " --output_path logs"
)
_YAML = """\
task: {name}
dataset_path: parquet
dataset_kwargs:
  data_files:
    test: {file}
test_split: test
output_type: generate_until
doc_to_visual: !function utils.doc_to_visual
doc_to_text: !function utils.doc_to_text
doc_to_target: {target}
generation_kwargs:
  max_new_tokens: 32
  do_sample: false
process_results: !function utils.process_results
metric_list:
  - metric: {metric}
    aggregation: !function utils.share
    higher_is_better: true
metadata: {metadata}
"""
_SHARED = '''\


def doc_to_visual(doc):
    """Open the picture, where there is one."""
    from PIL import Image

    return [Image.open(doc["picture"]).convert("RGB")] if doc["picture"] else []


def share(results):
    """Average the scores."""
    return sum(one["score"] for one in results) / max(1, len(results))
'''


class Task(NamedTuple):
    """What one task is: a table with `id` and `picture` (a path, or null), its metric and the column of the target."""

    name: str
    table: pl.DataFrame
    metric: str
    target: str = '""'
    metadata: Mapping[str, object] = {"version": 1.0}


def write_task(task: Task, folder: Path) -> str:
    """Write the table and the description of a task, and name the table's file."""
    name = f"{task.name}.parquet"
    with replacing(folder / name) as draft:
        task.table.write_parquet(draft)
    told = {"file": json.dumps(str(folder.resolve() / name)), "metadata": json.dumps(task.metadata)}
    with replacing(folder / f"{task.name}.yaml") as draft:
        words = {"name": task.name, "target": task.target, "metric": task.metric}
        draft.write_text(_YAML.format(**words, **told), encoding="utf-8")
    return name


def write_functions(own: str, folder: Path) -> None:
    """Write the functions of all tasks in a folder: `own` has `doc_to_text` and `process_results`."""
    with replacing(folder / FUNCTIONS) as draft:
        draft.write_text(own + _SHARED, encoding="utf-8")
