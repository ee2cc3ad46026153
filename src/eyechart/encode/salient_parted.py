"""The most telling candidates by batches that any engine can run: count everywhere, add up, rank everywhere.

Counts of batches are whole numbers, so their sums do not depend on the order in which they come, and the quotients are
those of `most_salient` to the last bit.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from eyechart.encode.salient import most_salient, rank, with_ratio
from eyechart.engines.local import Local
from eyechart.protocols import Engine

BLOCK = 65_536  # examples of a batch
KEY = ("text", "answer")
Listing = Callable[[pl.DataFrame], pl.DataFrame]  # a batch -> its candidates: row, text, answer, counted


@dataclass(frozen=True)
class Tally:
    """Count the examples of a batch that have each text with each answer, or each key of more."""

    listing: Listing
    key: tuple[str, ...] = KEY

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Count those that are counted."""
        return self.listing(batch).filter("counted").group_by(self.key).agg(pl.len().alias("joint"))


@dataclass(frozen=True)
class Choice:
    """Rank the candidates of each row of a batch by what was counted in all batches."""

    listing: Listing
    joints: pl.DataFrame  # text, answer, joint
    singles: pl.DataFrame  # text, single
    ties: str

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Take the best two; a text that no counted example has counts nothing."""
        candidates = self.listing(batch)
        counted = candidates.join(self.joints, on=KEY, how="left", validate="m:1").join(
            self.singles, on="text", how="left", validate="m:1"
        )
        return rank(with_ratio(counted.with_columns(pl.col("joint", "single").fill_null(0))), self.ties)


def as_listed(candidates: pl.DataFrame) -> pl.DataFrame:
    """Take a table for its own candidates."""
    return candidates


def best_two(table: pl.DataFrame, listing: Listing, ties: str, engine: Engine | None) -> pl.DataFrame:
    """Find the best two candidates of each row that has any; `table` is sorted by row."""
    if engine is None or isinstance(engine, Local):
        return most_salient(listing(table), ties)
    batches = list(cut_by_row(table))
    parts = list(engine.map(Tally(listing), batches))
    if not parts:
        return most_salient(listing(table), ties)
    joints = pl.concat(parts).group_by(KEY).agg(pl.col("joint").sum())
    singles = joints.group_by("text").agg(pl.col("joint").sum().alias("single"))
    return pl.concat(engine.map(Choice(listing, joints, singles, ties), batches)).sort("row")


def cut_by_row(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Cut a table that is sorted by row after every so many rows' numbers; none is torn apart."""
    last = int(table["row"][-1]) if table.height else -1
    edges = np.searchsorted(table["row"].to_numpy(), np.arange(0, last + BLOCK + 1, BLOCK))
    for begin, end in pairwise(edges.tolist()):
        if end > begin:
            yield table[begin:end]
