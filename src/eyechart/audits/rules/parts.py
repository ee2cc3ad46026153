"""The data in the two parts that rules need, ready to be numbered."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.dataset import Dataset
from eyechart.mining.transactions import Int32s
from eyechart.tables import COUNTS, empty

NOT_MINED, NOT_JUDGED, LEFT_OUT = "not mined", "not judged", "left out"
SCORED = ("answers", "choices", "relevance")  # what a score may need of a judged example, beside its answer
SHOWN = ("question_type", "answer_type")  # what the tables tell of it


class Parts(NamedTuple):
    """What is mined, what is judged, what is left out of both, and what a reader should be told."""

    learn: Dataset
    judged: Dataset
    counts: pl.DataFrame
    notes: tuple[str, ...]


def take_parts(data: Dataset) -> Parts:
    """Take what is learned from and what is judged; examples without a reference answer are counted and left out."""
    learn, judged = data.only("split", *SCORED, *SHOWN).divided(learns=True)
    answered = pl.col("answer").is_not_null()
    known, asked = ordered(learn.only().take(answered)), ordered(judged.take(answered))
    rows = [
        (None, NOT_MINED, "no reference answer", learn.height - known.height),
        (None, NOT_JUDGED, "no reference answer", judged.height - asked.height),
        (None, LEFT_OUT, "in another split", data.height - learn.height - judged.height),
    ]
    counts = pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row")
    return Parts(known, asked, counts, _notes(known, asked))


def count_parts(parts: Parts, mined: int, why_not: str = "answer outside the vocabulary") -> pl.DataFrame:
    """Count what became of every example; so many were mined, and of the rest of that part it is said why not."""
    rows = [
        (None, "judged", None, parts.judged.examples.height),
        (None, "mined", None, mined),
        (None, NOT_MINED, why_not, parts.learn.examples.height - mined),
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


def _notes(learn: Dataset, judged: Dataset) -> tuple[str, ...]:
    notes = []
    if not _has_objects(learn):
        notes.append("the images have no objects: all rules are of words only")
    shared = judged.examples["cluster"].unique().is_in(learn.examples["cluster"].unique().implode()).sum()
    if shared:
        known = f"{shared} judged {judged.cluster}s are also among those learned from"
        notes.append(f"{known}: what is confirmed on them is less sure")
    return tuple(notes)


def _has_objects(data: Dataset) -> bool:
    if "objects" not in data.images.kept.columns:
        return False
    some = pl.col("objects").list.len().fill_null(0) > 0
    return bool(data.images.scan("objects").select(some.any()).collect().item())
