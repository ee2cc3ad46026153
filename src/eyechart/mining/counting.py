"""Count the held-out images that match antecedents, each image once, or list all examples that do.

An antecedent may also exclude one item: this selects the examples of a shorter antecedent that are not the
longer one's. Of several examples of one image only the first counts, so examples must be sorted by image.

Antecedents are walked in the order of their items, rare items first: the prefix shared with the previous one has
already been matched.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.base.kernels import kernel
from eyechart.data.protocols import Engine
from eyechart.engines import Local
from eyechart.engines.arrays import unlocked
from eyechart.mining.transactions import Int32s, Int64s, Transactions, Words

BLOCK = 50_000  # antecedents counted by a thread or process at a time
NONE = -1
NOWHERE = 0  # the row for items that no example has
FILLER = np.int32(2**31 - 1)  # padding that sorts after all items


class Queries(NamedTuple):
    """Antecedents to count: their items, padded with -1, an excluded item (or -1), and an answer."""

    items: Int32s
    lacking: Int32s
    answers: Int32s


class Walk(NamedTuple):
    """Queries by rows instead of items, ascending and padded with FILLER, in the order of the walk."""

    items: Int32s
    lacking: Int32s
    answers: Int32s
    places: Int64s  # positions of the queries before sorting


class Index(NamedTuple):
    """The occurrences of each item: its row is a list of examples, and a bit for each example; rare items first."""

    rows: Int32s  # row of each item; the last row is in all examples
    bounds: Int64s  # start and end of each row's list
    examples: Int32s
    bits: Words
    images: Int32s
    answers: Int32s

    def order(self, queries: Queries) -> Walk:
        """Replace items by their rows and sort the queries; every example matches an empty antecedent."""
        rows = np.append(self.rows, FILLER)  # -1 selects the last entry
        items = np.sort(rows[queries.items], axis=1)
        items[items[:, 0] == FILLER, 0] = len(self.bits) - 1
        order = np.lexsort(items.T[::-1])
        lacking = np.append(self.rows, NOWHERE)[queries.lacking]
        return Walk(np.ascontiguousarray(items[order]), lacking[order], queries.answers[order], order)


class Counts(NamedTuple):
    """For each query: the images that match it, and those whose reference is its answer."""

    images: Int64s
    hits: Int64s


class QueryMatches(NamedTuple):
    """Every pair of a query and a matching example, by query and example."""

    queries: Int32s
    examples: Int32s


Counter = Callable[[Queries], Counts]


def make_index(transactions: Transactions, images: Int32s, used: Int32s) -> Index:
    """Index the occurrences of the items in use; `images` is the image number of each example."""
    items = np.unique(used[used >= 0])
    often = np.bincount(transactions.items, minlength=transactions.n_items)[items]
    rows = np.full(transactions.n_items, NOWHERE, np.int32)
    rows[items[np.argsort(often, kind="stable")]] = np.arange(1, len(items) + 1)
    starts = np.concatenate([[0, 0], np.cumsum(np.sort(often)), [often.sum() + transactions.n]]).astype(np.int64)
    bits = np.zeros((len(items) + 2, (transactions.n + 63) // 64), np.uint64)
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
        for occurrence in range(starts[example], starts[example + 1] + 1):
            row = index.rows[items[occurrence]] if occurrence < starts[example + 1] else everywhere
            if row != NOWHERE and index.bits[row, word] & mask == 0:
                index.bits[row, word] |= mask
                index.examples[index.bounds[1, row]] = example
                index.bounds[1, row] += 1


def count(queries: Queries, index: Index, threads: int = 1) -> Counts:
    """Count the images of each query, and those with its answer."""
    n = len(queries.answers)
    counts = Counts(np.zeros(n, np.int64), np.zeros(n, np.int64))
    walk = index.order(queries)
    with ThreadPoolExecutor(threads) as pool:
        blocks = [
            pool.submit(count_block, walk, index, counts, start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)
        ]
        for block in blocks:
            block.result()
    return counts


def list_pairs(queries: Queries, index: Index) -> QueryMatches:
    """List every example that matches each query."""
    walk = index.order(queries)
    sizes = np.zeros(len(queries.answers) + 1, np.int64)
    write_pairs(walk, index, sizes, np.empty(0, np.int32))
    ends = np.cumsum(sizes)
    examples = np.empty(ends[-1], np.int32)
    write_pairs(walk, index, ends, examples)
    return QueryMatches(np.repeat(np.arange(len(queries.answers), dtype=np.int32), sizes[1:]), examples)


@kernel
def holds(bits: Words, row: int, example: int) -> bool:
    """Return whether an example has the item of a row."""
    return bool((bits[row, example >> 6] >> np.uint64(example & 63)) & np.uint64(1))


@kernel
def follow(walk: Walk, query: int, first: int, index: Index, prefixes: Int32s) -> int:
    """List the examples that have the first d + 1 items of a query, for each d, and return the last d.

    Row d of `prefixes` receives their number, followed by them; it is kept if the previous query has the same prefix.
    """
    depth, same = 0, query > first
    while depth < walk.items.shape[1] and walk.items[query, depth] != FILLER:
        row = walk.items[query, depth]
        same = same and walk.items[query - 1, depth] == row
        if not same:
            narrow(row, depth, index, prefixes)
        depth += 1
    return depth - 1


@kernel
def narrow(row: int, depth: int, index: Index, prefixes: Int32s) -> None:
    """Keep the examples of the previous depth that have the item of a row; at depth 0 take all that have it."""
    size = 0
    if depth == 0:
        for occurrence in range(index.bounds[0, row], index.bounds[1, row]):
            size += 1
            prefixes[0, size] = index.examples[occurrence]
    else:
        for i in range(1, prefixes[depth - 1, 0] + 1):
            example = prefixes[depth - 1, i]
            if holds(index.bits, row, example):
                size += 1
                prefixes[depth, size] = example
    prefixes[depth, 0] = size


@kernel
def count_block(walk: Walk, index: Index, counts: Counts, first: int, last: int) -> None:
    """Count the queries from first to last; the first example of an image represents it."""
    prefixes = np.empty((walk.items.shape[1], len(index.answers) + 1), np.int32)
    for query in range(first, last):
        depth = follow(walk, query, first, index, prefixes)
        image, images, hits = NONE, 0, 0
        for i in range(1, prefixes[depth, 0] + 1):
            example = prefixes[depth, i]
            if index.images[example] != image and not holds(index.bits, walk.lacking[query], example):
                image = index.images[example]
                images += 1
                hits += index.answers[example] == walk.answers[query]
        counts.images[walk.places[query]] = images
        counts.hits[walk.places[query]] = hits


@kernel
def write_pairs(walk: Walk, index: Index, ends: Int64s, examples: Int32s) -> None:
    """Write the examples of each query from its end on; without space for them, only count them."""
    prefixes = np.empty((walk.items.shape[1], len(index.answers) + 1), np.int32)
    for position in range(len(walk.answers)):
        depth, query = follow(walk, position, 0, index, prefixes), walk.places[position]
        end = ends[query]
        for i in range(1, prefixes[depth, 0] + 1):
            example = prefixes[depth, i]
            if holds(index.bits, walk.lacking[position], example):
                continue
            if len(examples):
                examples[end] = example
                end += 1
            else:
                ends[query + 1] += 1


@dataclass
class QueryCount:
    """Count the antecedents of a batch, in any process; an engine sends the index to each process once."""

    index: Index

    @cached_property
    def _index(self) -> Index:
        return unlocked(self.index)

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Count the antecedents of a batch, which are in the order of the walk."""
        n = batch.height
        items = np.array(batch.drop("place", "lacking", "answer").to_numpy(), np.int32, order="C")
        lacking, answers = (batch[name].to_numpy(writable=True) for name in ("lacking", "answer"))
        counts = Counts(np.zeros(n, np.int64), np.zeros(n, np.int64))
        count_block(Walk(items, lacking, answers, np.arange(n)), self._index, counts, 0, n)
        return batch.select("place").with_columns(pl.Series("images", counts.images), pl.Series("hits", counts.hits))


def make_counter(index: Index, threads: int, engine: Engine | None) -> Counter:
    """Count on one index, with threads of this process or with an engine, which is sent the index once."""
    if engine is None or isinstance(engine, Local):
        return lambda queries: count(queries, index, threads)
    step, running = QueryCount(index), engine
    return lambda queries: count_by_engine(index.order(queries), step, running)


def count_by_engine(walk: Walk, step: QueryCount, engine: Engine) -> Counts:
    """Count by blocks of antecedents; `step` can be used for several walks, and is sent to each process once."""
    n = len(walk.places)
    counts = Counts(np.zeros(n, np.int64), np.zeros(n, np.int64))
    for table in engine.map(step, _blocks(walk)):
        positions = table["place"].to_numpy()
        counts.images[positions], counts.hits[positions] = table["images"].to_numpy(), table["hits"].to_numpy()
    return counts


def _blocks(walk: Walk) -> Iterator[pl.DataFrame]:
    for start in range(0, len(walk.places), BLOCK):
        block = slice(start, start + BLOCK)
        columns = {f"item{column}": items[block] for column, items in enumerate(walk.items.T)}
        named = {"place": walk.places[block], "lacking": walk.lacking[block], "answer": walk.answers[block]}
        yield pl.DataFrame(named | columns)
