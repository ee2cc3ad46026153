"""Lay out the examples with one antecedent in both ways: items by example and examples by item.

Items are numbered by ascending frequency and examples are sorted by their answers, the preferred answer of a tie
first. So the examples of any antecedent are runs of equal answers, one pass over them gives all counts, and the first
of the longest runs is the best answer.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from eyechart.base.errors import DataError
from eyechart.base.kernels import inner_kernel, kernel
from eyechart.mining.settings import MiningSettings
from eyechart.mining.transactions import Int32s, Int64s, Transactions

Int16s = NDArray[np.uint16]

NO_ITEM = 2**16 - 1


class Level(NamedTuple):
    """The examples with an antecedent, and for each item that can extend it the counts of the longer antecedent.

    Example e has the items `items[...:row_ends[e]]`, ascending. Item k has the occurrences numbered from `starts[k]` to
    `starts[k + 1]`: each is an index into `items`, followed by its tail of other items of the same example. A tag
    is the answer of the example or, when rules are matched, its number.
    """

    items: Int16s
    row_ends: Int32s
    row_tags: Int32s
    starts: Int32s
    places: Int32s
    tails: Int16s
    tags: Int32s
    names: Int16s  # of item k: its number in the first level
    supports: Int32s  # examples with the antecedent and k
    joints: Int32s  # those with the best answer
    bests: Int32s  # the best answer
    n_items: Int64s  # one number

    @classmethod
    def empty(cls, n_items: int, n_examples: int, n_places: int) -> Self:
        """Allocate a level for this many items, examples and occurrences; memory is only used once written."""
        return cls(
            items=np.empty(n_places, np.uint16),
            row_ends=np.empty(n_examples, np.int32),
            row_tags=np.empty(n_examples, np.int32),
            starts=np.zeros(n_items + 1, np.int32),
            places=np.empty(n_places, np.int32),
            tails=np.empty(n_places, np.uint16),
            tags=np.empty(n_places, np.int32),
            names=np.empty(n_items, np.uint16),
            supports=np.empty(n_items, np.int32),
            joints=np.empty(n_items, np.int32),
            bests=np.empty(n_items, np.int32),
            n_items=np.full(1, n_items, np.int64),
        )


def encode(transactions: Transactions, settings: MiningSettings) -> tuple[Level, Int32s, Int32s]:
    """Build the first level of the items that reach the support with some answer, rare ones first.

    Also return the caller's numbers for its items and answers.
    """
    preferred = _preferred_answers(transactions, settings)
    rank = np.empty(transactions.n_answers, np.int32)
    rank[preferred] = np.arange(transactions.n_answers, dtype=np.int32)
    answers = rank[transactions.answers]
    order = np.argsort(answers, kind="stable").astype(np.int32)
    answers = answers[order]
    supports, joints, bests, repeats = count_items(*layout(transactions), order, answers, transactions.n_items)
    kept = _viable_items(supports, joints, settings.min_support)
    level = lay_out_level(transactions, kept, supports[kept], order, answers)
    level.joints[:], level.bests[:] = joints[kept], bests[kept]
    if settings.published == "vqa-ce":
        level.supports[:] = repeats[kept]
    return level, kept.astype(np.int32), preferred.astype(np.int32)


def lay_out_level(transactions: Transactions, kept: Int64s, supports: Int32s, order: Int32s, tags: Int32s) -> Level:
    """Lay out the examples in the given order with the kept items, numbered in their order."""
    number = np.full(transactions.n_items, NO_ITEM, np.uint16)
    number[kept] = np.arange(len(kept), dtype=np.uint16)
    level = Level.empty(len(kept), transactions.n, int(supports.sum()))
    level.row_tags[:] = tags
    level.names[:] = number[kept]
    level.supports[:] = supports
    lay_out(*layout(transactions), order, number, level)
    index(level)
    return level


def layout(transactions: Transactions) -> tuple[Int64s, Int32s]:
    """Convert the arrays to the one form the kernels are compiled for."""
    starts = np.require(transactions.starts, np.int64, ["C", "W"])
    return starts, np.require(transactions.items, np.int32, ["C", "W"])


def _preferred_answers(transactions: Transactions, settings: MiningSettings) -> Int64s:
    if transactions.n and transactions.answers.min() < 0:
        raise DataError("an answer for every example", "-1", "leave out examples whose answer is not in the vocabulary")
    counts = np.bincount(transactions.answers, minlength=transactions.n_answers)
    return np.argsort(counts if settings.published == "vqa-ce" else -counts, kind="stable")


def _viable_items(supports: Int32s, joints: Int32s, min_support: int) -> Int64s:
    kept = np.flatnonzero(joints >= min_support)
    if len(kept) >= NO_ITEM:
        found = f"{len(kept):,} that reach min_support {min_support} with some answer"
        raise DataError(f"fewer than {NO_ITEM:,} items", found, "raise min_support or drop rare items")
    return kept[np.argsort(supports[kept], kind="stable")]


@kernel
def count_items(
    starts: Int64s, items: Int32s, order: Int32s, answers: Int32s, n_items: int
) -> tuple[Int32s, Int32s, Int32s, Int32s]:
    """Count the examples that hold each item: all, those with its best answer, that answer; and all occurrences."""
    supports, joints = np.zeros(n_items, np.int32), np.zeros(n_items, np.int32)
    bests, repeats = np.zeros(n_items, np.int32), np.zeros(n_items, np.int32)
    run, run_answer = np.zeros(n_items, np.int32), np.full(n_items, -1, np.int32)
    last = np.full(n_items, -1, np.int32)
    for row in range(len(order)):
        answer = answers[row]
        for position in range(starts[order[row]], starts[order[row] + 1]):
            item = items[position]
            repeats[item] += 1
            if last[item] == row:
                continue
            last[item] = row
            supports[item] += 1
            if run_answer[item] != answer:
                run_answer[item] = answer
                run[item] = 0
            run[item] += 1
            if run[item] > joints[item]:
                joints[item] = run[item]
                bests[item] = answer
    return supports, joints, bests, repeats


@kernel
def lay_out(starts: Int64s, items: Int32s, order: Int32s, number: Int16s, level: Level) -> None:
    """Write the kept items of every example under their new numbers, ascending and without repeats."""
    end = 0
    for row in range(len(order)):
        begin = end
        for position in range(starts[order[row]], starts[order[row] + 1]):
            item = number[items[position]]
            if item != NO_ITEM:
                end = insert(level.items, begin, end, item)
        level.row_ends[row] = end


@inner_kernel
def insert(items: Int16s, begin: int, end: int, item: int) -> int:
    """Insert an item among the ascending items from begin to end unless it is there, and return the new end."""
    slot = end
    while slot > begin and items[slot - 1] > item:
        slot -= 1
    if slot > begin and items[slot - 1] == item:
        return end
    for position in range(end, slot, -1):
        items[position] = items[position - 1]
    items[slot] = item
    return end + 1


@kernel
def index(level: Level) -> None:
    """List the occurrences of every item, whose numbers must already be in `supports`."""
    n_items = level.n_items[0]
    cursor = np.empty(n_items, np.int32)
    level.starts[0] = 0
    for item in range(n_items):
        cursor[item] = level.starts[item]
        level.starts[item + 1] = level.starts[item] + level.supports[item]
    position, row = 0, 0
    while position < level.starts[n_items]:
        end = level.row_ends[row]
        while position < end:
            item = level.items[position]
            slot = cursor[item]
            cursor[item] = slot + 1
            level.places[slot] = position
            level.tails[slot] = end - position - 1
            level.tags[slot] = level.row_tags[row]
            position += 1
        row += 1


@inner_kernel
def answer_run_end(level: Level, first: int, last: int) -> int:
    """Find the end of the run of equal answers that begins with the first of these occurrences."""
    answer = level.tags[first]
    end = first + 1
    while end < last and level.tags[end] == answer:
        end += 1
    return end


@inner_kernel
def exact_support(level: Level, item: int) -> int:
    """Count the examples with the item, or return -1 if repeats inflate its support (vqa-ce).

    An item found in every example of an antecedent changes no count, so the superset filter drops every rule with
    both; but only if the support of the antecedent is the count of its examples.
    """
    count = level.starts[item + 1] - level.starts[item]
    return count if level.supports[item] == count else -1
