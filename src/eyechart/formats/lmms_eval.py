"""Read the samples that lmms-eval logs with `--log_samples`, of every version, and write tasks for it.

The `doc_id` of a sample is the number of a row in the split, not the id of a question, so a `question_id` in a metric
or the `submission` takes precedence. Its `target` is not the reference and is never read.

A task is a Parquet file, the YAML that describes it, and a file of functions. Each metric carries `question_id`, from
which the log is read, and for the questions of a run also the condition. lmms-eval resolves the paths of tables from
its working folder, so they are written as absolute paths.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from eyechart.base.files import replacing
from eyechart.data.store import Store
from eyechart.formats.answer_files import AnswerFile
from eyechart.formats.exports import Guide, PromptTable, export_prompts
from eyechart.formats.lm_eval import DOC_KEYS, find_key, read_responses
from eyechart.formats.log_rows import LogOptions, Sample, read_samples
from eyechart.formats.rows import CountedTable

CARRIED = ("question_id", "questionId")  # ids that metrics carry
OUR_FIELD = "eyechart"  # the condition, in the metrics of our own exports
FUNCTIONS = "utils.py"
_RUN = (
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
    """Open the pictures, in order."""
    from PIL import Image

    return [Image.open(path).convert("RGB") for path in doc["pictures"] or ()]


def share(results):
    """Average the scores."""
    return sum(one["score"] for one in results) / max(1, len(results))
'''
_FUNCTIONS = f'''\
"""What the tasks need; the only figure is how many questions were answered, since eyechart judges."""


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    return doc["prompt"]


def process_results(doc, results):
    """Return which question was asked, and whether there is an answer."""
    answered = float(bool(results[0].strip()))
    return {{"answered": {{"question_id": doc["id"], "{OUR_FIELD}": doc["condition"], "score": answered}}}}
'''
_GUIDE = Guide("lmms-eval", lambda tables: _RUN.format(tasks=",".join(_task_name(one) for one in tables)), "logs")


class LmmsEvalTask(NamedTuple):
    """A table with `id` and `pictures` (paths, or null), the task's metric and the column of its target."""

    name: str
    table: pl.DataFrame
    metric: str
    target: str = '""'
    metadata: Mapping[str, object] = {"version": 1.0}


def read_lmms_eval_log(files: Sequence[AnswerFile], options: LogOptions) -> CountedTable:  # noqa: ARG001 - as all readers
    """Read answers by question id, or by the number of the row if the log has no other id."""
    samples, counts = read_samples(files)
    table, more = read_responses(samples, _find_id, lambda sample: find_key(sample.values(), (OUR_FIELD,)))
    return CountedTable(table, [*counts, *more])


def export_lmms_eval(store: Store, folder: Path) -> dict[str, int]:
    """Write the questions of a run as a task for each condition, for lmms-eval to ask."""
    written = export_prompts(store, folder, write_lmms_eval, _GUIDE)
    write_functions(_FUNCTIONS, folder)
    return written | {FUNCTIONS: 1}


def write_lmms_eval(prompts: PromptTable, folder: Path) -> str:
    """Write the table and the description of a condition."""
    table = prompts.table.with_columns(condition=pl.lit(prompts.condition))
    return write_task(LmmsEvalTask(_task_name(prompts), table, "answered"), folder)


def write_task(task: LmmsEvalTask, folder: Path) -> str:
    """Write the table and the description of a task, and return the name of the table's file."""
    name = f"{task.name}.parquet"
    with replacing(folder / name) as draft:
        task.table.write_parquet(draft)
    fields = {
        "name": task.name,
        "target": task.target,
        "metric": task.metric,
        "file": json.dumps(str(folder.resolve() / name)),
        "metadata": json.dumps(task.metadata),
    }
    with replacing(folder / f"{task.name}.yaml") as draft:
        draft.write_text(_YAML.format(**fields), encoding="utf-8")
    return name


def write_functions(own: str, folder: Path) -> None:
    """Write the functions of all tasks in a folder: `own` has `doc_to_text` and `process_results`."""
    with replacing(folder / FUNCTIONS) as draft:
        draft.write_text(own + _SHARED, encoding="utf-8")


def _find_id(sample: Sample) -> str | None:
    records = [part for part in sample.values() if isinstance(part, dict)]  # metrics, and in old logs the doc
    return find_key(records, CARRIED) or find_key([sample.get("doc")], DOC_KEYS)


def _task_name(prompts: PromptTable) -> str:
    return f"eyechart_{prompts.name}"
