"""Count what antecedents meet on held-out data, each image once; and list every meeting where that is wanted.

An antecedent may also name one item that must be lacking: the examples of a shorter antecedent that are not the
longer one's. Of several examples of one image only the first counts, so examples must lie image by image.

Antecedents are walked in the order of their items, rare items first: what one has in common with the one before has
been found already.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart.kernels import kernel
from eyechart.mining.transactions import Int32s, Int64s, Transactions

Words = NDArray[np.uint64]

BLOCK = 50_000  # antecedents a thread counts at a time
NONE = -1
NOWHERE = 0  # the row of items that no example has
FILLER = np.int32(2**31 - 1)  # in the place of an item, behind all others


class Index(NamedTuple):
    """Where each item occurs: its row has a list of examples, and a bit for each example; rare items come first."""

    rows: Int32s  # of each item; the last row is in all examples
    bounds: Int64s  # where the list of each row begins, and where it ends
    examples: Int32s
    bits: Words
    images: Int32s
    answers: Int32s


class Queries(NamedTuple):
    """Antecedents to count: their items, filled up with -1, an item to be lacking (or -1), and an answer."""

    items: Int32s
    lacking: Int32s
    answers: Int32s


class Walk(NamedTuple):
    """Queries by rows instead of items, rising and filled up with FILLER, in the order in which they are walked."""

    items: Int32s
    lacking: Int32s
    answers: Int32s
    places: Int64s  # of the queries, before they were ordered


class Counts(NamedTuple):
    """Of each query: the images it meets, and those on which its answer is the reference."""

    images: Int64s
    hits: Int64s


class Pairs(NamedTuple):
    """Every meeting of a query with an example, by query and example."""

    queries: Int32s
    examples: Int32s


class Trail(NamedTuple):
    """The examples that have the first d + 1 items of the query at hand, for each d."""

    examples: Int32s
    sizes: Int64s


def make_index(transactions: Transactions, images: Int32s, used: Int32s) -> Index:
    """Sort the occurrences of the items in use; `images` numbers the image of each example."""
    wanted = np.unique(used[used >= 0])
    often = np.bincount(transactions.items, minlength=transactions.n_items)[wanted]
    rows = np.full(transactions.n_items, NOWHERE, np.int32)
    rows[wanted[np.argsort(often, kind="stable")]] = np.arange(1, len(wanted) + 1)
    starts = np.concatenate([[0, 0], np.cumsum(np.sort(often)), [often.sum() + transactions.n]]).astype(np.int64)
    bits = np.zeros((len(wanted) + 2, (transactions.n + 63) // 64), np.uint64)
    bounds = np.stack([starts[:-1], starts[:-1]])
    index = Index(rows, bounds, np.empty(starts[-1], np.int32), bits, images, transactions.answers)
    lay_out(np.ascontiguousarray(transactions.starts), np.ascontiguousarray(transactions.items), index)
    return index


@kernel
def lay_out(starts: Int64s, items: Int32s, index: Index) -> None:
    """Enter every example under each of its items once, and in the last row."""
    everywhere = len(index.bits) - 1
    for example in range(len(starts) - 1):
        word, mask = example >> 6, np.uint64(1) << np.uint64(example & 63)
        for at in range(starts[example], starts[example + 1] + 1):
            row = index.rows[items[at]] if at < starts[example + 1] else everywhere
            if row != NOWHERE and index.bits[row, word] & mask == 0:
                index.bits[row, word] |= mask
                index.examples[index.bounds[1, row]] = example
                index.bounds[1, row] += 1


def count(queries: Queries, index: Index, threads: int = 1) -> Counts:
    """Count the images of each query, and those with its answer."""
    n = len(queries.answers)
    found = Counts(np.zeros(n, np.int64), np.zeros(n, np.int64))
    walk = order(queries, index)
    with ThreadPoolExecutor(threads) as pool:
        blocks = [pool.submit(count_block, walk, index, found, at, min(at + BLOCK, n)) for at in range(0, n, BLOCK)]
        for block in blocks:
            block.result()
    return found


def list_pairs(queries: Queries, index: Index) -> Pairs:
    """List every example that each query meets."""
    walk = order(queries, index)
    sizes = np.zeros(len(queries.answers) + 1, np.int64)
    write_pairs(walk, index, sizes, np.empty(0, np.int32))
    ends = np.cumsum(sizes)
    examples = np.empty(ends[-1], np.int32)
    write_pairs(walk, index, ends, examples)
    return Pairs(np.repeat(np.arange(len(queries.answers), dtype=np.int32), sizes[1:]), examples)


def order(queries: Queries, index: Index) -> Walk:
    """Name items by their rows and sort the queries; an empty antecedent is met by what is everywhere."""
    rows = np.append(index.rows, FILLER)  # the last entry is met by -1
    items = np.sort(rows[queries.items], axis=1)
    items[items[:, 0] == FILLER, 0] = len(index.bits) - 1
    places = np.lexsort(items.T[::-1])
    lacking = np.append(index.rows, NOWHERE)[queries.lacking]
    return Walk(np.ascontiguousarray(items[places]), lacking[places], queries.answers[places], places)


@kernel
def holds(bits: Words, row: int, example: int) -> bool:
    """Look up whether an example has the item of a row."""
    return bool((bits[row, example >> 6] >> np.uint64(example & 63)) & np.uint64(1))


@kernel
def make_trail(walk: Walk, index: Index) -> Trail:
    """Leave room for the longest lists."""
    width = walk.items.shape[1]
    return Trail(np.empty((width, len(index.answers)), np.int32), np.zeros(width, np.int64))


@kernel
def follow(walk: Walk, at: int, first: int, index: Index, trail: Trail) -> int:
    """Bring the trail to a query, from what it shares with the one before, and return its last depth."""
    depth, same = 0, at > first
    while depth < walk.items.shape[1] and walk.items[at, depth] != FILLER:
        row = walk.items[at, depth]
        same = same and walk.items[at - 1, depth] == row
        if not same:
            narrow(row, depth, index, trail)
        depth += 1
    return depth - 1


@kernel
def narrow(row: int, depth: int, index: Index, trail: Trail) -> None:
    """Keep the examples of the depth before that have the item of a row; at depth 0 take all that have it."""
    size = 0
    if depth == 0:
        for at in range(index.bounds[0, row], index.bounds[1, row]):
            trail.examples[0, size] = index.examples[at]
            size += 1
    else:
        for at in range(trail.sizes[depth - 1]):
            example = trail.examples[depth - 1, at]
            if holds(index.bits, row, example):
                trail.examples[depth, size] = example
                size += 1
    trail.sizes[depth] = size


@kernel
def count_block(walk: Walk, index: Index, counts: Counts, first: int, last: int) -> None:
    """Count the queries from first to last; the first example of an image stands for it."""
    trail = make_trail(walk, index)
    for at in range(first, last):
        depth = follow(walk, at, first, index, trail)
        image, images, hits = NONE, 0, 0
        for place in range(trail.sizes[depth]):
            example = trail.examples[depth, place]
            if index.images[example] != image and not holds(index.bits, walk.lacking[at], example):
                image = index.images[example]
                images += 1
                hits += index.answers[example] == walk.answers[at]
        counts.images[walk.places[at]] = images
        counts.hits[walk.places[at]] = hits


@kernel
def write_pairs(walk: Walk, index: Index, ends: Int64s, examples: Int32s) -> None:
    """Write the examples of each query from its end on; without room for them, count them one place further."""
    trail = make_trail(walk, index)
    for at in range(len(walk.answers)):
        depth, query = follow(walk, at, 0, index, trail), walk.places[at]
        end = ends[query]
        for place in range(trail.sizes[depth]):
            example = trail.examples[depth, place]
            if holds(index.bits, walk.lacking[at], example):
                continue
            if len(examples):
                examples[end] = example
                end += 1
            else:
                ends[query + 1] += 1
