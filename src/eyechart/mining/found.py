"""The rules found so far, in arrays that grow."""

from typing import NamedTuple

import numpy as np

from eyechart.kernels import Integer, inner_kernel, kernel
from eyechart.mining.levels import NO_ITEM, Int16s
from eyechart.mining.transactions import Int32s, Int64s


class Found(NamedTuple):
    """One row a rule: its items, rising and filled up with NO_ITEM, and what it counts."""

    items: Int16s
    answers: Int32s
    joints: Int32s
    supports: Int32s
    size: Int64s  # one number: the rows in use


class Thresholds(NamedTuple):
    """The settings a kernel asks for."""

    max_items: int
    min_support: int
    numerator: int
    denominator: int
    prune: bool  # leave out antecedents that the superset filter is known to drop


@kernel
def make_found(rows: int, width: int) -> Found:
    """Leave room for so many rules."""
    items = np.empty((rows, width), np.uint16)
    answers, joints, supports = np.empty(rows, np.int32), np.empty(rows, np.int32), np.empty(rows, np.int32)
    return Found(items, answers, joints, supports, np.zeros(1, np.int64))


@inner_kernel
def reserve(found: Found, more: int) -> Found:
    """Make sure that so many more rules fit."""
    return found if found.size[0] + more <= len(found.answers) else enlarge(found, more)


@kernel
def enlarge(found: Found, more: int) -> Found:
    """Copy the rules to where there is room for twice as many and so many more."""
    size = found.size[0]
    larger = make_found(2 * (size + more), found.items.shape[1])
    larger.size[0] = size
    for row in range(size):
        for column in range(found.items.shape[1]):
            larger.items[row, column] = found.items[row, column]
        larger.answers[row] = found.answers[row]
        larger.joints[row] = found.joints[row]
        larger.supports[row] = found.supports[row]
    return larger


@inner_kernel
def confident(joint: Integer, support: Integer, thresholds: Thresholds) -> bool:
    """Compare joint / support with the threshold in whole numbers."""
    return bool(np.int64(joint) * thresholds.denominator >= np.int64(support) * thresholds.numerator)


@inner_kernel
def add_rule(found: Found, prefix: Int16s, length: int, answer: Integer, counts: tuple[Integer, Integer]) -> None:
    """Write a rule, for which there must be room, with its joint count and its support."""
    row = found.size[0]
    for column in range(length):
        found.items[row, column] = prefix[column]
    for column in range(length, found.items.shape[1]):
        found.items[row, column] = NO_ITEM
    found.answers[row] = answer
    found.joints[row], found.supports[row] = counts
    found.size[0] = row + 1


def rows_in_use(found: Found) -> Found:
    """Leave the spare room out, without a copy."""
    n = int(found.size[0])
    return Found(found.items[:n], found.answers[:n], found.joints[:n], found.supports[:n], found.size)


def join_found(parts: list[Found]) -> Found:
    """Put parts behind one another."""
    items = np.concatenate([part.items for part in parts])
    answers = np.concatenate([part.answers for part in parts])
    joints = np.concatenate([part.joints for part in parts])
    supports = np.concatenate([part.supports for part in parts])
    return Found(items, answers, joints, supports, np.array([len(answers)]))
