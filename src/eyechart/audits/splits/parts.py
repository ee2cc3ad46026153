"""The data in the parts that the study tells apart: train, val, judged, and what is in none of them."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.dataset import Dataset
from eyechart.hashing import hash_text, uniform
from eyechart.tables import COUNTS, empty

TRAIN, VALIDATION, JUDGED = "train", "val", "judged"
SHARES = (0.7, 0.75)  # up to which train and val reach; the rest is judged (Sec. 3.1)


class Parts(NamedTuple):
    """The examples with a reference answer, sorted by id; beside them their part and cluster; and what to tell."""

    data: Dataset
    part: pl.Series
    cluster: pl.Series
    counts: pl.DataFrame
    notes: tuple[str, ...]


def divide(data: Dataset, judge: str, resplit: str, seed: int) -> Parts:
    """Put each example into its part; those without a reference answer are counted and left out."""
    ordered = replace(data, examples=data.examples.sort("id"))
    known = ordered.take(pl.col("answer").is_not_null())
    part = own_parts(known, judge) if resplit == "none" else random_parts(known, resplit, seed)
    lost = data.examples.height - known.examples.height
    return Parts(known, part, known.clusters(), _count(part, lost), _notes(known, part, resplit))


def own_parts(data: Dataset, judge: str) -> pl.Series:
    """Keep the data's splits: judged is the named one, else test, else val, else all that is not train."""
    splits = data.splits()
    if judge == "all" or not splits:
        return pl.repeat(JUDGED, data.examples.height, dtype=pl.String, eager=True).alias("part")
    judged = data.divide(learn=None, judge=None if judge == "auto" else judge).judge.examples["id"]
    mine = pl.col("id").is_in(judged.implode())
    if len(judged) == data.examples.height and set(splits) > {TRAIN}:
        mine = pl.col("split").ne_missing(TRAIN)
    elif set(splits) == {TRAIN}:
        mine = pl.lit(value=True)
    other = pl.when(pl.col("split").is_in([TRAIN, VALIDATION])).then(pl.col("split"))
    return data.examples.select(part=pl.when(mine).then(pl.lit(JUDGED)).otherwise(other)).to_series()


def random_parts(data: Dataset, unit: str, seed: int) -> pl.Series:
    """Divide merged data 70 / 5 / 25 by a hash of each question's id, or of its image."""
    keys = data.examples["id"] if unit == "question" else data.clusters()
    draws = uniform(hash_text(keys, seed))
    return pl.Series("part", np.select([draws < edge for edge in SHARES], [TRAIN, VALIDATION], JUDGED))


def _count(part: pl.Series, lost: int) -> pl.DataFrame:
    lost_by = {"in another split": part.null_count(), "no reference answer": lost}
    rows = [
        *((None, name, None, int((part == name).sum())) for name in (JUDGED, TRAIN, VALIDATION)),
        *((None, "left out", reason, n) for reason, n in lost_by.items()),
    ]
    return pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row").filter(pl.col("n") > 0)


def _notes(data: Dataset, part: pl.Series, resplit: str) -> tuple[str, ...]:
    notes = []
    if resplit != "none":
        notes.append(f"all splits were merged and divided anew by {resplit}: not for models trained on the old train")
    if not (part == TRAIN).any():
        notes.append("no train split: imbalance and heads are those of the judged examples")
    clusters = data.clusters()
    shared = clusters.filter(part == JUDGED).unique().is_in(clusters.filter(part == TRAIN).unique().implode()).sum()
    if shared:
        notes.append(f"{shared} judged {data.cluster}s are also in train")
    return tuple(notes)
