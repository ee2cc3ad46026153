"""Store rules as arrays: those found so far by a search, and all of them sorted, most confident first."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from eyechart.base.kernels import Integer, inner_kernel, kernel
from eyechart.mining.levels import NO_ITEM, Int16s
from eyechart.mining.settings import MiningSettings
from eyechart.mining.transactions import Int32s, Int64s, Words

Bytes = NDArray[np.int8]
Key = Callable[[Int32s], Words]  # called for the current order of the rows, so that only one key is in memory

RADIX, DIGIT = 2048, np.uint64(2047)


class RuleBuffer(NamedTuple):
    """The rules found so far, in arrays that grow: one row per rule, its items ascending and padded with NO_ITEM."""

    items: Int16s
    answers: Int32s
    joints: Int32s
    supports: Int32s
    size: Int64s  # a single number: the rows in use


class Thresholds(NamedTuple):
    """The settings that kernels read."""

    max_items: int
    min_support: int
    numerator: int
    denominator: int
    prune: bool  # leave out antecedents that the superset filter is known to drop

    @classmethod
    def from_settings(cls, settings: MiningSettings) -> Self:
        """Convert the settings to whole numbers."""
        return cls(
            max_items=settings.max_items,
            min_support=settings.min_support,
            numerator=settings.min_confidence.numerator,
            denominator=settings.min_confidence.denominator,
            # In the paper's filter a dropped rule still drops shorter ones, so all rules must be seen.
            prune=settings.superset in {"immediate", "any-subset"},
        )


@kernel
def make_buffer(rows: int, width: int) -> RuleBuffer:
    """Allocate a buffer for this many rules."""
    items = np.empty((rows, width), np.uint16)
    answers, joints, supports = np.empty(rows, np.int32), np.empty(rows, np.int32), np.empty(rows, np.int32)
    return RuleBuffer(items, answers, joints, supports, np.zeros(1, np.int64))


@inner_kernel
def reserve(buffer: RuleBuffer, more: int) -> RuleBuffer:
    """Enlarge the buffer if this many more rules would not fit."""
    return buffer if buffer.size[0] + more <= len(buffer.answers) else enlarge(buffer, more)


@kernel
def enlarge(buffer: RuleBuffer, more: int) -> RuleBuffer:
    """Copy the rules into a buffer of at least twice the size."""
    size = buffer.size[0]
    larger = make_buffer(2 * (size + more), buffer.items.shape[1])
    larger.size[0] = size
    for row in range(size):
        for column in range(buffer.items.shape[1]):
            larger.items[row, column] = buffer.items[row, column]
        larger.answers[row] = buffer.answers[row]
        larger.joints[row] = buffer.joints[row]
        larger.supports[row] = buffer.supports[row]
    return larger


@inner_kernel
def confident(joint: Integer, support: Integer, thresholds: Thresholds) -> bool:
    """Compare joint / support with the threshold in whole numbers."""
    return bool(np.int64(joint) * thresholds.denominator >= np.int64(support) * thresholds.numerator)


@inner_kernel
def add_rule(buffer: RuleBuffer, prefix: Int16s, length: int, answer: Integer, counts: tuple[Integer, Integer]) -> None:
    """Write a rule, for which there must be space, with its joint count and its support."""
    row = buffer.size[0]
    for column in range(length):
        buffer.items[row, column] = prefix[column]
    for column in range(length, buffer.items.shape[1]):
        buffer.items[row, column] = NO_ITEM
    buffer.answers[row] = answer
    buffer.joints[row], buffer.supports[row] = counts
    buffer.size[0] = row + 1


def rows_in_use(buffer: RuleBuffer) -> RuleBuffer:
    """Return a view of the rows in use."""
    n = int(buffer.size[0])
    return RuleBuffer(buffer.items[:n], buffer.answers[:n], buffer.joints[:n], buffer.supports[:n], buffer.size)


def join_buffers(parts: list[RuleBuffer]) -> RuleBuffer:
    """Concatenate buffers."""
    items = np.concatenate([part.items for part in parts])
    answers = np.concatenate([part.answers for part in parts])
    joints = np.concatenate([part.joints for part in parts])
    supports = np.concatenate([part.supports for part in parts])
    return RuleBuffer(items, answers, joints, supports, np.array([len(answers)]))


class Rules(NamedTuple):
    """One entry per rule, by descending confidence, descending support, ascending length, items as a list, answer.

    The order is total: no two rules of one mining have the same antecedent.
    """

    items: Int32s  # one row per rule, ascending, padded with -1
    lengths: Bytes
    answers: Int32s
    joints: Int32s  # examples with the antecedent and the answer
    supports: Int32s  # examples with the antecedent

    @property
    def confidences(self) -> NDArray[np.float64]:
        """Divide joint by support; two quotients are equal only if the fractions are."""
        return self.joints / self.supports

    @property
    def n(self) -> int:
        """Count the rules."""
        return len(self.answers)


def order_by(keys: Iterable[Key], rows: Int32s) -> Int32s:
    """Sort rows, which are overwritten, by several keys, the last one being the most significant."""
    for key in keys:
        rows = sort_rows(key(rows), rows)
    return rows


@kernel
def sort_rows(keys: Words, rows: Int32s) -> Int32s:
    """Sort rows by their keys, keeping the order of equal ones: a radix sort, 11 bits at a time, so linear."""
    other_keys, other_rows = np.empty_like(keys), np.empty_like(rows)
    for shift in np.arange(0, 64, 11).astype(np.uint64):
        ends = np.zeros(RADIX + 1, np.int64)
        for key in keys:
            ends[np.int64((key >> shift) & DIGIT) + 1] += 1
        if ends.max() == len(keys):
            continue
        for digit in range(RADIX):
            ends[digit + 1] += ends[digit]
        for i in range(len(keys)):
            value = np.int64((keys[i] >> shift) & DIGIT)
            other_keys[ends[value]] = keys[i]
            other_rows[ends[value]] = rows[i]
            ends[value] += 1
        keys, other_keys = other_keys, keys
        rows, other_rows = other_rows, rows
    return rows


def item_keys(items: Int16s) -> list[Key]:
    """Pack the items of each row, four to a key, the least significant keys first."""
    return [partial(_pack, items[:, first : first + 4]) for first in reversed(range(0, items.shape[1], 4))]


def _pack(items: Int16s, rows: Int32s) -> Words:
    key = np.zeros(len(rows), np.uint64)
    for column in items.T:
        key <<= np.uint64(16)
        key |= column[rows]
    return key


def sort_rules(buffer: RuleBuffer, kept: Int32s, items: Int32s, answers: Int32s) -> Rules:
    """Sort the kept rules, and restore the caller's numbers for items and answers."""
    sorted_items = np.sort(items)
    rename(buffer.items, np.searchsorted(sorted_items, items).astype(np.uint16))
    lengths = (buffer.items != NO_ITEM).sum(axis=1, dtype=np.int8)
    keys: list[Key] = [
        *item_keys(buffer.items),
        partial(_falling_support, buffer, lengths),
        partial(_falling_confidence, buffer),
    ]
    order = order_by(keys, kept)
    names = np.full(NO_ITEM + 1, -1, np.int32)
    names[: len(sorted_items)] = sorted_items
    return Rules(
        items=names[buffer.items.take(order, axis=0)],
        lengths=lengths[order],
        answers=answers[buffer.answers[order]],
        joints=buffer.joints[order],
        supports=buffer.supports[order],
    )


def _falling_support(buffer: RuleBuffer, lengths: Bytes, rows: Int32s) -> Words:
    return ((2**31 - buffer.supports[rows].astype(np.int64)) * 8 + lengths[rows]).view(np.uint64)


def _falling_confidence(buffer: RuleBuffer, rows: Int32s) -> Words:
    """Invert the bits of the confidences: positive IEEE 754 floats are ordered like their bits."""
    return ~(buffer.joints[rows] / buffer.supports[rows]).view(np.uint64)


@kernel
def rename(items: Int16s, names: Int16s) -> None:
    """Renumber the items of every rule, and sort them again."""
    for row in range(len(items)):
        for column in range(items.shape[1]):
            if items[row, column] == NO_ITEM:
                break
            name = names[items[row, column]]
            slot = column
            while slot > 0 and items[row, slot - 1] > name:
                items[row, slot] = items[row, slot - 1]
                slot -= 1
            items[row, slot] = name
