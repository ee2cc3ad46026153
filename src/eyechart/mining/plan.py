"""Make rules and examples ready to meet: rules by their rarest item, examples by item."""

from typing import NamedTuple

import numpy as np

from eyechart.errors import DataError
from eyechart.kernels import kernel
from eyechart.mining.levels import NO_ITEM, Int16s, Level, lay_out_level, layout
from eyechart.mining.rules import Bytes, Rules, item_keys, order_by
from eyechart.mining.transactions import Int32s, Int64s, Transactions


class Plan(NamedTuple):
    """The rules sorted by their items, rare ones first, and the rarest item's share of them.

    Rule `rules[r]` has the items `items[r]`, rising by frequency; those whose rarest item is i are from `starts[i]`
    to `starts[i + 1]`. Rules with an item that no example has are left out.
    """

    items: Int16s
    rules: Int32s
    answers: Int32s
    starts: Int64s
    kept: Int64s  # the caller's numbers of the items


def make_plan(rules: Rules, transactions: Transactions) -> Plan:
    """Give the items of the rules numbers by their frequency in these examples, and sort the rules by them."""
    n_items = max(transactions.n_items, int(rules.items.max(initial=-1)) + 1)
    used = np.zeros(n_items, np.bool_)
    used[rules.items[rules.items >= 0]] = True
    supports = np.bincount(transactions.items, minlength=n_items)
    kept = np.flatnonzero(used & (supports > 0))
    if len(kept) >= NO_ITEM:
        raise DataError(f"rules of fewer than {NO_ITEM:,} items", f"{len(kept):,}", "match part of the rules at a time")
    kept = kept[np.argsort(supports[kept], kind="stable")]
    numbers = np.full(n_items, NO_ITEM, np.uint16)
    numbers[kept] = np.arange(len(kept), dtype=np.uint16)
    items = np.full(rules.items.shape, NO_ITEM, np.uint16)
    number_rules(rules.items, rules.lengths, numbers, items)
    order = order_by(item_keys(items), np.arange(rules.n, dtype=np.int32))
    starts = np.searchsorted(items[order, 0], np.arange(len(kept) + 1))
    order = order[: starts[-1]]
    return Plan(items[order], order, rules.answers[order], starts, kept)


@kernel
def number_rules(items: Int32s, lengths: Bytes, numbers: Int16s, numbered: Int16s) -> None:
    """Write the new numbers of every rule's items, rising; leave the row empty where an item has none."""
    for row in range(len(items)):
        length = lengths[row]
        known = True
        for column in range(length):
            known = known and numbers[items[row, column]] != NO_ITEM
        if not known:
            continue
        for column in range(length):
            number = numbers[items[row, column]]
            at = column
            while at > 0 and numbered[row, at - 1] > number:
                numbered[row, at] = numbered[row, at - 1]
                at -= 1
            numbered[row, at] = number


def level_of(transactions: Transactions, plan: Plan) -> Level:
    """Lay out the examples with the items that rules use."""
    examples = np.arange(transactions.n, dtype=np.int32)
    supports = count_examples(*layout(transactions), transactions.n_items)[plan.kept]
    return lay_out_level(transactions, plan.kept, supports, examples, examples)


@kernel
def count_examples(starts: Int64s, items: Int32s, n_items: int) -> Int32s:
    """Count the examples that hold each item."""
    counts, last = np.zeros(n_items, np.int32), np.full(n_items, -1, np.int64)
    for example in range(len(starts) - 1):
        for place in range(starts[example], starts[example + 1]):
            counts[items[place]] += last[items[place]] != example
            last[items[place]] = example
    return counts
