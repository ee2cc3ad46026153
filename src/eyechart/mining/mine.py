"""Mine rules that predict an answer from items (Dancette et al. 2021).

A rule says that examples with these items have this answer. Its support is the number of examples with them, its joint
count that of examples with the answer, too, its confidence joint / support. For each set of at most `max_items`
items, the most confident answer with a joint count of at least `min_support` is kept, if its confidence is at least
`min_confidence` and it passes the superset filter. The result depends only on the set of examples.

Differences from the authors' code, even with `published="vqa-ce"`: fractions are compared exactly instead
of by quotients rounded to six digits, and ties that the code broke arbitrarily go to the smaller answer. The empty
antecedent is not a rule here (the code gave it a confidence left over from another); see `prior`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from queue import SimpleQueue

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.base.errors import SettingError
from eyechart.base.kernels import Announce, announced, kernel
from eyechart.data.protocols import Engine
from eyechart.engines import Local
from eyechart.engines.arrays import pack, unlocked, unpack
from eyechart.mining.batches import ROOT, batches_of, root_batches, run_in_threads
from eyechart.mining.levels import NO_ITEM, Level, encode
from eyechart.mining.rules import (
    RuleBuffer,
    Rules,
    Thresholds,
    join_buffers,
    make_buffer,
    rows_in_use,
    sort_rules,
)
from eyechart.mining.search import SearchMemory, search_roots
from eyechart.mining.settings import MiningSettings
from eyechart.mining.superset import undominated
from eyechart.mining.transactions import Int32s, Int64s, Transactions

Progress = Callable[[float], None]

SAMPLE = 32  # one in this many roots is searched first, to estimate the number of rules
ENOUGH = 16  # roots in a sample that is large enough for an estimate
ABSURD = 4  # times max_rules: a search expected to find this many is not started
DEFAULTS = MiningSettings()


def prior(transactions: Transactions) -> Int64s:
    """Count the examples with each answer: the rules without items."""
    return np.bincount(transactions.answers[transactions.answers >= 0], minlength=transactions.n_answers)


def mine(
    transactions: Transactions,
    settings: MiningSettings = DEFAULTS,
    progress: Progress | None = None,
    announce: Announce | None = None,
    *,
    engine: Engine | None = None,
) -> Rules:
    """Mine the rules of the examples, sorted.

    progress: called with the share of the work done, from 0 to 1.
    announce: called with a sentence when kernels are compiled, and with the expected number of rules and memory.
    engine: runs the search; without one, or with the local one, threads of this process do.
    """
    with announced(announce), np.errstate(over="ignore"):
        level, items, answers = encode(transactions, settings)
        buffer = _search(level, settings, progress or _ignore, announce or _ignore, engine)
        return sort_rules(buffer, undominated(buffer, settings), items, answers)


def _ignore(_: object) -> None:
    """Do nothing with a message or a share."""


def _search(
    level: Level, settings: MiningSettings, progress: Progress, announce: Announce, engine: Engine | None
) -> RuleBuffer:
    """Search for all rules before the superset filter, first in a sample of the roots to estimate their number."""
    thresholds = Thresholds.from_settings(settings)
    singles = _single_rules(level, thresholds)
    if settings.max_items == 1:
        return singles
    roots = Roots(level, thresholds, settings, engine)
    sampled = np.arange(len(roots.heaviest)) % SAMPLE == SAMPLE // 2
    sample, rest = roots.heaviest[sampled], roots.heaviest[~sampled]
    for part in (sample, rest):
        for share in roots.search(part):
            if roots.n_rules > settings.max_rules:
                raise _too_many(settings, "more")
            progress(share)
        if part is sample and len(sample) >= ENOUGH:
            _announce_size(roots.n_rules * SAMPLE, settings, announce)
    return join_buffers([singles, *roots.buffers()])


def _single_rules(level: Level, thresholds: Thresholds) -> RuleBuffer:
    joints, supports = level.joints.astype(np.int64), level.supports.astype(np.int64)
    kept = np.flatnonzero(joints * thresholds.denominator >= supports * thresholds.numerator)
    items = np.full((len(kept), thresholds.max_items), NO_ITEM, np.uint16)
    items[:, 0] = kept
    return RuleBuffer(items, level.bests[kept], level.joints[kept], level.supports[kept], np.array([len(kept)]))


def _announce_size(rules: int, settings: MiningSettings, announce: Announce) -> None:
    """Announce the expected number of rules, and raise an error if it is far too high."""
    if rules > ABSURD * settings.max_rules:
        raise _too_many(settings, f"about {rules:,}, estimated from one first item in {SAMPLE}")
    gigabytes = rules * bytes_per_rule(settings) / 1e9
    announce(f"expecting about {rules:,} rules before the superset filter, which take {gigabytes:.1f} GB")


def bytes_per_rule(settings: MiningSettings) -> int:
    """Compute an upper bound on the memory per rule: as found, with its sort keys, and as returned."""
    buffered, sorting, returned = 2 * settings.max_items + 12, 28, 4 * settings.max_items + 13
    return buffered + max(sorting, 4 + returned)


def _too_many(settings: MiningSettings, found: str) -> SettingError:
    gigabytes = settings.max_rules * bytes_per_rule(settings) / 1e9
    return SettingError(
        f"at most {settings.max_rules:,} rules before the superset filter (max_rules, {gigabytes:.1f} GB)",
        found,
        "raise min_support or min_confidence, lower max_items, or raise max_rules if there is enough memory",
    )


@dataclass
class RootSearch:
    """Search the roots of a batch, in any process; stop shortly after `limit` rules."""

    level: Level
    thresholds: Thresholds
    most_places: int
    limit: int

    @cached_property
    def _memory(self) -> SearchMemory:
        return SearchMemory.empty(unlocked(self.level), self.thresholds, self.most_places)

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Search the roots of a batch."""
        roots = batch[ROOT].to_numpy(writable=True)
        with np.errstate(over="ignore"):
            empty = make_buffer(1024, self.thresholds.max_items)
            buffer = rows_in_use(search_roots(roots, self._memory, empty, self.limit))
        items, answers, joints, supports, _ = buffer
        return pack(roots=roots, items=items.ravel(), answers=answers, joints=joints, supports=supports)


class Roots:
    """All roots (first items of antecedents), and the rules found for them so far."""

    def __init__(
        self, level: Level, thresholds: Thresholds, settings: MiningSettings, engine: Engine | None = None
    ) -> None:
        self._work, n_places = root_sizes(level)
        most_places = int(n_places.max(initial=0))
        self._search: _ThreadSearch | _EngineSearch
        if engine is None or isinstance(engine, Local):
            memories = [SearchMemory.empty(level, thresholds, most_places) for _ in range(settings.threads)]
            self._search = _ThreadSearch(memories, settings)
        else:
            self._search = _EngineSearch(RootSearch(level, thresholds, most_places, settings.max_rules), engine)
        self.heaviest: Int32s = np.argsort(-self._work, kind="stable").astype(np.int32)
        self.n_rules = 0
        self._done = 0.0

    def search(self, roots: Int32s) -> Iterator[float]:
        """Search for the rules of these roots, repeatedly yielding the share of all work that is done."""
        for searched, n_rules in self._search.run(roots, self):
            self.n_rules += n_rules
            self._done += float(self._work[searched].sum())
            yield self._done / max(float(self._work.sum()), 1.0)

    def buffers(self) -> list[RuleBuffer]:
        """Return the rules, in parts."""
        return self._search.buffers()


class _ThreadSearch:
    """Search in threads of this process, each with its own memory and buffer."""

    def __init__(self, memories: list[SearchMemory], settings: MiningSettings) -> None:
        self._settings = settings
        self._memories = memories
        self._buffers = [make_buffer(1024, settings.max_items) for _ in memories]
        self._free: SimpleQueue[int] = SimpleQueue()  # numbers of the memories not in use by a thread
        for number in range(len(memories)):
            self._free.put(number)

    def run(self, roots: Int32s, whole: Roots) -> Iterator[tuple[Int32s, int]]:
        """Search batches of roots, and yield each with its number of rules; all rules count towards the limit."""

        def search_batch(batch: Int32s) -> tuple[Int32s, int]:
            number = self._free.get()
            try:
                before = int(self._buffers[number].size[0])
                limit = before + self._settings.max_rules - whole.n_rules
                self._buffers[number] = search_roots(batch, self._memories[number], self._buffers[number], limit)
                return batch, int(self._buffers[number].size[0]) - before
            finally:
                self._free.put(number)

        return run_in_threads(search_batch, batches_of(roots), self._settings.threads)

    def buffers(self) -> list[RuleBuffer]:
        """Return the rules of each thread."""
        return [rows_in_use(buffer) for buffer in self._buffers]


class _EngineSearch:
    """Search by an engine."""

    def __init__(self, step: RootSearch, engine: Engine) -> None:
        self._step = step
        self._engine = engine
        self._buffers: list[RuleBuffer] = []

    def run(self, roots: Int32s, _: Roots) -> Iterator[tuple[Int32s, int]]:
        """Search batches of roots, and yield each with its number of rules."""
        for table in self._engine.map(self._step, root_batches(roots)):
            self._buffers.append(read_buffer(table, self._step.thresholds.max_items))
            yield unpack(table, "roots"), len(self._buffers[-1].answers)

    def buffers(self) -> list[RuleBuffer]:
        """Return the rules of each batch."""
        return self._buffers


@kernel
def root_sizes(level: Level) -> tuple[NDArray[np.float64], Int64s]:
    """Estimate the work of each root by the cubed numbers of items after it; also return the sums of these numbers."""
    n_items = level.n_items[0]
    work, places = np.zeros(n_items), np.zeros(n_items, np.int64)
    for item in range(n_items):
        for occurrence in range(level.starts[item], level.starts[item + 1]):
            tail = np.int64(level.tails[occurrence])
            places[item] += tail
            work[item] += tail * tail * tail
    return work, places


def read_buffer(table: pl.DataFrame, width: int) -> RuleBuffer:
    """Read the rules of a batch."""
    answers = unpack(table, "answers")
    items = unpack(table, "items").reshape(len(answers), width)
    return RuleBuffer(items, answers, unpack(table, "joints"), unpack(table, "supports"), np.array([len(answers)]))
