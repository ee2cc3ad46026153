"""Mine, match and count by batches that any engine can run: each step holds what all batches need, once a process.

A batch is a list of roots (first or rarest items), or of antecedents to count; both depend on the data only. What comes
back is added, or put at its place, so that the order in which it comes changes nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from eyechart.engines.local import Local
from eyechart.mining.counting import BLOCK, Counts, Index, Queries, Walk, count, count_block, order
from eyechart.mining.found import Found, Thresholds, make_found, rows_in_use
from eyechart.mining.levels import Level
from eyechart.mining.meet import NO_RULE, Examples, Ledger, match_roots
from eyechart.mining.plan import Plan
from eyechart.mining.search import Space, make_space, search_roots
from eyechart.mining.shared import pack, unlocked, unpack
from eyechart.mining.threads import batches_of
from eyechart.mining.transactions import Int32s
from eyechart.protocols import Engine

ROOT = "root"
Counter = Callable[[Queries], Counts]


def root_batches(roots: Int32s) -> Iterator[pl.DataFrame]:
    """Cut a list of roots, the heaviest first, into tables."""
    return (pl.DataFrame({ROOT: batch}) for batch in batches_of(roots))


@dataclass
class Search:
    """Find the rules of some roots, at most so many."""

    level: Level
    thresholds: Thresholds
    most_places: int
    limit: int

    @cached_property
    def _space(self) -> Space:
        return make_space(unlocked(self.level), self.thresholds, self.most_places)

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Search the roots of a batch."""
        roots = batch[ROOT].to_numpy(writable=True)
        with np.errstate(over="ignore"):
            room = make_found(1024, self.thresholds.max_items)
            found = rows_in_use(search_roots(roots, self._space, room, self.limit))
        items, answers, joints, supports, _ = found
        return pack(roots=roots, items=items.ravel(), answers=answers, joints=joints, supports=supports)


def read_found(table: pl.DataFrame, width: int) -> Found:
    """Read what a search has found."""
    answers = unpack(table, "answers")
    items = unpack(table, "items").reshape(len(answers), width)
    return Found(items, answers, unpack(table, "joints"), unpack(table, "supports"), np.array([len(answers)]))


@dataclass
class Match:
    """Match the rules whose rarest item is one of some roots."""

    plan: Plan
    examples: Examples
    empty: Ledger  # of a process that has matched nothing

    @cached_property
    def _tables(self) -> tuple[Plan, Examples, Ledger]:
        own = Ledger(*(np.array(column) for column in self.empty))
        return unlocked(self.plan), unlocked(self.examples), own

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Match the roots of a batch."""
        plan, examples, ledger = self._tables
        roots = batch[ROOT].to_numpy(writable=True)
        match_roots(roots, plan, examples, ledger)
        rules = np.concatenate([plan.rules[plan.starts[root] : plan.starts[root + 1]] for root in roots])
        met = np.flatnonzero(ledger.counts).astype(np.int32)
        found = pack(
            rules=rules,
            supports=ledger.supports[rules],
            correct=ledger.correct[rules],
            examples=met,
            counts=ledger.counts[met],
            best=ledger.best[met],
            best_correct=ledger.best_correct[met],
        )
        ledger.counts[met], ledger.best[met], ledger.best_correct[met] = 0, NO_RULE, NO_RULE
        return found


def enter(table: pl.DataFrame, ledger: Ledger) -> None:
    """Add what a batch has met to the ledger of all."""
    rules, met = unpack(table, "rules"), unpack(table, "examples")
    ledger.supports[rules], ledger.correct[rules] = unpack(table, "supports"), unpack(table, "correct")
    ledger.counts[met] += unpack(table, "counts")
    ledger.best[met] = np.minimum(ledger.best[met], unpack(table, "best"))
    ledger.best_correct[met] = np.minimum(ledger.best_correct[met], unpack(table, "best_correct"))


@dataclass
class Count:
    """Count the images of antecedents, and those with their answers."""

    index: Index

    @cached_property
    def _index(self) -> Index:
        return unlocked(self.index)

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Count the antecedents of a batch, which lie in the order in which they are walked."""
        n = batch.height
        items = np.array(batch.drop("place", "lacking", "answer").to_numpy(), np.int32, order="C")
        lacking, answers = (batch[name].to_numpy(writable=True) for name in ("lacking", "answer"))
        counts = Counts(np.zeros(n, np.int64), np.zeros(n, np.int64))
        count_block(Walk(items, lacking, answers, np.arange(n)), self._index, counts, 0, n)
        return batch.select("place").with_columns(pl.Series("images", counts.images), pl.Series("hits", counts.hits))


def make_counter(index: Index, threads: int, engine: Engine | None) -> Counter:
    """Count on one index, by threads of this process or by an engine, which is sent the index once."""
    if engine is None or isinstance(engine, Local):
        return lambda queries: count(queries, index, threads)
    step, running = Count(index), engine
    return lambda queries: count_parted(order(queries, index), step, running)


def count_parted(walk: Walk, step: Count, engine: Engine) -> Counts:
    """Count by blocks of antecedents; `step` may serve for several walks, and is sent to a process once."""
    n = len(walk.places)
    found = Counts(np.zeros(n, np.int64), np.zeros(n, np.int64))
    for table in engine.map(step, _blocks(walk)):
        places = table["place"].to_numpy()
        found.images[places], found.hits[places] = table["images"].to_numpy(), table["hits"].to_numpy()
    return found


def _blocks(walk: Walk) -> Iterator[pl.DataFrame]:
    for at in range(0, len(walk.places), BLOCK):
        block = slice(at, at + BLOCK)
        columns = {f"item{column}": items[block] for column, items in enumerate(walk.items.T)}
        named = {"place": walk.places[block], "lacking": walk.lacking[block], "answer": walk.answers[block]}
        yield pl.DataFrame(named | columns)
