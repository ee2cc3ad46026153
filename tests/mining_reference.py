"""Define the rules in plain Python, for tests: slow, and as close to the description as possible."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise
from typing import NamedTuple

from eyechart.mining.settings import MiningSettings
from eyechart.mining.transactions import Transactions


class Rule(NamedTuple):
    """Items that predict an answer."""

    items: tuple[int, ...]
    answer: int
    joint: int
    support: int

    @property
    def confidence(self) -> Fraction:
        """Divide exactly."""
        return Fraction(self.joint, self.support)


def mine_slowly(transactions: Transactions, settings: MiningSettings) -> list[Rule]:
    """Mine the rules, sorted."""
    best = _best_rules(transactions, settings)
    confident = [rule for rule in best if rule.confidence >= settings.min_confidence]
    kept = [rule for rule in confident if not any(_drops(other, rule, settings) for other in confident)]
    return sorted(kept, key=lambda rule: (-rule.confidence, -rule.support, len(rule.items), rule.items))


def _best_rules(transactions: Transactions, settings: MiningSettings) -> list[Rule]:
    rows = _rows(transactions)
    supports: Counter[tuple[int, ...]] = Counter()
    joints: Counter[tuple[tuple[int, ...], int]] = Counter()
    for row, answer in zip(rows, transactions.answers.tolist(), strict=True):
        for size in range(1, settings.max_items + 1):
            for items in combinations(sorted(set(row)), size):
                supports[items] += row.count(items[0]) if size == 1 and settings.published == "vqa-ce" else 1
                joints[items, answer] += 1
    frequency = Counter(transactions.answers.tolist())
    sign = -1 if settings.published == "vqa-ce" else 1
    best: dict[tuple[int, ...], Rule] = {}
    for items, answer in sorted(joints, key=lambda key: (-joints[key], -sign * frequency[key[1]], key[1])):
        rule = Rule(items, answer, joints[items, answer], supports[items])
        if rule.joint >= settings.min_support:
            best.setdefault(items, rule)
    return list(best.values())


def _rows(transactions: Transactions) -> list[list[int]]:
    ends = pairwise(transactions.starts.tolist())
    return [transactions.items[first:last].tolist() for first, last in ends]


def _drops(other: Rule, rule: Rule, settings: MiningSettings) -> bool:
    """Return whether the other rule of a nested pair drops this one."""
    shorter = set(other.items) < set(rule.items)
    longer = set(other.items) > set(rule.items)
    if settings.superset == "none" or other.answer != rule.answer or not (shorter or longer):
        return False
    if longer:
        return settings.superset == "two-sided" and other.confidence > rule.confidence
    near = settings.superset != "immediate" or len(other.items) == len(rule.items) - 1
    return near and other.confidence >= rule.confidence
