"""Write the form of qaVG: `VG_<split>_decoys.json`, lists of questions with their QoU and IoU decoys."""

import json
from pathlib import Path

import polars as pl

from eyechart.audits.decoys.export.repaired import Repaired, by_split, export_with
from eyechart.audits.decoys.recipes import IOU, QOU
from eyechart.files import replacing
from eyechart.store import Store

TYPES = ("how", "what", "why", "who", "where", "when")


def export_qavg(store: Store, folder: Path) -> dict[str, int]:
    """Write a file for each split, from the study of audit `decoys` in a run."""
    return export_with(write_qavg, store, folder)


def write_qavg(repaired: Repaired, folder: Path) -> dict[str, int]:
    """Write the lists of decoys, and count the questions of each file."""
    written = {}
    for split, examples in by_split(repaired.examples).items():
        name = f"VG_{split}_decoys.json"
        with replacing(folder / name) as draft:
            draft.write_text(json.dumps(_entries(examples), ensure_ascii=False), encoding="utf-8")
        written[name] = examples.height
    return written


def _entries(examples: pl.DataFrame) -> list[dict[str, object]]:
    first = pl.col("question").str.to_lowercase().str.extract(r"^\W*(\w+)")
    known = pl.when(first.is_in(TYPES)).then(first).otherwise(pl.lit("other"))
    return examples.select(
        pl.col(QOU).fill_null([]).alias("QoU_decoys"),
        pl.col(IOU).fill_null([]).alias("IoU_decoys"),
        pl.col("image").alias("Img_id"),
        pl.col("id").alias("QA_id"),
        "question",
        "answer",
        known.alias("Type"),
    ).to_dicts()
