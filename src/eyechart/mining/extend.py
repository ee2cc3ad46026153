"""From an antecedent to those one item longer: count the items beside it, and lay out its examples anew."""

from typing import NamedTuple

import numpy as np

from eyechart.kernels import inner_kernel, kernel
from eyechart.mining.found import Found, Thresholds, add_rule, confident, reserve
from eyechart.mining.levels import NO_ITEM, Int16s, Level, index
from eyechart.mining.transactions import Int32s


class Tally(NamedTuple):
    """Counts of the items beside an antecedent, one entry for each item of a level."""

    run: Int32s  # within the current answer
    touched: Int16s  # the items met within the current answer
    supports: Int32s
    joints: Int32s
    bests: Int32s
    numbers: Int16s  # their numbers one level down


@kernel
def make_tally(n_items: int) -> Tally:
    """Begin with no counts."""
    run, supports = np.zeros(n_items, np.int32), np.zeros(n_items, np.int32)
    joints, bests = np.zeros(n_items, np.int32), np.zeros(n_items, np.int32)
    touched, numbers = np.empty(n_items, np.uint16), np.empty(n_items, np.uint16)
    return Tally(run, touched, supports, joints, bests, numbers)


@inner_kernel
def answer_run_end(level: Level, first: int, last: int) -> int:
    """Find where the run of equal answers ends that begins with the first of these occurrences."""
    answer = level.tags[first]
    end = first + 1
    while end < last and level.tags[end] == answer:
        end += 1
    return end


@kernel
def count_tails(level: Level, item: int, min_support: int, tally: Tally) -> None:
    """Count every later item in the examples that hold this one, in all and with its best answer."""
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
    """Count the items that follow in the examples of an answer too rare to be given by a rule."""
    for at in range(first, end):
        first_place = level.places[at] + 1
        for place in range(first_place, first_place + level.tails[at]):
            supports[level.items[place]] += 1


@inner_kernel
def count_long_run(level: Level, first: int, end: int, tally: Tally) -> None:
    """Count the items that follow in the examples of one answer, and keep it where it is the best so far."""
    n = 0
    for at in range(first, end):
        first_place = level.places[at] + 1
        for place in range(first_place, first_place + level.tails[at]):
            item = level.items[place]
            if tally.run[item] == 0:
                tally.touched[n] = item
                n += 1
            tally.run[item] += 1
    answer = level.tags[first]
    for at in range(n):
        item = tally.touched[at]
        count = tally.run[item]
        tally.run[item] = 0
        tally.supports[item] += count
        if count > tally.joints[item]:
            tally.joints[item] = count
            tally.bests[item] = answer


@inner_kernel
def exact_support(level: Level, item: int) -> int:
    """Count the examples that hold the item, or return -1 where repeats inflate its support (release).

    An item found in every example of an antecedent changes no count, so the superset filter drops every rule that holds
    both; but only where the support of the antecedent is the count of its examples.
    """
    count = level.starts[item + 1] - level.starts[item]
    return count if level.supports[item] == count else -1


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
def add_extensions(child: Level, prefix: Int16s, depth: int, thresholds: Thresholds, found: Found) -> Found:
    """Write the confident rules of the antecedents one item longer."""
    n_items = child.n_items[0]
    found = reserve(found, n_items)
    for item in range(n_items):
        joint, support = child.joints[item], child.supports[item]
        if confident(joint, support, thresholds):
            prefix[depth] = child.names[item]
            add_rule(found, prefix, depth + 1, child.bests[item], (joint, support))
    return found


@kernel
def project(level: Level, item: int, tally: Tally, child: Level) -> None:
    """Lay out the examples that hold this item, with the chosen later items only."""
    end, row = 0, 0
    for at in range(level.starts[item], level.starts[item + 1]):
        begin, first = end, level.places[at] + 1
        for place in range(first, first + level.tails[at]):
            number = tally.numbers[level.items[place]]
            if number != NO_ITEM:
                child.items[end] = number
                end += 1
        if end > begin:
            child.row_ends[row] = end
            child.row_tags[row] = level.tags[at]
            row += 1
    index(child)
