"""Find the examples that rules speak about."""

from typing import NamedTuple

import numpy as np

from eyechart.engines.local import Local
from eyechart.errors import DataError
from eyechart.kernels import Announce, announced
from eyechart.mining.levels import Level
from eyechart.mining.meet import NO_RULE, Examples, Ledger, match_roots
from eyechart.mining.parted import Match, enter, root_batches
from eyechart.mining.plan import Plan, level_of, make_plan
from eyechart.mining.rules import Rules
from eyechart.mining.threads import Shelf, batches_of, run
from eyechart.mining.transactions import Accepted, Int32s, Transactions
from eyechart.protocols import Engine


class Matches(NamedTuple):
    """Per rule, the examples that hold its items, and those that accept its answer; per example, what it meets.

    `best` is the first rule, in the order of the rules, that the example meets, `best_correct` the first whose answer
    it accepts; -1 stands for none. So an example has no rule where `best` is -1, and is a counterexample to all of its
    rules where only `best_correct` is.
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
    """Match every rule with every example; without accepted answers an example accepts its own.

    engine: where that is done; none, and the local one, are threads here.
    """
    accepted = _accepted(accepted, transactions)
    with announced(announce):
        plan = make_plan(rules, transactions)
        examples = _examples(plan, transactions, accepted)
        if engine is None or isinstance(engine, Local):
            return _match(plan, examples, rules, threads)
        return _match_parted(plan, examples, rules, engine)


def _accepted(accepted: Accepted | None, transactions: Transactions) -> Accepted:
    if accepted is None:
        return Accepted.only(transactions.answers)
    if len(accepted.starts) != transactions.n + 1:
        found = f"{len(accepted.starts) - 1} lists for {transactions.n} examples"
        raise DataError(
            "one list of accepted answers for each example", found, "give an empty list where none is right"
        )
    return accepted


def _match(plan: Plan, examples: Examples, rules: Rules, threads: int) -> Matches:
    supports, correct = np.zeros(rules.n, np.int32), np.zeros(rules.n, np.int32)
    ledgers = [_open_ledger(examples, rules)._replace(supports=supports, correct=correct) for _ in range(threads)]
    shelf = Shelf(ledgers)

    def task(roots: Int32s) -> None:
        with shelf.borrow() as ledger:
            match_roots(roots, plan, examples, ledger)

    for _ in run(task, batches_of(_heaviest_roots(plan, examples.level)), threads):
        pass
    counts = np.add.reduce([ledger.counts for ledger in ledgers])
    best = _earliest([ledger.best for ledger in ledgers])
    return Matches(supports, correct, counts, best, _earliest([ledger.best_correct for ledger in ledgers]))


def _match_parted(plan: Plan, examples: Examples, rules: Rules, engine: Engine) -> Matches:
    whole, empty = _open_ledger(examples, rules), _open_ledger(examples, rules)
    for table in engine.map(Match(plan, examples, empty), root_batches(_heaviest_roots(plan, examples.level))):
        enter(table, whole)
    best, best_correct = _earliest([whole.best]), _earliest([whole.best_correct])
    return Matches(whole.supports, whole.correct, whole.counts, best, best_correct)


def _examples(plan: Plan, transactions: Transactions, accepted: Accepted) -> Examples:
    starts = np.require(accepted.starts, np.int64, ["C", "W"])
    return Examples(level_of(transactions, plan), starts, np.require(accepted.answers, np.int32, ["C", "W"]))


def _open_ledger(examples: Examples, rules: Rules) -> Ledger:
    """Begin without a meeting."""
    n, most = len(examples.accepted_starts) - 1, int(examples.level.supports.max(initial=0))
    return Ledger(
        item_slots=np.zeros(examples.level.n_items[0], np.int32),
        answer_slots=np.zeros(rules.answers.max(initial=-1) + 1, np.int32),
        root_counts=np.empty(most, np.int32),
        root_best=np.empty(most, np.int32),
        root_best_correct=np.empty(most, np.int32),
        supports=np.zeros(rules.n, np.int32),
        correct=np.zeros(rules.n, np.int32),
        counts=np.zeros(n, np.int32),
        best=np.full(n, NO_RULE, np.int32),
        best_correct=np.full(n, NO_RULE, np.int32),
    )


def _heaviest_roots(plan: Plan, level: Level) -> Int32s:
    """List the items that are the rarest of some rule and held by some example, those with most words to read first."""
    work = np.diff(plan.starts) * ((level.supports + 63) // 64)
    order = np.argsort(-work, kind="stable").astype(np.int32)
    return order[: np.count_nonzero(work)]


def _earliest(columns: list[Int32s]) -> Int32s:
    """Take the first rule of each example over all threads."""
    first = np.minimum.reduce(columns)
    return np.where(first == NO_RULE, np.int32(-1), first)
