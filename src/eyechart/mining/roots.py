"""The first items of antecedents, searched by threads of this process or by an engine."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart.engines.local import Local
from eyechart.kernels import kernel
from eyechart.mining.found import Found, Thresholds, make_found, rows_in_use
from eyechart.mining.levels import Level
from eyechart.mining.parted import Search, read_found, root_batches
from eyechart.mining.search import Space, make_space, search_roots
from eyechart.mining.settings import MiningSettings
from eyechart.mining.shared import unpack
from eyechart.mining.threads import Shelf, batches_of, run
from eyechart.mining.transactions import Int32s, Int64s
from eyechart.protocols import Engine


class Done(NamedTuple):
    """Roots that have been searched, and how many rules they gave."""

    roots: Int32s
    n_rules: int


class Roots:
    """All roots, and what has been found of them so far."""

    def __init__(
        self, level: Level, thresholds: Thresholds, settings: MiningSettings, engine: Engine | None = None
    ) -> None:
        self._work, places = root_sizes(level)
        most_places = int(places.max(initial=0))
        self._searching: _Threads | _Parted
        if engine is None or isinstance(engine, Local):
            spaces = [make_space(level, thresholds, most_places) for _ in range(settings.threads)]
            self._searching = _Threads(spaces, settings)
        else:
            self._searching = _Parted(Search(level, thresholds, most_places, settings.max_rules), engine)
        self.heaviest: Int32s = np.argsort(-self._work, kind="stable").astype(np.int32)
        self.n_rules = 0
        self._done = 0.0

    def search(self, roots: Int32s) -> Iterator[float]:
        """Find the rules of these roots, and tell again and again which share of all work is done."""
        for done in self._searching.search(roots, self):
            self.n_rules += done.n_rules
            self._done += float(self._work[done.roots].sum())
            yield self._done / max(float(self._work.sum()), 1.0)

    def found(self) -> list[Found]:
        """Return the rules, in parts."""
        return self._searching.found()


@dataclass
class _Memory:
    """What one thread writes to."""

    space: Space
    found: Found


class _Threads:
    """Threads, of which each has memory of its own."""

    def __init__(self, spaces: list[Space], settings: MiningSettings) -> None:
        self._settings = settings
        self._memories = [_Memory(space, make_found(1024, settings.max_items)) for space in spaces]
        self._shelf = Shelf(self._memories)

    def search(self, roots: Int32s, whole: Roots) -> Iterator[Done]:
        """Search batches of roots; what has been found already leaves less room."""

        def search_batch(batch: Int32s) -> Done:
            with self._shelf.borrow() as memory:
                before = int(memory.found.size[0])
                limit = before + self._settings.max_rules - whole.n_rules
                memory.found = search_roots(batch, memory.space, memory.found, limit)
                return Done(batch, int(memory.found.size[0]) - before)

        return run(search_batch, batches_of(roots), self._settings.threads)

    def found(self) -> list[Found]:
        """Return what each thread has found."""
        return [rows_in_use(memory.found) for memory in self._memories]


class _Parted:
    """Batches that an engine runs."""

    def __init__(self, step: Search, engine: Engine) -> None:
        self._step = step
        self._engine = engine
        self._found: list[Found] = []

    def search(self, roots: Int32s, _: Roots) -> Iterator[Done]:
        """Search batches of roots."""
        for table in self._engine.map(self._step, root_batches(roots)):
            self._found.append(read_found(table, self._step.thresholds.max_items))
            yield Done(unpack(table, "roots"), len(self._found[-1].answers))

    def found(self) -> list[Found]:
        """Return what each batch has found."""
        return self._found


@kernel
def root_sizes(level: Level) -> tuple[NDArray[np.float64], Int64s]:
    """Estimate the work of each root by the cubed numbers of items beside it, and sum these numbers themselves."""
    n_items = level.n_items[0]
    work, places = np.zeros(n_items), np.zeros(n_items, np.int64)
    for item in range(n_items):
        for at in range(level.starts[item], level.starts[item + 1]):
            tail = np.int64(level.tails[at])
            places[item] += tail
            work[item] += tail * tail * tail
    return work, places
