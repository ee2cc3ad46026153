"""The data in the parts that the study tells apart: train, val, judged, and what is in none of them.

Train is what is learned from, whatever its splits are called, and val the split of that name if it is not judged.
"""

from dataclasses import replace
from typing import NamedTuple

import polars as pl

from eyechart.dataset import Dataset
from eyechart.tables import COUNTS, empty

TRAIN, VALIDATION, JUDGED = "train", "val", "judged"


class Parts(NamedTuple):
    """The examples with a reference answer, sorted by id; beside them their part and cluster; and what to tell."""

    data: Dataset
    part: pl.Series
    cluster: pl.Series
    counts: pl.DataFrame
    notes: tuple[str, ...]


def take_parts(data: Dataset) -> Parts:
    """Put each example into its part; those without a reference answer are counted and left out."""
    learn, judged = data.divided(learns=False)
    known = answered(data)
    part = name_parts(known, learn, judged.examples["id"])
    lost = data.height - known.height
    return Parts(known, part, known.clusters(), _count(part, lost), _notes(known, part))


def answered(data: Dataset) -> Dataset:
    """Take the examples with a reference answer, sorted by id."""
    return replace(data, examples=data.examples.sort("id")).take(pl.col("answer").is_not_null())


def name_parts(data: Dataset, learn: Dataset, judged: pl.Series) -> pl.Series:
    """Name the part of each example, null where it is in none; what is judged, by its ids, is in no other."""
    validation = pl.col("split") == VALIDATION if "split" in data.columns else pl.lit(value=False)
    part = (
        pl.when(pl.col("id").is_in(judged.implode()))
        .then(pl.lit(JUDGED))
        .when(pl.col("id").is_in(learn.examples["id"].implode()))
        .then(pl.lit(TRAIN))
        .when(validation)
        .then(pl.lit(VALIDATION))
    )
    return data.examples.select(part=part).to_series()


def judged_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Leave out the rows of val, where these were asked too."""
    return rows.filter(pl.col("part") == JUDGED) if "part" in rows.columns else rows


def _count(part: pl.Series, lost: int) -> pl.DataFrame:
    lost_by = {"in another split": part.null_count(), "no reference answer": lost}
    rows = [
        *((None, name, None, int((part == name).sum())) for name in (JUDGED, TRAIN, VALIDATION)),
        *((None, "left out", reason, n) for reason, n in lost_by.items()),
    ]
    return pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row").filter(pl.col("n") > 0)


def _notes(data: Dataset, part: pl.Series) -> tuple[str, ...]:
    notes = []
    if not (part == TRAIN).any():
        notes.append("no split to learn from: imbalance and heads are those of the judged examples")
    clusters = data.clusters()
    shared = clusters.filter(part == JUDGED).unique().is_in(clusters.filter(part == TRAIN).unique().implode()).sum()
    if shared:
        notes.append(f"{shared} judged {data.cluster}s are also among those learned from")
    return tuple(notes)
