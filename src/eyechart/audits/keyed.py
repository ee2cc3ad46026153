"""Statistics by key, in batches that any engine can run.

A table is sorted by its key and cut where a key ends, so that all rows of a key meet in one process and its numbers are
those of the local engine to the last bit: sums of floats cannot be put together from parts so. Batches are numbered,
and results stand in the order of the numbers, which is that of the keys, whichever comes first.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from eyechart.engines.local import Local
from eyechart.protocols import Engine, Step
from eyechart.scoring import SCORES, score
from eyechart.statistics import mean_by
from eyechart.statistics.rows import begins

BLOCK = 65_536  # rows of a batch; a key that has more is a batch of its own
NUMBER = "number of the batch"


@dataclass(frozen=True)
class Numbered:
    """Apply a step to a batch, and give its number to what comes of it."""

    step: Step

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Keep the number from the step."""
        return self.step(batch.drop(NUMBER)).with_columns(pl.lit(batch[NUMBER][0], pl.Int64).alias(NUMBER))


@dataclass(frozen=True)
class Means:
    """Estimate the mean of a column for every group of a batch."""

    value: str
    by: tuple[str, ...]

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Estimate, clustered by image."""
        return mean_by(batch, self.value, self.by, "cluster")


@dataclass(frozen=True)
class Scoring:
    """Score the rows of a batch."""

    how: str

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Score each row."""
        return score(batch, self.how).to_frame("score")


def by_key(step: Step, table: pl.DataFrame, key: Sequence[str], engine: Engine) -> pl.DataFrame:
    """Apply a step that works key by key to a table, in batches of whole keys; results come in key order."""
    if isinstance(engine, Local) or table.is_empty():
        return step(table)
    return in_order(step, whole_keys(table, key, BLOCK), engine)


def means_by_key(table: pl.DataFrame, value: str, by: Sequence[str], engine: Engine) -> pl.DataFrame:
    """Estimate the mean of every group: what `mean_by` gives, clustered by the column `cluster`."""
    return by_key(Means(value, tuple(by)), table.select(*by, "cluster", value), by, engine)


def scores(table: pl.DataFrame, how: str, engine: Engine) -> pl.Series:
    """Score each row as `score` does, in blocks of rows; no more than the score reads is sent around."""
    readable = how in SCORES and set(SCORES[how].needs) <= set(table.columns)
    if isinstance(engine, Local) or table.is_empty() or not readable:
        return score(table, how)  # which also says what is missing
    blocks = table.select(SCORES[how].needs).iter_slices(BLOCK)
    return in_order(Scoring(how), blocks, engine)["score"]


def whole_keys(table: pl.DataFrame, key: Sequence[str], block: int) -> Iterator[pl.DataFrame]:
    """Cut a table, sorted by its key, into as many whole keys at a time as have no more than `block` rows together."""
    ordered = table.sort(*key, nulls_last=True, maintain_order=True)
    ends = np.append(np.flatnonzero(begins(ordered, *key))[1:], ordered.height)
    begin = 0
    while begin < ordered.height:
        at = int(np.searchsorted(ends, begin + block, side="right"))
        end = int(ends[at - 1]) if at and ends[at - 1] > begin else int(ends[at])
        yield ordered[begin:end]
        begin = end


def in_order(step: Step, batches: Iterable[pl.DataFrame], engine: Engine) -> pl.DataFrame:
    """Apply a step to batches with an engine, and put the results under each other in the order of the batches."""
    if isinstance(engine, Local):
        return pl.concat(engine.map(step, batches))
    numbered = (batch.with_columns(pl.lit(number).alias(NUMBER)) for number, batch in enumerate(batches))
    return pl.concat(engine.map(Numbered(step), numbered)).sort(NUMBER, maintain_order=True).drop(NUMBER)
