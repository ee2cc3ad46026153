"""The examples that are studied: answered, sorted by id, each in the part that is learned from, judged, or neither."""

from typing import NamedTuple

import polars as pl

from eyechart.dataset import Dataset
from eyechart.tables import COUNTS, empty

LEARN, JUDGED = "learned", "judged"


class Parts(NamedTuple):
    """All answered examples with `cluster` and `part` (null: neither), counts, and lines for the reader."""

    examples: pl.DataFrame
    counts: pl.DataFrame
    notes: tuple[str, ...]


def parts_of(data: Dataset) -> Parts:
    """Say of each answered example which part of the division it is in."""
    learn, judged = data.divided(learns=True)
    named = pl.concat(
        [part.examples.select("id", part=pl.lit(name)) for name, part in ((LEARN, learn), (JUDGED, judged))]
    )
    clustered = data.examples.with_columns(data.clusters().alias("cluster"))
    answered = clustered.filter(pl.col("answer").is_not_null()).sort("id")
    examples = answered.join(named, on="id", how="left", validate="1:1", maintain_order="left")
    return Parts(examples, _count(examples, data.examples.height), _notes(examples, data))


def _count(examples: pl.DataFrame, n: int) -> pl.DataFrame:
    fates = examples["part"].fill_null("neither learned nor judged").value_counts(name="n").sort("part")
    rows: list[tuple[None, str, str | None, int]] = [(None, part, None, count) for part, count in fates.iter_rows()]
    rows.append((None, "left out", "no reference answer", n - examples.height))
    return pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row").filter(pl.col("n") > 0)


def _notes(examples: pl.DataFrame, data: Dataset) -> tuple[str, ...]:
    notes = []
    if "objects" not in data.images.table.columns:
        notes.append("the images have no objects: I + A knows no more than A")
    alone = examples.select(pl.len().over("cluster") == 1).to_series().sum()
    if alone:
        notes.append(f"{alone} examples are the only one of their {data.cluster}: no IoU decoys of their own")
    return tuple(notes)
