"""Match the rules of one rarest item at once, by sets of bits over the examples that hold it."""

from typing import NamedTuple

import numpy as np

from eyechart.kernels import inner_kernel, kernel, popcount
from eyechart.mining.leaf import Words, more_words
from eyechart.mining.levels import NO_ITEM, Level
from eyechart.mining.plan import Plan
from eyechart.mining.transactions import Int32s, Int64s

NO_RULE = 2**31 - 1


class Examples(NamedTuple):
    """The examples by item, with their numbers for tags, and the answers each accepts."""

    level: Level
    accepted_starts: Int64s
    accepted: Int32s


class Ledger(NamedTuple):
    """What one thread writes to; only the rules' entries are shared, and no two threads have the same rule."""

    item_slots: Int32s  # of an item: its row of bits + 1, or 0
    answer_slots: Int32s  # of an answer: likewise
    root_counts: Int32s  # of an example that holds the root: the rules it meets
    root_best: Int32s  # the first of them
    root_best_correct: Int32s  # the first of those whose answer it accepts
    supports: Int32s  # of a rule
    correct: Int32s
    counts: Int32s  # of an example: as above, for all roots
    best: Int32s
    best_correct: Int32s


class Bits(NamedTuple):
    """Rows of bits over the examples that hold the root."""

    width: int  # words of a row
    rows: Words  # of each item of its rules; then what the first so many items of the rule at hand leave
    shared: int  # where the latter begin
    answers: Words  # of each answer of its rules


@kernel
def match_roots(roots: Int32s, plan: Plan, examples: Examples, ledger: Ledger) -> None:
    """Match all rules whose rarest item is one of the roots."""
    rows, answers = np.empty(64, np.uint64), np.empty(64, np.uint64)
    level = examples.level
    for root in roots:
        width = (level.supports[root] + 63) // 64
        n_rows, n_answers = claim_rows(plan, root, ledger), claim_answers(plan, root, ledger)
        rows = cleared(rows, (n_rows + plan.items.shape[1]) * width)
        answers = cleared(answers, n_answers * width)
        bits = Bits(width, rows, n_rows * width, answers)
        fill_rows(level, root, bits, ledger)
        fill_answers(examples, root, bits, ledger)
        match_rules(root, plan, level, bits, ledger)
        merge(level, root, ledger)
        release_rows(plan, root, ledger)


@kernel
def cleared(words: Words, needed: int) -> Words:
    """Make sure that so many words are there, without any bit."""
    words = more_words(words, needed)
    for word in range(needed):
        words[word] = 0
    return words


@kernel
def claim_rows(plan: Plan, root: int, ledger: Ledger) -> int:
    """Give a row to every item of the root's rules but the root."""
    n = 0
    for rule in range(plan.starts[root], plan.starts[root + 1]):
        for column in range(1, plan.items.shape[1]):
            item = plan.items[rule, column]
            if item != NO_ITEM and ledger.item_slots[item] == 0:
                n += 1
                ledger.item_slots[item] = n
    return n


@kernel
def claim_answers(plan: Plan, root: int, ledger: Ledger) -> int:
    """Give a row to every answer of the root's rules."""
    n = 0
    for rule in range(plan.starts[root], plan.starts[root + 1]):
        answer = plan.answers[rule]
        if ledger.answer_slots[answer] == 0:
            n += 1
            ledger.answer_slots[answer] = n
    return n


@kernel
def release_rows(plan: Plan, root: int, ledger: Ledger) -> None:
    """Take back all rows."""
    for rule in range(plan.starts[root], plan.starts[root + 1]):
        ledger.answer_slots[plan.answers[rule]] = 0
        for column in range(1, plan.items.shape[1]):
            item = plan.items[rule, column]
            if item != NO_ITEM:
                ledger.item_slots[item] = 0


@kernel
def fill_rows(level: Level, root: int, bits: Bits, ledger: Ledger) -> None:
    """Set the bit of every example in the rows of its items."""
    begin = level.starts[root]
    for at in range(begin, level.starts[root + 1]):
        bit = at - begin
        word, mask = bit >> 6, np.uint64(1) << np.uint64(bit & 63)
        first = level.places[at] + 1
        for place in range(first, first + level.tails[at]):
            slot = ledger.item_slots[level.items[place]]
            if slot:
                bits.rows[(slot - 1) * bits.width + word] |= mask
        ledger.root_counts[bit] = 0
        ledger.root_best[bit] = NO_RULE
        ledger.root_best_correct[bit] = NO_RULE


@kernel
def fill_answers(examples: Examples, root: int, bits: Bits, ledger: Ledger) -> None:
    """Set the bit of every example in the rows of the answers it accepts."""
    level = examples.level
    begin = level.starts[root]
    for at in range(begin, level.starts[root + 1]):
        bit = at - begin
        word, mask = bit >> 6, np.uint64(1) << np.uint64(bit & 63)
        example = level.tags[at]
        for place in range(examples.accepted_starts[example], examples.accepted_starts[example + 1]):
            answer = examples.accepted[place]
            if 0 <= answer < len(ledger.answer_slots) and ledger.answer_slots[answer] > 0:
                bits.answers[(ledger.answer_slots[answer] - 1) * bits.width + word] |= mask


@kernel
def match_rules(root: int, plan: Plan, level: Level, bits: Bits, ledger: Ledger) -> None:
    """Meet each rule of the root with the examples in all of its rows; what rules share at their front is kept."""
    fill_first(bits, level.supports[root])
    for rule in range(plan.starts[root], plan.starts[root + 1]):
        same = 1 if rule == plan.starts[root] else shared_length(plan, rule)
        row = narrow(plan, rule, same, bits, ledger)
        answer_row = (ledger.answer_slots[plan.answers[rule]] - 1) * bits.width
        meet(plan.rules[rule], row, answer_row, bits, ledger)


@kernel
def fill_first(bits: Bits, n: int) -> None:
    """Let the root alone leave all of its n examples."""
    for word in range(bits.width):
        bits.rows[bits.shared + word] = ~np.uint64(0)
    if n & 63:
        bits.rows[bits.shared + bits.width - 1] = (np.uint64(1) << np.uint64(n & 63)) - np.uint64(1)


@inner_kernel
def shared_length(plan: Plan, rule: int) -> int:
    """Count the items that a rule has in common with the one before it, from the front."""
    same = 1
    while same < plan.items.shape[1] and plan.items[rule, same] == plan.items[rule - 1, same]:
        same += 1
    return same


@inner_kernel
def narrow(plan: Plan, rule: int, same: int, bits: Bits, ledger: Ledger) -> int:
    """Leave the examples that hold more and more items of a rule, and return where the last row begins."""
    row, length = bits.shared, 1
    while length < plan.items.shape[1] and plan.items[rule, length] != NO_ITEM:
        if length >= same:
            item_row = (ledger.item_slots[plan.items[rule, length]] - 1) * bits.width
            for word in range(bits.width):
                bits.rows[row + bits.width + word] = bits.rows[row + word] & bits.rows[item_row + word]
        row += bits.width
        length += 1
    return row


@inner_kernel
def lowest_bit(word: np.uint64) -> int:
    """Return the number of the lowest bit that is set."""
    return popcount((word - np.uint64(1)) & ~word)


@inner_kernel
def meet(rule: int, row: int, answer_row: int, bits: Bits, ledger: Ledger) -> None:
    """Enter the examples in a row of bits that meet a rule, and those of them that accept its answer."""
    support, correct = 0, 0
    for word in range(bits.width):
        met = bits.rows[row + word]
        right = met & bits.answers[answer_row + word]
        support += popcount(met)
        correct += popcount(right)
        while met != 0:
            bit = word * 64 + lowest_bit(met)
            met &= met - np.uint64(1)
            ledger.root_counts[bit] += 1
            ledger.root_best[bit] = min(ledger.root_best[bit], rule)
        while right != 0:
            bit = word * 64 + lowest_bit(right)
            right &= right - np.uint64(1)
            ledger.root_best_correct[bit] = min(ledger.root_best_correct[bit], rule)
    ledger.supports[rule] = support
    ledger.correct[rule] = correct


@kernel
def merge(level: Level, root: int, ledger: Ledger) -> None:
    """Add what the root's examples met to the tables of all."""
    begin = level.starts[root]
    for at in range(begin, level.starts[root + 1]):
        example, bit = level.tags[at], at - begin
        ledger.counts[example] += ledger.root_counts[bit]
        ledger.best[example] = min(ledger.best[example], ledger.root_best[bit])
        ledger.best_correct[example] = min(ledger.best_correct[example], ledger.root_best_correct[bit])
