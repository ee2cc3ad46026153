"""Search all antecedents depth first, one first item (root) at a time, rare items first.

To extend an antecedent by one item, count the items that occur with it, and lay out its examples again. The last two
items of the longest antecedents are added at once (see `leaf`).
"""

from typing import NamedTuple, Self

import numpy as np

from eyechart.base.kernels import inner_kernel, kernel
from eyechart.mining.leaf import (
    LeafArrays,
    LeafBits,
    choose_rows,
    count_pairs,
    fill_columns,
    lay_out_bits,
    make_bits,
    more_pairs,
    more_rows,
    pair_rows,
    weigh_columns,
)
from eyechart.mining.levels import NO_ITEM, Int16s, Level, answer_run_end, exact_support, index
from eyechart.mining.rules import RuleBuffer, Thresholds, add_rule, confident, reserve
from eyechart.mining.settings import LONGEST
from eyechart.mining.transactions import Int32s, Int64s


class Tally(NamedTuple):
    """Counts of the items that occur with an antecedent, one entry for each item of a level."""

    run: Int32s  # within the current answer
    touched: Int16s  # the items met within the current answer
    supports: Int32s
    joints: Int32s
    bests: Int32s
    numbers: Int16s  # item numbers one level down

    @classmethod
    def empty(cls, n_items: int) -> Self:
        """Allocate zero counts."""
        run, supports = np.zeros(n_items, np.int32), np.zeros(n_items, np.int32)
        joints, bests = np.zeros(n_items, np.int32), np.zeros(n_items, np.int32)
        touched, numbers = np.empty(n_items, np.uint16), np.empty(n_items, np.uint16)
        return cls(run, touched, supports, joints, bests, numbers)


@kernel
def count_tails(level: Level, item: int, min_support: int, tally: Tally) -> None:
    """Count every later item in the examples with this one, in total and with its best answer."""
    n_items = level.n_items[0]
    for other in range(item + 1, n_items):
        tally.supports[other] = 0
        tally.joints[other] = 0
    first, last = level.starts[item], level.starts[item + 1]
    while first < last:
        end = answer_run_end(level, first, last)
        if end - first < min_support:
            count_short_run(level, first, end, tally.supports)
        else:
            count_long_run(level, first, end, tally)
        first = end


@inner_kernel
def count_short_run(level: Level, first: int, end: int, supports: Int32s) -> None:
    """Count the items that follow in the examples of an answer too rare for a rule."""
    for occurrence in range(first, end):
        first_place = level.places[occurrence] + 1
        for position in range(first_place, first_place + level.tails[occurrence]):
            supports[level.items[position]] += 1


@inner_kernel
def count_long_run(level: Level, first: int, end: int, tally: Tally) -> None:
    """Count the items that follow in the examples of one answer, and keep it if it is the best so far."""
    n = 0
    for occurrence in range(first, end):
        first_place = level.places[occurrence] + 1
        for position in range(first_place, first_place + level.tails[occurrence]):
            item = level.items[position]
            if tally.run[item] == 0:
                tally.touched[n] = item
                n += 1
            tally.run[item] += 1
    answer = level.tags[first]
    for i in range(n):
        item = tally.touched[i]
        count = tally.run[item]
        tally.run[item] = 0
        tally.supports[item] += count
        if count > tally.joints[item]:
            tally.joints[item] = count
            tally.bests[item] = answer


@kernel
def choose_tails(level: Level, item: int, thresholds: Thresholds, tally: Tally, child: Level) -> None:
    """Give numbers to the items that can extend the antecedent."""
    everywhere = exact_support(level, item) if thresholds.prune else -1
    n = 0
    for other in range(item + 1, level.n_items[0]):
        tally.numbers[other] = NO_ITEM
        if tally.joints[other] >= thresholds.min_support and tally.supports[other] != everywhere:
            tally.numbers[other] = n
            child.names[n] = level.names[other]
            child.supports[n] = tally.supports[other]
            child.joints[n] = tally.joints[other]
            child.bests[n] = tally.bests[other]
            n += 1
    child.n_items[0] = n


@kernel
def add_extensions(child: Level, prefix: Int16s, depth: int, thresholds: Thresholds, buffer: RuleBuffer) -> RuleBuffer:
    """Write the confident rules of the antecedents one item longer."""
    n_items = child.n_items[0]
    buffer = reserve(buffer, n_items)
    for item in range(n_items):
        joint, support = child.joints[item], child.supports[item]
        if confident(joint, support, thresholds):
            prefix[depth] = child.names[item]
            add_rule(buffer, prefix, depth + 1, child.bests[item], (joint, support))
    return buffer


@kernel
def project(level: Level, item: int, tally: Tally, child: Level) -> None:
    """Lay out the examples with this item, with only the chosen later items."""
    end, row = 0, 0
    for occurrence in range(level.starts[item], level.starts[item + 1]):
        begin, first = end, level.places[occurrence] + 1
        for position in range(first, first + level.tails[occurrence]):
            number = tally.numbers[level.items[position]]
            if number != NO_ITEM:
                child.items[end] = number
                end += 1
        if end > begin:
            child.row_ends[row] = end
            child.row_tags[row] = level.tags[occurrence]
            row += 1
    index(child)


class SearchMemory(NamedTuple):
    """The thresholds and the memory of one thread: a level for each item of the antecedent except the last two."""

    thresholds: Thresholds
    levels: tuple[Level, ...]
    cursors: Int64s  # of each level: the next item to add
    prefix: Int16s  # the antecedent
    tally: Tally
    leaf: LeafArrays

    @classmethod
    def empty(cls, level: Level, thresholds: Thresholds, most_places: int) -> Self:
        """Allocate the levels below the first one, whose largest root occurs with this many items."""
        n_items, most = int(level.n_items[0]), int(np.diff(level.starts).max(initial=0))
        levels = [Level.empty(n_items, most, most_places) for _ in range(LONGEST - 3)]
        cursors, prefix = np.zeros(LONGEST, np.int64), np.zeros(LONGEST, np.uint16)
        leaf = LeafArrays.empty(n_items, most, thresholds, prefix)
        return cls(thresholds, (level, *levels), cursors, prefix, Tally.empty(n_items), leaf)


@kernel
def search_roots(roots: Int32s, memory: SearchMemory, buffer: RuleBuffer, limit: int) -> RuleBuffer:
    """Find the rules of at least two items whose first item is one of the roots; stop shortly after the limit."""
    bits = make_bits()
    for root in roots:
        buffer, bits = search_root(root, memory, buffer, bits, limit)
    return buffer


@kernel
def search_root(
    root: int, memory: SearchMemory, buffer: RuleBuffer, bits: LeafBits, limit: int
) -> tuple[RuleBuffer, LeafBits]:
    """Find the rules that begin with one item; level d extends antecedents of d items, the leaf adds the last two."""
    leaf_depth = memory.thresholds.max_items - 2
    depth = 0
    memory.cursors[0] = root
    while depth >= 0 and buffer.size[0] <= limit:
        level, item = memory.levels[depth], memory.cursors[depth]
        if item == level.n_items[0] or (depth == 0 and item > root):
            depth -= 1
            continue
        memory.cursors[depth] += 1
        memory.prefix[depth] = level.names[item]
        if memory.thresholds.prune and level.joints[item] == level.supports[item]:
            continue  # the superset filter drops every extension of a rule without exceptions
        if depth + 1 == leaf_depth:
            memory.leaf.sizes[3] = depth + 1
            buffer, bits = search_leaf(level, item, memory.leaf, buffer, bits)
        else:
            buffer = extend(level, item, depth + 1, memory, buffer)
            if leaf_depth:
                depth += 1
                memory.cursors[depth] = 0
    return buffer, bits


@kernel
def extend(level: Level, item: int, depth: int, memory: SearchMemory, buffer: RuleBuffer) -> RuleBuffer:
    """Write the rules one item longer, and lay out the level below if it will be walked."""
    thresholds, child = memory.thresholds, memory.levels[depth]
    count_tails(level, item, thresholds.min_support, memory.tally)
    choose_tails(level, item, thresholds, memory.tally, child)
    buffer = add_extensions(child, memory.prefix, depth, thresholds, buffer)
    if depth < thresholds.max_items - 2:
        project(level, item, memory.tally, child)
    return buffer


@kernel
def search_leaf(
    level: Level, item: int, leaf: LeafArrays, buffer: RuleBuffer, bits: LeafBits
) -> tuple[RuleBuffer, LeafBits]:
    """Write the rules one and two items longer than the antecedent."""
    most = level.n_items[0] - item - 1
    if most == 0:
        return buffer, bits
    lay_out_bits(level, item, leaf)
    bits = more_rows(bits, most, leaf)
    fill_columns(level, item, leaf, bits.columns)
    weigh_columns(most, leaf, bits)
    buffer, n_rows = choose_rows(level, item, leaf, bits, buffer)
    bits = more_pairs(bits, n_rows)
    count_pairs(n_rows, leaf, bits)
    return pair_rows(n_rows, leaf, bits, buffer), bits
