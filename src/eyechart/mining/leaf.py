"""Add the last two items of the longest antecedents at once, by sets of bits.

The examples of an antecedent become the bits of one row per further item. An answer that can still reach the support
starts a new word; the examples of all other answers follow together. Then the bits set in a row, answer by
answer, count the antecedent with one more item, and the bits set in two rows at once count it with two more.
"""

from typing import NamedTuple, Self

import numpy as np

from eyechart.base.kernels import Integer, inner_kernel, kernel, popcount
from eyechart.mining.levels import Int16s, Level, answer_run_end, exact_support
from eyechart.mining.rules import RuleBuffer, Thresholds, add_rule, confident, reserve
from eyechart.mining.transactions import Int32s, Int64s, Words


class LeafBits(NamedTuple):
    """Arrays of bits, enlarged as leaves need them."""

    columns: Words  # by word: that word of all rows
    rows: Words  # by row that can be paired: all of its words
    active: Words  # by row: the answers that reach the support, as bits
    picked: Words  # by row picked for an answer: the words of that answer
    pairs: Int64s  # by pair of rows: the best count and its answer


class LeafArrays(NamedTuple):
    """The current leaf: the antecedent, its examples as bits, and a row for each further item."""

    bits: Int32s  # bit of each example
    first_words: Int32s  # first word of each answer that can reach the support; then the end of the last one
    answers: Int32s  # number of each such answer
    sizes: Int64s  # such answers, words per row of answers, words per row of examples, items in the antecedent
    thresholds: Thresholds
    prefix: Int16s  # the antecedent
    names: Int16s  # item of each row that can be paired
    supports: Int32s
    joints: Int32s
    bests: Int32s  # the best answer, counted among those above
    picked: Int32s  # the rows picked for an answer
    counts: Int32s  # count of each row with the current answer

    @classmethod
    def empty(cls, n_items: int, n_examples: int, thresholds: Thresholds, prefix: Int16s) -> Self:
        """Allocate arrays for the largest leaf."""
        return cls(
            bits=np.empty(n_examples, np.int32),
            first_words=np.empty(n_examples + 1, np.int32),
            answers=np.empty(n_examples, np.int32),
            sizes=np.zeros(4, np.int64),
            thresholds=thresholds,
            prefix=prefix,
            names=np.empty(n_items, np.uint16),
            supports=np.empty(n_items, np.int32),
            joints=np.empty(n_items, np.int32),
            bests=np.empty(n_items, np.int32),
            picked=np.empty(n_items, np.int32),
            counts=np.empty(n_items, np.int32),
        )


@kernel
def make_bits() -> LeafBits:
    """Allocate small arrays."""
    columns, rows = np.empty(64, np.uint64), np.empty(64, np.uint64)
    return LeafBits(columns, rows, np.empty(64, np.uint64), np.empty(64, np.uint64), np.empty(64, np.int64))


@kernel
def more_rows(bits: LeafBits, n_rows: int, leaf: LeafArrays) -> LeafBits:
    """Enlarge the arrays if the rows of a leaf would not fit; their contents are lost."""
    n = n_rows * leaf.sizes[2]
    columns, rows, active = more_words(bits.columns, n), more_words(bits.rows, n), bits.active
    return LeafBits(columns, rows, more_words(active, n_rows * leaf.sizes[1]), more_words(bits.picked, n), bits.pairs)


@kernel
def more_pairs(bits: LeafBits, n_rows: int) -> LeafBits:
    """Enlarge the counts of pairs if this many rows would not fit."""
    if len(bits.pairs) >= n_rows * n_rows:
        return bits
    return LeafBits(bits.columns, bits.rows, bits.active, bits.picked, np.empty(2 * n_rows * n_rows, np.int64))


@kernel
def more_words(words: Words, needed: int) -> Words:
    """Return an array of at least this many words; the contents are lost if it is a new one."""
    return words if len(words) >= needed else np.empty(2 * needed, np.uint64)


@kernel
def lay_out_bits(level: Level, item: int, leaf: LeafArrays) -> None:
    """Assign a bit to every example that has the item."""
    begin, last = level.starts[item], level.starts[item + 1]
    first, n_answers, word = begin, 0, 0
    while first < last:
        end = answer_run_end(level, first, last)
        if end - first >= leaf.thresholds.min_support:
            leaf.first_words[n_answers] = word
            leaf.answers[n_answers] = level.tags[first]
            number_bits(leaf.bits, first - begin, end - begin, word * 64)
            n_answers += 1
            word += (end - first + 63) // 64
        else:
            number_bits(leaf.bits, first - begin, end - begin, -1)
        first = end
    leaf.first_words[n_answers] = word
    leaf.sizes[0] = n_answers
    leaf.sizes[1] = (n_answers + 63) // 64
    leaf.sizes[2] = word + number_rest(leaf.bits, last - begin, word * 64)


@inner_kernel
def number_bits(bits: Int32s, first: int, end: int, bit: int) -> None:
    """Assign bits from the given one on to these examples, or -1 to all of them."""
    step = 0 if bit < 0 else 1
    for i in range(first, end):
        bits[i] = bit
        bit += step


@inner_kernel
def number_rest(bits: Int32s, n: int, bit: int) -> int:
    """Assign bits from the given one on to the examples at -1, and return the number of words they fill."""
    first = bit
    for i in range(n):
        if bits[i] < 0:
            bits[i] = bit
            bit += 1
    return (bit - first + 63) // 64


@kernel
def fill_columns(level: Level, item: int, leaf: LeafArrays, columns: Words) -> None:
    """Set the bits of every later item, whose row is its distance; an example writes to only one column."""
    n_rows = level.n_items[0] - item - 1
    for word in range(n_rows * leaf.sizes[2]):
        columns[word] = 0
    begin = level.starts[item]
    for occurrence in range(begin, level.starts[item + 1]):
        bit = leaf.bits[occurrence - begin]
        mask = np.uint64(1) << np.uint64(bit & 63)
        column = (bit >> 6) * n_rows - item - 1
        first = level.places[occurrence] + 1
        for position in range(first, first + level.tails[occurrence]):
            columns[column + level.items[position]] |= mask


@inner_kernel
def add_bits(columns: Words, begin: int, n_rows: int, counts: Int32s) -> None:
    """Add the bits set in a column of words to the counts of their rows."""
    for row in range(n_rows):
        counts[row] += popcount(columns[begin + row])


@inner_kernel
def count_common(words: Words, left: int, right: int, n: int) -> int:
    """Count the bits set in both of two runs of words."""
    count = 0
    for word in range(n):
        count += popcount(words[left + word] & words[right + word])
    return count


@kernel
def weigh_columns(n_rows: int, leaf: LeafArrays, bits: LeafBits) -> None:
    """Count each row in total and with its best answer, and mark the answers that reach the support."""
    n_active = leaf.sizes[1]
    for row in range(n_rows):
        leaf.supports[row], leaf.joints[row], leaf.bests[row] = 0, 0, 0
    for word in range(n_rows * n_active):
        bits.active[word] = 0
    for answer in range(leaf.sizes[0]):
        for row in range(n_rows):
            leaf.counts[row] = 0
        for word in range(leaf.first_words[answer], leaf.first_words[answer + 1]):
            add_bits(bits.columns, word * n_rows, n_rows, leaf.counts)
        for row in range(n_rows):
            enter_count(row, answer, leaf, bits.active)
    for word in range(leaf.first_words[leaf.sizes[0]], leaf.sizes[2]):
        add_bits(bits.columns, word * n_rows, n_rows, leaf.supports)


@inner_kernel
def enter_count(row: int, answer: int, leaf: LeafArrays, active: Words) -> None:
    """Enter the count of a row with one answer."""
    count = leaf.counts[row]
    leaf.supports[row] += count
    if count > leaf.joints[row]:
        leaf.joints[row], leaf.bests[row] = count, answer
    if count >= leaf.thresholds.min_support:
        active[row * leaf.sizes[1] + (answer >> 6)] |= np.uint64(1) << np.uint64(answer & 63)


@kernel
def choose_rows(
    level: Level, item: int, leaf: LeafArrays, bits: LeafBits, buffer: RuleBuffer
) -> tuple[RuleBuffer, int]:
    """Write the rules one item longer; move the rows that can be paired to the front, and return their number."""
    thresholds, prefix, depth = leaf.thresholds, leaf.prefix, leaf.sizes[3]
    everywhere = exact_support(level, item) if thresholds.prune else -1
    n_rows, n_kept = level.n_items[0] - item - 1, 0
    buffer = reserve(buffer, n_rows)
    for row in range(n_rows):
        joint, support = leaf.joints[row], leaf.supports[row]
        if joint < thresholds.min_support or support == everywhere:
            continue
        name = level.names[item + 1 + row]
        if confident(joint, support, thresholds):
            prefix[depth] = name
            add_rule(buffer, prefix, depth + 1, leaf.answers[leaf.bests[row]], (joint, support))
        if not (thresholds.prune and joint == support):
            leaf.names[n_kept] = name
            keep_row(row, n_rows, n_kept, leaf, bits)
            n_kept += 1
    return buffer, n_kept


@inner_kernel
def keep_row(row: int, n_rows: int, slot: int, leaf: LeafArrays, bits: LeafBits) -> None:
    """Move a row to an earlier slot, making its words contiguous."""
    n_active, width = leaf.sizes[1], leaf.sizes[2]
    leaf.supports[slot], leaf.joints[slot], leaf.bests[slot] = leaf.supports[row], leaf.joints[row], leaf.bests[row]
    for word in range(n_active):
        bits.active[slot * n_active + word] = bits.active[row * n_active + word]
    for word in range(width):
        bits.rows[slot * width + word] = bits.columns[word * n_rows + row]


@inner_kernel
def dominates(row: int, joint: Integer, support: int, best: Integer, leaf: LeafArrays) -> bool:
    """Return whether the rule with only this row gives the same answer with at least the same confidence."""
    sure = np.int64(leaf.joints[row]) * support >= np.int64(joint) * leaf.supports[row]
    return bool(leaf.bests[row] == best and sure)


@inner_kernel
def pick_active(answer: int, n_rows: int, leaf: LeafArrays, bits: LeafBits) -> int:
    """List the rows that an answer is active in with their words for it, and return their number."""
    n_active, width, first = leaf.sizes[1], leaf.sizes[2], leaf.first_words[answer]
    n_words, n = leaf.first_words[answer + 1] - first, 0
    mask = np.uint64(1) << np.uint64(answer & 63)
    for row in range(n_rows):
        if bits.active[row * n_active + (answer >> 6)] & mask:
            leaf.picked[n] = row
            for word in range(n_words):
                bits.picked[n * n_words + word] = bits.rows[row * width + first + word]
            n += 1
    return n


@kernel
def count_pairs(n_rows: int, leaf: LeafArrays, bits: LeafBits) -> None:
    """Count every pair of rows by answer, keeping the best: its count in the upper 32 bits, its answer in the lower."""
    for pair in range(n_rows * n_rows):
        bits.pairs[pair] = 0
    for answer in range(leaf.sizes[0]):
        n = pick_active(answer, n_rows, leaf, bits)
        n_words = leaf.first_words[answer + 1] - leaf.first_words[answer]
        for left in range(n):
            begin = leaf.picked[left] * np.int64(n_rows)
            for right in range(left + 1, n):
                common = count_common(bits.picked, left * n_words, right * n_words, n_words)
                pair = begin + leaf.picked[right]
                if common > bits.pairs[pair] >> 32:
                    bits.pairs[pair] = (common << 32) | answer


@kernel
def pair_rows(n_rows: int, leaf: LeafArrays, bits: LeafBits, buffer: RuleBuffer) -> RuleBuffer:
    """Write the rules two items longer, except those known to be dropped by the rule of one of their rows."""
    thresholds, prefix, depth = leaf.thresholds, leaf.prefix, leaf.sizes[3]
    width = leaf.sizes[2]
    for left in range(n_rows):
        buffer = reserve(buffer, n_rows)
        prefix[depth] = leaf.names[left]
        for right in range(left + 1, n_rows):
            pair = bits.pairs[left * n_rows + right]
            joint, best = pair >> 32, pair & 0xFFFFFFFF
            if joint < thresholds.min_support:
                continue
            support = count_common(bits.rows, left * width, right * width, width)
            if not confident(joint, support, thresholds):
                continue
            if thresholds.prune and (
                dominates(left, joint, support, best, leaf) or dominates(right, joint, support, best, leaf)
            ):
                continue
            prefix[depth + 1] = leaf.names[right]
            add_rule(buffer, prefix, depth + 2, leaf.answers[best], (joint, support))
    return buffer
