"""Write samples of Inspect: JSON lines with `id`, `input`, `choices`, `target` (a letter) and `metadata`.

Where the picture's file is known the input is a message with the picture and the question, else the question alone.
"""

import json
from pathlib import Path
from typing import Any

import polars as pl

from eyechart.files import replacing
from eyechart.layout import Layout
from eyechart.writers.decoys.repaired import Repaired, export_with, file_stem, letters


def export_inspect(run: Layout, folder: Path) -> dict[str, int]:
    """Write the samples of all splits, from the study of audit `decoys` in a run."""
    return export_with(write_inspect, run, folder)


def write_inspect(repaired: Repaired, folder: Path) -> dict[str, int]:
    """Write the samples, and count them."""
    examples = repaired.examples
    table = examples.select(
        "id",
        "question",
        "path",
        "choices",
        letters(examples).alias("target"),
        pl.struct("image", "answer", "split", "question_type").alias("metadata"),
    )
    name = f"{file_stem(repaired)}.jsonl"
    with replacing(folder / name) as draft:
        lines = (json.dumps(_sample(row), ensure_ascii=False) for row in table.iter_rows(named=True))
        draft.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return {name: table.height}


def _sample(row: dict[str, Any]) -> dict[str, Any]:
    question, path = row.pop("question"), row.pop("path")
    parts = [{"type": "image", "image": path}, {"type": "text", "text": question}]
    asked = question if path is None else [{"role": "user", "content": parts}]
    return {"input": asked, **row}
