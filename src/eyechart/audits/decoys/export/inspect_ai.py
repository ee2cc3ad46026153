"""Write samples of Inspect: JSON lines with `id`, `input`, `choices`, `target` (a letter) and `metadata`.

Where the picture's file is known the input is a message with the picture and the question, else the question alone;
`question` and `image`, at which Inspect does not look, are there to be read as a table again.
"""

import json
from pathlib import Path
from typing import Any

import polars as pl

from eyechart.audits.decoys.export.repaired import Repaired, export_with, file_stem, letters
from eyechart.files import replacing
from eyechart.store import Store

TASK = "task.py"
_TASK = '''\
"""Repaired options as a task of Inspect, which scores the letter that is said: inspect eval task.py --model MODEL."""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice


@task
def repaired_{name}():
    """Ask for the letter of the right option."""
    dataset = json_dataset(str(Path(__file__).parent / "{file}"))
    return Task(dataset=dataset, solver=multiple_choice(), scorer=choice())
'''


def export_inspect(store: Store, folder: Path) -> dict[str, int]:
    """Write the samples of all splits, from the study of audit `decoys` in a run."""
    return export_with(write_inspect, store, folder)


def write_inspect(repaired: Repaired, folder: Path) -> dict[str, int]:
    """Write the samples, and count them."""
    examples = repaired.examples
    table = examples.select(
        "id",
        "image",
        "question",
        "path",
        "choices",
        letters(examples).alias("target"),
        pl.struct("answer", "split", "question_type").alias("metadata"),
    )
    name = f"{file_stem(repaired)}.jsonl"
    with replacing(folder / name) as draft:
        lines = (json.dumps(_sample(row), ensure_ascii=False) for row in table.iter_rows(named=True))
        draft.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with replacing(folder / TASK) as draft:
        draft.write_text(_TASK.format(name=file_stem(repaired), file=name), encoding="utf-8")
    return {name: table.height, TASK: 1}


def _sample(row: dict[str, Any]) -> dict[str, Any]:
    question, path = row["question"], row.pop("path")
    parts = [{"type": "image", "image": path}, {"type": "text", "text": question}]
    asked = question if path is None else [{"role": "user", "content": parts}]
    return {"input": asked, **row}
