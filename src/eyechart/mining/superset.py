"""Drop rules that a nested rule with the same answer makes redundant."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from eyechart.base.kernels import Integer, inner_kernel, kernel, popcount
from eyechart.mining.batches import run_in_threads
from eyechart.mining.levels import NO_ITEM, Int16s
from eyechart.mining.rules import RuleBuffer
from eyechart.mining.settings import MiningSettings
from eyechart.mining.transactions import Int32s, Int64s, Words

Flags = NDArray[np.bool_]

HIGH_HALF, LOW_HALF = np.uint64(0xFFFFFFFF00000000), np.uint64(0x00000000FFFFFFFF)


class Nesting(NamedTuple):
    """The pairs of nested rules to compare, and what can happen to them."""

    immediate: bool  # only rules that differ by one item
    two_sided: bool  # the shorter rule may be dropped
    known_length: int  # the search has compared rules of this length...
    known_subset: int  # ... with those that keep all of these items, as bits, and one more

    @classmethod
    def from_settings(cls, settings: MiningSettings) -> Self:
        """Return the comparisons of the setting `superset`, and those that the search has already made."""
        compared = settings.max_items > 2 and settings.superset != "two-sided"
        return cls(
            immediate=settings.superset == "immediate",
            two_sided=settings.superset == "two-sided",
            known_length=settings.max_items if compared else -1,
            known_subset=(1 << max(settings.max_items - 2, 0)) - 1,
        )


@inner_kernel
def length_of(items: Int16s, row: int) -> int:
    """Count the items of a rule."""
    length: int = items.shape[1]
    while length > 0 and items[row, length - 1] == NO_ITEM:
        length -= 1
    return length


@inner_kernel
def hash_subset(items: Int16s, row: int, subset: int) -> np.uint64:
    """Hash the items of a rule whose bits are set in `subset` (FNV-1a over items, followed by a multiplication)."""
    value = np.uint64(0xCBF29CE484222325)
    for column in range(items.shape[1]):
        if subset >> column & 1:
            value = (value ^ np.uint64(items[row, column])) * np.uint64(0x9E3779B97F4A7C15)
            value ^= value >> np.uint64(29)
    return value


@inner_kernel
def same_subset(items: Int16s, row: int, subset: int, other: np.int64) -> bool:
    """Return whether another rule has exactly the items of this one whose bits are set in `subset`."""
    position = 0
    for column in range(items.shape[1]):
        if subset >> column & 1:
            if items[other, position] != items[row, column]:
                return False
            position += 1
    return bool(position == items.shape[1] or items[other, position] == NO_ITEM)


@kernel
def make_table(items: Int16s, longest: int) -> Words:
    """Enter the rules of at most this many items into an open hash table.

    An entry has half of the hash, which saves most lookups of the rule itself, and the row of the rule + 1.
    """
    rows = 0
    for row in range(len(items)):
        rows += length_of(items, row) <= longest
    size = 2
    while size < 2 * rows:
        size *= 2
    table = np.zeros(size, np.uint64)
    for row in range(len(items)):
        length = length_of(items, row)
        if length <= longest:
            value = hash_subset(items, row, (1 << length) - 1)
            slot = np.int64(value & np.uint64(size - 1))
            while table[slot] != 0:
                slot = (slot + 1) & (size - 1)
            table[slot] = (value & HIGH_HALF) | np.uint64(row + 1)
    return table


@inner_kernel
def find_subset(items: Int16s, row: int, subset: int, table: Words) -> np.int64:
    """Find the rule with exactly these items of a rule, or return -1."""
    value = hash_subset(items, row, subset)
    last = np.int64(len(table) - 1)
    slot = np.int64(value & np.uint64(last))
    while table[slot] != 0:
        entry = table[slot]
        other = np.int64(entry & LOW_HALF) - np.int64(1)
        if (entry ^ value) & HIGH_HALF == 0 and same_subset(items, row, subset, other):
            return other
        slot = (slot + np.int64(1)) & last
    return np.int64(-1)


@kernel
def mark_dominated(buffer: RuleBuffer, table: Words, part: Int64s, nesting: Nesting, dropped: Flags) -> None:
    """Mark, in a range of rules, those that a shorter one drops and, if two-sided, the reverse."""
    for row in range(part[0], part[1]):
        length = length_of(buffer.items, row)
        for subset in range(1, (1 << length) - 1):
            if nesting.immediate and popcount(np.uint64(subset)) != length - 1:
                continue
            if length == nesting.known_length and is_known(subset, nesting):
                continue
            other = find_subset(buffer.items, row, subset, table)
            if other < 0 or buffer.answers[other] != buffer.answers[row]:
                continue
            if at_least_as_sure(buffer, other, row):
                dropped[row] = True
                if not nesting.two_sided:
                    break
            elif nesting.two_sided:
                dropped[other] = True


@inner_kernel
def is_known(subset: int, nesting: Nesting) -> bool:
    """Return whether the search has compared the longest rules with those of a subset of their items."""
    return subset & nesting.known_subset == nesting.known_subset and subset != nesting.known_subset


@inner_kernel
def at_least_as_sure(buffer: RuleBuffer, one: Integer, other: int) -> bool:
    """Compare two confidences in whole numbers."""
    left = np.int64(buffer.joints[one]) * buffer.supports[other]
    return bool(left >= np.int64(buffer.joints[other]) * buffer.supports[one])


def undominated(buffer: RuleBuffer, settings: MiningSettings) -> Int32s:
    """Find the rules that pass the superset filter."""
    dropped: Flags = np.zeros(len(buffer.answers), np.bool_)
    if settings.superset != "none" and settings.max_items > 1:
        table = make_table(buffer.items, settings.max_items - 1)
        nesting = Nesting.from_settings(settings)

        def mark(part: NDArray[np.int64]) -> None:
            mark_dominated(buffer, table, part, nesting, dropped)

        edges = np.linspace(0, len(dropped), 8 * settings.threads + 1).astype(np.int64)
        for _ in run_in_threads(mark, np.stack([edges[:-1], edges[1:]], axis=1), settings.threads):
            pass
    return np.flatnonzero(~dropped).astype(np.int32)
