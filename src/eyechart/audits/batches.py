"""Compute scores and statistics by key in batches, on any engine.

A table is sorted by its key and cut where a key ends, so that all rows of a key are in one process and its numbers are
exactly those of the local engine, which sums of floats over parts of a key would not be. Batches are numbered, and
results are returned in the order of the numbers, which is that of the keys, whichever finishes first.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from eyechart.data.protocols import Engine, Step
from eyechart.engines import Local
from eyechart.scoring import SCORES, score
from eyechart.statistics import mean_by
from eyechart.statistics.rows import begins

BLOCK = 65_536  # rows of a batch; a key that has more is a batch of its own
NUMBER = "number of the batch"


@dataclass(frozen=True)
class NumberedStep:
    """Apply a step to a batch and add the batch's number to the result."""

    step: Step

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Apply the step to the batch without its number."""
        return self.step(batch.drop(NUMBER)).with_columns(pl.lit(batch[NUMBER][0], pl.Int64).alias(NUMBER))


@dataclass(frozen=True)
class MeanStep:
    """Estimate the mean of a column for every group of a batch."""

    value: str
    by: tuple[str, ...]

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Estimate the means, clustered by image."""
        return mean_by(batch, self.value, self.by, "cluster")


@dataclass(frozen=True)
class ScoreStep:
    """Score the rows of a batch."""

    how: str

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Score each row."""
        return score(batch, self.how).to_frame("score")


def map_by_key(step: Step, table: pl.DataFrame, key: Sequence[str], engine: Engine) -> pl.DataFrame:
    """Apply a step to a table in batches of whole keys, and return the results in key order."""
    if isinstance(engine, Local) or table.is_empty():
        return step(table)
    return map_in_order(step, split_by_key(table, key, BLOCK), engine)


def means_by_key(table: pl.DataFrame, value: str, by: Sequence[str], engine: Engine) -> pl.DataFrame:
    """Estimate the mean of every group as `mean_by` does, clustered by the column `cluster`."""
    return map_by_key(MeanStep(value, tuple(by)), table.select(*by, "cluster", value), by, engine)


def scores(table: pl.DataFrame, how: str, engine: Engine) -> pl.Series:
    """Score each row as `score` does, in batches with only the columns that the score reads."""
    readable = how in SCORES and set(SCORES[how].needs) <= set(table.columns)
    if isinstance(engine, Local) or table.is_empty() or not readable:
        return score(table, how)  # raises the error for missing columns
    batches = table.select(SCORES[how].needs).iter_slices(BLOCK)
    return map_in_order(ScoreStep(how), batches, engine)["score"]


def split_by_key(table: pl.DataFrame, key: Sequence[str], block: int) -> Iterator[pl.DataFrame]:
    """Cut a table sorted by its key into batches of whole keys with at most `block` rows together."""
    ordered = table.sort(*key, nulls_last=True, maintain_order=True)
    ends = np.append(np.flatnonzero(begins(ordered, *key))[1:], ordered.height)
    start = 0
    while start < ordered.height:
        n = int(np.searchsorted(ends, start + block, side="right"))  # keys that end within a block from here
        end = int(ends[n - 1]) if n and ends[n - 1] > start else int(ends[n])
        yield ordered[start:end]
        start = end


def map_in_order(step: Step, batches: Iterable[pl.DataFrame], engine: Engine) -> pl.DataFrame:
    """Apply a step to batches on an engine and concatenate the results in the order of the batches."""
    if isinstance(engine, Local):
        return pl.concat(engine.map(step, batches))
    numbered = (batch.with_columns(pl.lit(number).alias(NUMBER)) for number, batch in enumerate(batches))
    return pl.concat(engine.map(NumberedStep(step), numbered)).sort(NUMBER, maintain_order=True).drop(NUMBER)
