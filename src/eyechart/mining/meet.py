"""Match all rules with the same rarest item (root) in kernels, by sets of bits over the examples that have it."""

from typing import NamedTuple

import numpy as np

from eyechart.base.kernels import inner_kernel, kernel, popcount
from eyechart.mining.leaf import more_words
from eyechart.mining.levels import NO_ITEM, Int16s, Level
from eyechart.mining.rules import Rules
from eyechart.mining.transactions import Int32s, Int64s, Words

NO_RULE = 2**31 - 1


class MatchPlan(NamedTuple):
    """The rules sorted by their items, rare ones first, and the range of rules of each rarest item.

    Rule `rules[r]` has the items `items[r]`, ascending by frequency; those whose rarest item is i are from `starts[i]`
    to `starts[i + 1]`. Rules with an item that no example has are left out.
    """

    items: Int16s
    rules: Int32s
    answers: Int32s
    starts: Int64s
    kept: Int64s  # the caller's numbers for the items

    def heaviest_roots(self, level: Level) -> Int32s:
        """List the rarest items of rules that occur in examples, those with the most words to read first."""
        work = np.diff(self.starts) * ((level.supports + 63) // 64)
        order = np.argsort(-work, kind="stable").astype(np.int32)
        return order[: np.count_nonzero(work)]


class Ledger(NamedTuple):
    """The arrays one thread writes to; only the rules' entries are shared, and no two threads have the same rule."""

    item_slots: Int32s  # of an item: its row of bits + 1, or 0
    answer_slots: Int32s  # of an answer: likewise
    root_counts: Int32s  # of an example with the root: the number of rules it matches
    root_best: Int32s  # the first of them
    root_best_correct: Int32s  # the first of those whose answer it accepts
    supports: Int32s  # of a rule
    correct: Int32s
    counts: Int32s  # of an example: as above, over all roots
    best: Int32s
    best_correct: Int32s


class ExampleIndex(NamedTuple):
    """The examples by item, with their numbers as tags, and the answers that each accepts."""

    level: Level
    accepted_starts: Int64s
    accepted: Int32s

    def open_ledger(self, rules: Rules) -> Ledger:
        """Allocate a ledger without matches for these rules and examples."""
        n, most = len(self.accepted_starts) - 1, int(self.level.supports.max(initial=0))
        return Ledger(
            item_slots=np.zeros(self.level.n_items[0], np.int32),
            answer_slots=np.zeros(rules.answers.max(initial=-1) + 1, np.int32),
            root_counts=np.empty(most, np.int32),
            root_best=np.empty(most, np.int32),
            root_best_correct=np.empty(most, np.int32),
            supports=np.zeros(rules.n, np.int32),
            correct=np.zeros(rules.n, np.int32),
            counts=np.zeros(n, np.int32),
            best=np.full(n, NO_RULE, np.int32),
            best_correct=np.full(n, NO_RULE, np.int32),
        )


class RootBits(NamedTuple):
    """Rows of bits over the examples with the root."""

    width: int  # words per row
    rows: Words  # one per item of its rules; then one per prefix of the current rule's items, with the examples left
    shared: int  # start of the latter
    answers: Words  # one per answer of its rules


@kernel
def match_roots(roots: Int32s, plan: MatchPlan, examples: ExampleIndex, ledger: Ledger) -> None:
    """Match all rules whose rarest item is one of the roots."""
    rows, answers = np.empty(64, np.uint64), np.empty(64, np.uint64)
    level = examples.level
    for root in roots:
        width = (level.supports[root] + 63) // 64
        n_rows, n_answers = claim_rows(plan, root, ledger), claim_answers(plan, root, ledger)
        rows = cleared(rows, (n_rows + plan.items.shape[1]) * width)
        answers = cleared(answers, n_answers * width)
        bits = RootBits(width, rows, n_rows * width, answers)
        fill_rows(level, root, bits, ledger)
        fill_answers(examples, root, bits, ledger)
        match_rules(root, plan, level, bits, ledger)
        merge(level, root, ledger)
        release_rows(plan, root, ledger)


@kernel
def cleared(words: Words, needed: int) -> Words:
    """Return an array of at least this many words, all zero."""
    words = more_words(words, needed)
    for word in range(needed):
        words[word] = 0
    return words


@kernel
def claim_rows(plan: MatchPlan, root: int, ledger: Ledger) -> int:
    """Assign a row to every item of the root's rules except the root."""
    n = 0
    for rule in range(plan.starts[root], plan.starts[root + 1]):
        for column in range(1, plan.items.shape[1]):
            item = plan.items[rule, column]
            if item != NO_ITEM and ledger.item_slots[item] == 0:
                n += 1
                ledger.item_slots[item] = n
    return n


@kernel
def claim_answers(plan: MatchPlan, root: int, ledger: Ledger) -> int:
    """Assign a row to every answer of the root's rules."""
    n = 0
    for rule in range(plan.starts[root], plan.starts[root + 1]):
        answer = plan.answers[rule]
        if ledger.answer_slots[answer] == 0:
            n += 1
            ledger.answer_slots[answer] = n
    return n


@kernel
def release_rows(plan: MatchPlan, root: int, ledger: Ledger) -> None:
    """Release all rows."""
    for rule in range(plan.starts[root], plan.starts[root + 1]):
        ledger.answer_slots[plan.answers[rule]] = 0
        for column in range(1, plan.items.shape[1]):
            item = plan.items[rule, column]
            if item != NO_ITEM:
                ledger.item_slots[item] = 0


@kernel
def fill_rows(level: Level, root: int, bits: RootBits, ledger: Ledger) -> None:
    """Set the bit of every example in the rows of its items."""
    begin = level.starts[root]
    for occurrence in range(begin, level.starts[root + 1]):
        bit = occurrence - begin
        word, mask = bit >> 6, np.uint64(1) << np.uint64(bit & 63)
        first = level.places[occurrence] + 1
        for position in range(first, first + level.tails[occurrence]):
            slot = ledger.item_slots[level.items[position]]
            if slot:
                bits.rows[(slot - 1) * bits.width + word] |= mask
        ledger.root_counts[bit] = 0
        ledger.root_best[bit] = NO_RULE
        ledger.root_best_correct[bit] = NO_RULE


@kernel
def fill_answers(examples: ExampleIndex, root: int, bits: RootBits, ledger: Ledger) -> None:
    """Set the bit of every example in the rows of the answers it accepts."""
    level = examples.level
    begin = level.starts[root]
    for occurrence in range(begin, level.starts[root + 1]):
        bit = occurrence - begin
        word, mask = bit >> 6, np.uint64(1) << np.uint64(bit & 63)
        example = level.tags[occurrence]
        for position in range(examples.accepted_starts[example], examples.accepted_starts[example + 1]):
            answer = examples.accepted[position]
            if 0 <= answer < len(ledger.answer_slots) and ledger.answer_slots[answer] > 0:
                bits.answers[(ledger.answer_slots[answer] - 1) * bits.width + word] |= mask


@kernel
def match_rules(root: int, plan: MatchPlan, level: Level, bits: RootBits, ledger: Ledger) -> None:
    """Match each rule of the root with the examples in all of its rows, reusing shared prefixes of rules."""
    fill_first(bits, level.supports[root])
    for rule in range(plan.starts[root], plan.starts[root + 1]):
        same = 1 if rule == plan.starts[root] else shared_length(plan, rule)
        row = narrow(plan, rule, same, bits, ledger)
        answer_row = (ledger.answer_slots[plan.answers[rule]] - 1) * bits.width
        meet(plan.rules[rule], row, answer_row, bits, ledger)


@kernel
def fill_first(bits: RootBits, n: int) -> None:
    """Set the bits of all n examples of the root."""
    for word in range(bits.width):
        bits.rows[bits.shared + word] = ~np.uint64(0)
    if n & 63:
        bits.rows[bits.shared + bits.width - 1] = (np.uint64(1) << np.uint64(n & 63)) - np.uint64(1)


@inner_kernel
def shared_length(plan: MatchPlan, rule: int) -> int:
    """Count the leading items that a rule shares with the previous one."""
    same = 1
    while same < plan.items.shape[1] and plan.items[rule, same] == plan.items[rule - 1, same]:
        same += 1
    return same


@inner_kernel
def narrow(plan: MatchPlan, rule: int, same: int, bits: RootBits, ledger: Ledger) -> int:
    """Keep the examples with more and more items of a rule, and return the start of the last row."""
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
def meet(rule: int, row: int, answer_row: int, bits: RootBits, ledger: Ledger) -> None:
    """Enter the examples in a row of bits that match a rule, and those of them that accept its answer."""
    support, correct = 0, 0
    for word in range(bits.width):
        matched = bits.rows[row + word]
        right = matched & bits.answers[answer_row + word]
        support += popcount(matched)
        correct += popcount(right)
        while matched != 0:
            bit = word * 64 + lowest_bit(matched)
            matched &= matched - np.uint64(1)
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
    """Add the matches of the root's examples to the tables of all examples."""
    begin = level.starts[root]
    for occurrence in range(begin, level.starts[root + 1]):
        example, bit = level.tags[occurrence], occurrence - begin
        ledger.counts[example] += ledger.root_counts[bit]
        ledger.best[example] = min(ledger.best[example], ledger.root_best[bit])
        ledger.best_correct[example] = min(ledger.best_correct[example], ledger.root_best_correct[bit])
