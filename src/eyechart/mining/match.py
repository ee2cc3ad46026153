"""Match rules with examples, with rules sorted by their rarest item and examples listed by item."""

from dataclasses import dataclass
from functools import cached_property
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.base.errors import DataError
from eyechart.base.kernels import Announce, announced, kernel
from eyechart.data.protocols import Engine
from eyechart.engines import Local
from eyechart.engines.arrays import pack, unlocked, unpack
from eyechart.mining.batches import ROOT, batches_of, root_batches, run_in_threads
from eyechart.mining.levels import NO_ITEM, Int16s, Level, lay_out_level, layout
from eyechart.mining.meet import NO_RULE, ExampleIndex, Ledger, MatchPlan, match_roots
from eyechart.mining.rules import Bytes, Rules, item_keys, order_by
from eyechart.mining.transactions import Accepted, Int32s, Int64s, Transactions


def make_plan(rules: Rules, transactions: Transactions) -> MatchPlan:
    """Give numbers to the items of the rules by frequency in these examples, and sort the rules by them."""
    n_items = max(transactions.n_items, int(rules.items.max(initial=-1)) + 1)
    used = np.zeros(n_items, np.bool_)
    used[rules.items[rules.items >= 0]] = True
    supports = np.bincount(transactions.items, minlength=n_items)
    kept = np.flatnonzero(used & (supports > 0))
    if len(kept) >= NO_ITEM:
        raise DataError(f"rules of fewer than {NO_ITEM:,} items", f"{len(kept):,}", "match part of the rules at a time")
    kept = kept[np.argsort(supports[kept], kind="stable")]
    numbers = np.full(n_items, NO_ITEM, np.uint16)
    numbers[kept] = np.arange(len(kept), dtype=np.uint16)
    items = np.full(rules.items.shape, NO_ITEM, np.uint16)
    number_rules(rules.items, rules.lengths, numbers, items)
    order = order_by(item_keys(items), np.arange(rules.n, dtype=np.int32))
    starts = np.searchsorted(items[order, 0], np.arange(len(kept) + 1))
    order = order[: starts[-1]]
    return MatchPlan(items[order], order, rules.answers[order], starts, kept)


@kernel
def number_rules(items: Int32s, lengths: Bytes, numbers: Int16s, numbered: Int16s) -> None:
    """Write the new numbers of every rule's items, ascending; leave the row empty if an item has none."""
    for row in range(len(items)):
        length = lengths[row]
        known = True
        for column in range(length):
            known = known and numbers[items[row, column]] != NO_ITEM
        if not known:
            continue
        for column in range(length):
            number = numbers[items[row, column]]
            slot = column
            while slot > 0 and numbered[row, slot - 1] > number:
                numbered[row, slot] = numbered[row, slot - 1]
                slot -= 1
            numbered[row, slot] = number


def level_of(transactions: Transactions, plan: MatchPlan) -> Level:
    """Lay out the examples with the items used in rules."""
    examples = np.arange(transactions.n, dtype=np.int32)
    supports = count_examples(*layout(transactions), transactions.n_items)[plan.kept]
    return lay_out_level(transactions, plan.kept, supports, examples, examples)


@kernel
def count_examples(starts: Int64s, items: Int32s, n_items: int) -> Int32s:
    """Count the examples with each item."""
    counts, last = np.zeros(n_items, np.int32), np.full(n_items, -1, np.int64)
    for example in range(len(starts) - 1):
        for position in range(starts[example], starts[example + 1]):
            counts[items[position]] += last[items[position]] != example
            last[items[position]] = example
    return counts


class Matches(NamedTuple):
    """Per rule, the examples with its items, and those that accept its answer; per example, the rules it matches.

    `best` is the first rule, in the order of the rules, that the example matches, `best_correct` the first whose answer
    it accepts; -1 means none. So an example matches no rule if `best` is -1, and is a counterexample to all of its
    rules if only `best_correct` is.
    """

    supports: Int32s
    correct: Int32s
    counts: Int32s
    best: Int32s
    best_correct: Int32s


def match(
    rules: Rules,
    transactions: Transactions,
    accepted: Accepted | None = None,
    threads: int = 2,
    announce: Announce | None = None,
    *,
    engine: Engine | None = None,
) -> Matches:
    """Match every rule with every example; without accepted answers, an example accepts only its own.

    engine: does the matching; without one, or with the local one, threads of this process do.
    """
    accepted = _accepted(accepted, transactions)
    with announced(announce):
        plan = make_plan(rules, transactions)
        starts = np.require(accepted.starts, np.int64, ["C", "W"])
        answers = np.require(accepted.answers, np.int32, ["C", "W"])
        examples = ExampleIndex(level_of(transactions, plan), starts, answers)
        if engine is None or isinstance(engine, Local):
            return _match_in_threads(plan, examples, rules, threads)
        return _match_by_engine(plan, examples, rules, engine)


def _accepted(accepted: Accepted | None, transactions: Transactions) -> Accepted:
    if accepted is None:
        return Accepted.only(transactions.answers)
    if len(accepted.starts) != transactions.n + 1:
        found = f"{len(accepted.starts) - 1} lists for {transactions.n} examples"
        raise DataError(
            "one list of accepted answers for each example", found, "give an empty list if no answer is right"
        )
    return accepted


def _match_in_threads(plan: MatchPlan, examples: ExampleIndex, rules: Rules, threads: int) -> Matches:
    supports, correct = np.zeros(rules.n, np.int32), np.zeros(rules.n, np.int32)
    ledgers = [examples.open_ledger(rules)._replace(supports=supports, correct=correct) for _ in range(threads)]
    free: SimpleQueue[Ledger] = SimpleQueue()  # ledgers not in use by a thread
    for ledger in ledgers:
        free.put(ledger)

    def task(roots: Int32s) -> None:
        ledger = free.get()
        try:
            match_roots(roots, plan, examples, ledger)
        finally:
            free.put(ledger)

    for _ in run_in_threads(task, batches_of(plan.heaviest_roots(examples.level)), threads):
        pass
    counts = np.add.reduce([ledger.counts for ledger in ledgers])
    best = _earliest([ledger.best for ledger in ledgers])
    return Matches(supports, correct, counts, best, _earliest([ledger.best_correct for ledger in ledgers]))


@dataclass
class RootMatch:
    """Match the rules whose rarest item is one of the roots of a batch, in any process."""

    plan: MatchPlan
    examples: ExampleIndex
    empty: Ledger  # of a process that has matched nothing

    @cached_property
    def _tables(self) -> tuple[MatchPlan, ExampleIndex, Ledger]:
        own = Ledger(*(np.array(column) for column in self.empty))
        return unlocked(self.plan), unlocked(self.examples), own

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Match the roots of a batch."""
        plan, examples, ledger = self._tables
        roots = batch[ROOT].to_numpy(writable=True)
        match_roots(roots, plan, examples, ledger)
        rules = np.concatenate([plan.rules[plan.starts[root] : plan.starts[root + 1]] for root in roots])
        met = np.flatnonzero(ledger.counts).astype(np.int32)
        matched = pack(
            rules=rules,
            supports=ledger.supports[rules],
            correct=ledger.correct[rules],
            examples=met,
            counts=ledger.counts[met],
            best=ledger.best[met],
            best_correct=ledger.best_correct[met],
        )
        ledger.counts[met], ledger.best[met], ledger.best_correct[met] = 0, NO_RULE, NO_RULE
        return matched


def add_matches(table: pl.DataFrame, ledger: Ledger) -> None:
    """Add the matches of a batch to the ledger of all."""
    rules, matched = unpack(table, "rules"), unpack(table, "examples")
    ledger.supports[rules], ledger.correct[rules] = unpack(table, "supports"), unpack(table, "correct")
    ledger.counts[matched] += unpack(table, "counts")
    ledger.best[matched] = np.minimum(ledger.best[matched], unpack(table, "best"))
    ledger.best_correct[matched] = np.minimum(ledger.best_correct[matched], unpack(table, "best_correct"))


def _match_by_engine(plan: MatchPlan, examples: ExampleIndex, rules: Rules, engine: Engine) -> Matches:
    whole, empty = examples.open_ledger(rules), examples.open_ledger(rules)
    for table in engine.map(RootMatch(plan, examples, empty), root_batches(plan.heaviest_roots(examples.level))):
        add_matches(table, whole)
    best, best_correct = _earliest([whole.best]), _earliest([whole.best_correct])
    return Matches(whole.supports, whole.correct, whole.counts, best, best_correct)


def _earliest(columns: list[Int32s]) -> Int32s:
    """Find the first rule of each example over all threads."""
    first = np.minimum.reduce(columns)
    return np.where(first == NO_RULE, np.int32(-1), first)
