"""Walk all antecedents depth first, one first item at a time, rare items first."""

from typing import NamedTuple

import numpy as np

from eyechart.kernels import kernel
from eyechart.mining.extend import Tally, add_extensions, choose_tails, count_tails, make_tally, project
from eyechart.mining.found import Found, Thresholds
from eyechart.mining.leaf import (
    Bits,
    Leaf,
    choose_rows,
    count_pairs,
    fill_columns,
    lay_out_bits,
    make_bits,
    make_leaf,
    more_pairs,
    more_rows,
    pair_rows,
    weigh_columns,
)
from eyechart.mining.levels import Int16s, Level, make_level
from eyechart.mining.settings import LONGEST
from eyechart.mining.transactions import Int32s, Int64s


class Space(NamedTuple):
    """The thresholds and the memory of one thread: a level for each item of the antecedent but the last two."""

    thresholds: Thresholds
    levels: tuple[Level, ...]
    cursors: Int64s  # of each level: the next item to add
    prefix: Int16s  # the antecedent
    tally: Tally
    leaf: Leaf


def make_space(level: Level, thresholds: Thresholds, most_places: int) -> Space:
    """Leave room below the first level, where the largest root has so many items beside it."""
    n_items, most = int(level.n_items[0]), int(np.diff(level.starts).max(initial=0))
    levels = [make_level(n_items, most, most_places) for _ in range(LONGEST - 3)]
    cursors, prefix = np.zeros(LONGEST, np.int64), np.zeros(LONGEST, np.uint16)
    leaf = make_leaf(n_items, most, thresholds, prefix)
    return Space(thresholds, (level, *levels), cursors, prefix, make_tally(n_items), leaf)


@kernel
def search_roots(roots: Int32s, space: Space, found: Found, limit: int) -> Found:
    """Find the rules of at least two items whose first item is one of the roots; stop soon after so many."""
    bits = make_bits()
    for root in roots:
        found, bits = search_root(root, space, found, bits, limit)
    return found


@kernel
def search_root(root: int, space: Space, found: Found, bits: Bits, limit: int) -> tuple[Found, Bits]:
    """Find the rules that begin with one item; level d extends antecedents of d items, the leaf those two short."""
    leaf_depth = space.thresholds.max_items - 2
    depth = 0
    space.cursors[0] = root
    while depth >= 0 and found.size[0] <= limit:
        level, item = space.levels[depth], space.cursors[depth]
        if item == level.n_items[0] or (depth == 0 and item > root):
            depth -= 1
            continue
        space.cursors[depth] += 1
        space.prefix[depth] = level.names[item]
        if space.thresholds.prune and level.joints[item] == level.supports[item]:
            continue  # the superset filter drops whatever extends a rule without exception
        if depth + 1 == leaf_depth:
            space.leaf.sizes[3] = depth + 1
            found, bits = search_leaf(level, item, space.leaf, found, bits)
        else:
            found = extend(level, item, depth + 1, space, found)
            if depth + 1 < leaf_depth:
                depth += 1
                space.cursors[depth] = 0
    return found, bits


@kernel
def extend(level: Level, item: int, depth: int, space: Space, found: Found) -> Found:
    """Write the rules one item longer, and lay out the level below where it will be walked."""
    thresholds, child = space.thresholds, space.levels[depth]
    count_tails(level, item, thresholds.min_support, space.tally)
    choose_tails(level, item, thresholds, space.tally, child)
    found = add_extensions(child, space.prefix, depth, thresholds, found)
    if depth < thresholds.max_items - 2:
        project(level, item, space.tally, child)
    return found


@kernel
def search_leaf(level: Level, item: int, leaf: Leaf, found: Found, bits: Bits) -> tuple[Found, Bits]:
    """Write the rules one and two items longer than the antecedent."""
    most = level.n_items[0] - item - 1
    if most == 0:
        return found, bits
    lay_out_bits(level, item, leaf)
    bits = more_rows(bits, most, leaf)
    fill_columns(level, item, leaf, bits.columns)
    weigh_columns(most, leaf, bits)
    found, n_rows = choose_rows(level, item, leaf, bits, found)
    bits = more_pairs(bits, n_rows)
    count_pairs(n_rows, leaf, bits)
    return pair_rows(n_rows, leaf, bits, found), bits
