"""The mined rules in their order: most confident first."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart.kernels import kernel
from eyechart.mining.found import Found
from eyechart.mining.leaf import Words
from eyechart.mining.levels import NO_ITEM, Encoded, Int16s
from eyechart.mining.transactions import Int32s

Bytes = NDArray[np.int8]
Key = Callable[[Int32s], Words]  # made for the rows in their present order, so that only one is in memory

RADIX, DIGIT = 2048, np.uint64(2047)


class Rules(NamedTuple):
    """One entry a rule, by falling confidence, falling support, rising length, items as a list, answer.

    The order is total: no two rules of one mining have the same antecedent.
    """

    items: Int32s  # one row a rule, rising, filled up with -1
    lengths: Bytes
    answers: Int32s
    joints: Int32s  # examples with the antecedent and the answer
    supports: Int32s  # examples with the antecedent

    @property
    def confidences(self) -> NDArray[np.float64]:
        """Divide joint by support; two are equal only where the fractions are."""
        return self.joints / self.supports

    @property
    def n(self) -> int:
        """Count the rules."""
        return len(self.answers)


def order_by(keys: Iterable[Key], rows: Int32s) -> Int32s:
    """Sort rows, which are overwritten, by several keys, the last one given counting most."""
    for key in keys:
        rows = sort_rows(key(rows), rows)
    return rows


@kernel
def sort_rows(keys: Words, rows: Int32s) -> Int32s:
    """Sort rows by their keys, equal ones as they were: by radix, 11 bits at a time, so linear."""
    other_keys, other_rows = np.empty_like(keys), np.empty_like(rows)
    for shift in np.arange(0, 64, 11).astype(np.uint64):
        ends = np.zeros(RADIX + 1, np.int64)
        for key in keys:
            ends[np.int64((key >> shift) & DIGIT) + 1] += 1
        if ends.max() == len(keys):
            continue
        for digit in range(RADIX):
            ends[digit + 1] += ends[digit]
        for at in range(len(keys)):
            value = np.int64((keys[at] >> shift) & DIGIT)
            other_keys[ends[value]] = keys[at]
            other_rows[ends[value]] = rows[at]
            ends[value] += 1
        keys, other_keys = other_keys, keys
        rows, other_rows = other_rows, rows
    return rows


def item_keys(items: Int16s) -> list[Key]:
    """Join the items of each row, four to a key, the keys that count least first."""
    return [partial(_pack, items[:, first : first + 4]) for first in reversed(range(0, items.shape[1], 4))]


def _pack(items: Int16s, rows: Int32s) -> Words:
    key = np.zeros(len(rows), np.uint64)
    for column in items.T:
        key <<= np.uint64(16)
        key |= column[rows]
    return key


def in_order(found: Found, kept: Int32s, encoded: Encoded) -> Rules:
    """Put the kept rules in their order, under the caller's numbers."""
    sorted_items = np.sort(encoded.items)
    rename(found.items, np.searchsorted(sorted_items, encoded.items).astype(np.uint16))
    lengths = (found.items != NO_ITEM).sum(axis=1, dtype=np.int8)
    keys: list[Key] = [
        *item_keys(found.items),
        partial(_falling_support, found, lengths),
        partial(_falling_confidence, found),
    ]
    order = order_by(keys, kept)
    names = np.full(NO_ITEM + 1, -1, np.int32)
    names[: len(sorted_items)] = sorted_items
    return Rules(
        items=names[found.items.take(order, axis=0)],
        lengths=lengths[order],
        answers=encoded.answers[found.answers[order]],
        joints=found.joints[order],
        supports=found.supports[order],
    )


def _falling_support(found: Found, lengths: Bytes, rows: Int32s) -> Words:
    return ((2**31 - found.supports[rows].astype(np.int64)) * 8 + lengths[rows]).view(np.uint64)


def _falling_confidence(found: Found, rows: Int32s) -> Words:
    """Invert the bits of the confidences: IEEE 754 orders positive floats like their bits."""
    return ~(found.joints[rows] / found.supports[rows]).view(np.uint64)


@kernel
def rename(items: Int16s, names: Int16s) -> None:
    """Give the items of every rule other numbers, and sort them again."""
    for row in range(len(items)):
        for column in range(items.shape[1]):
            if items[row, column] == NO_ITEM:
                break
            name = names[items[row, column]]
            at = column
            while at > 0 and items[row, at - 1] > name:
                items[row, at] = items[row, at - 1]
                at -= 1
            items[row, at] = name
