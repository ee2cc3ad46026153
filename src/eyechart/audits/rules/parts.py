"""The data in the two parts that rules need, ready to be numbered."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.dataset import Dataset
from eyechart.mining.transactions import Int32s
from eyechart.tables import COUNTS, empty

NOT_MINED, NOT_JUDGED = "not mined", "not judged"
SCORED = ("answers", "choices", "relevance")  # what a score may need of a judged example, beside its answer
SHOWN = ("question_type", "answer_type")  # what the tables tell of it


class Parts(NamedTuple):
    """What is mined, what is judged, what is left out of both, and what a reader should be told."""

    learn: Dataset
    judged: Dataset
    counts: pl.DataFrame
    notes: tuple[str, ...]


def divide(data: Dataset, seed: int) -> Parts:
    """Divide the data; examples without a reference answer are counted and left out."""
    learn, judged, how = data.only("split", *SCORED, *SHOWN).divide(learn="train", seed=seed)
    answered = pl.col("answer").is_not_null()
    known, asked = ordered(learn.only().take(answered)), ordered(judged.take(answered))
    lost = {NOT_MINED: learn.height - known.height}
    lost |= {NOT_JUDGED: judged.height - asked.height}
    rows = [(None, status, "no reference answer", n) for status, n in lost.items()]
    counts = pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row")
    return Parts(known, asked, counts, (how, *_notes(known, asked)))


def count_parts(parts: Parts, mined: int) -> pl.DataFrame:
    """Count what became of every example; `mined` are those whose answer is in the vocabulary."""
    rare = parts.learn.examples.height - mined
    rows = [
        (None, "judged", None, parts.judged.examples.height),
        (None, "mined", None, mined),
        (None, NOT_MINED, "answer outside the vocabulary", rare),
    ]
    own = pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row")
    return pl.concat([own, parts.counts]).filter(pl.col("n") > 0)


def ordered(data: Dataset) -> Dataset:
    """Sort the examples by image and id: the order in which they are numbered and counted."""
    examples = data.examples.with_columns(data.clusters().alias("cluster")).sort("cluster", "id")
    return replace(data, examples=examples)


def image_numbers(data: Dataset) -> Int32s:
    """Give each cluster of ordered examples a number."""
    return (data.examples["cluster"].rle_id()).to_numpy().astype(np.int32)


def _notes(learn: Dataset, judged: Dataset) -> list[str]:
    notes = []
    if not _has_objects(learn):
        notes.append("the images have no objects: all rules are of words only")
    shared = judged.examples["cluster"].unique().is_in(learn.examples["cluster"].unique().implode()).sum()
    if shared:
        notes.append(f"{shared} held-out {judged.cluster}s are also in train: what is confirmed on them is less sure")
    return notes


def _has_objects(data: Dataset) -> bool:
    if "objects" not in data.images.kept.columns:
        return False
    some = pl.col("objects").list.len().fill_null(0) > 0
    return bool(data.images.scan("objects").select(some.any()).collect().item())
