"""Candidates by blocks of asked examples, which any engine can collect.

Every example looks for its own candidates, so it does not matter who else is in its block. What the filters took is
counted, and counts are added. Each process remembers the pairs it compared lately, which changes no comparison.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.decoys.drawing.candidates import (
    EQUAL,
    Asked,
    Candidates,
    Entries,
    Judges,
    collect,
    collect_random,
)
from eyechart.audits.decoys.drawing.lists import Int32s, Lists, starts_of
from eyechart.audits.decoys.drawing.pairs import Lexicon, Limits, make_memory
from eyechart.mining.shared import pack, unlocked, unpack
from eyechart.protocols import Engine

BLOCK = 20_000  # asked examples of a batch


class Tables(NamedTuple):
    """What a process needs for every batch."""

    judges: Judges
    entries: Entries


@dataclass(frozen=True)
class Collect:
    """Collect up to `near` candidates for each example of a batch: walk its places, or draw at random from one."""

    lexicon: Lexicon
    limits: Limits
    entries: Entries
    near: int
    random: bool

    @cached_property
    def _tables(self) -> Tables:
        judges = Judges(unlocked(self.lexicon), self.limits, make_memory(len(self.lexicon.kinds)))
        return Tables(judges, unlocked(self.entries))

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Give the candidates and what the filters took, in one row."""
        (judges, entries), asked = self._tables, _read(batch)
        places = batch["places"].to_numpy(writable=True)
        with np.errstate(over="ignore"):  # hashes overflow, which compiled kernels do silently
            if self.random:
                found = collect_random(judges, asked, entries, places.ravel(), self.near)
            else:
                found = collect(judges, asked, entries, places, self.near)
        return pack(asked=asked.rows, entries=found.entries.ravel(), taken=found.taken.ravel())


def collect_parted(step: Collect, asked: Asked, places: Int32s, engine: Engine) -> Candidates:
    """Collect by blocks; `places` has a row for each asked example."""
    entries = np.empty((len(asked.rows), step.near), np.int32)
    taken = np.zeros((3, EQUAL + 1), np.int64)
    for table in engine.map(step, _blocks(asked, places)):
        entries[unpack(table, "asked")] = unpack(table, "entries").reshape(-1, step.near)
        taken += unpack(table, "taken").reshape(taken.shape)
    return Candidates(entries, taken)


def _blocks(asked: Asked, places: Int32s) -> Iterator[pl.DataFrame]:
    """Lay the examples out in tables: the number of each among those asked, target, lot, accepted answers, places."""
    n, (starts, items) = len(asked.rows), asked.accepted
    for begin in range(0, n, BLOCK):
        end = min(begin + BLOCK, n)
        block = slice(begin, end)
        owners = np.repeat(np.arange(begin, end, dtype=np.int32), np.diff(starts[begin : end + 1]))
        accepted = pl.DataFrame({"asked": owners, "accepted": items[starts[begin] : starts[end]]})
        grouped = accepted.group_by("asked", maintain_order=True).agg("accepted")
        yield grouped.with_columns(  # as many: each example has an accepted answer, its target
            pl.Series("target", asked.targets[block]),
            pl.Series("lot", asked.lots[block]),
            pl.Series("places", places[block]),
        )


def _read(batch: pl.DataFrame) -> Asked:
    """Read the examples of a batch; what stands beside them does not matter to candidates."""
    rows, targets, lots = (batch[name].to_numpy(writable=True) for name in ("asked", "target", "lot"))
    accepted = Lists(starts_of(batch["accepted"].list.len().to_numpy()), unpack(batch, "accepted"))
    return Asked(rows, targets, accepted, lots, np.empty((len(rows), 0), np.int32))
