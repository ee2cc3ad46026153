"""Define the conditions under which rules are kept."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from eyechart.base.errors import SettingError
from eyechart.base.settings import check_choices

Superset = Literal["immediate", "any-subset", "two-sided", "none"]
Published = Literal["none", "vqa-ce"]

LONGEST = 6


@dataclass(frozen=True)
class MiningSettings:
    """Thresholds and filters; only `published` and `superset` change what a count means.

    max_items: the most items in an antecedent, not counting the answer.
    min_support: the fewest examples with both the antecedent and the answer.
    min_confidence: the smallest share of the antecedent's examples with the answer, compared in whole numbers.
    superset: when a rule is removed because of a nested one with the same answer.
        immediate: a rule one item shorter and at least as confident removes it (the authors' code).
        any-subset: any shorter rule at least as confident removes it.
        two-sided: of two nested rules the more confident stays, the shorter one if they are equal; every pair is
            compared separately, so a removed rule still removes others.
        none: no rule is removed.
    published: vqa-ce does what the authors' code does: it counts an item of a one-item antecedent as often as it is
        repeated in an example, and gives a tie between two answers of an antecedent to the rarer; none counts examples
        and gives it to the more frequent. In both, the smaller answer number wins any remaining tie.
    max_rules: the most rules in memory at once, before the superset filter; more are an error.
    """

    max_items: int = 4
    min_support: int = 8
    min_confidence: Fraction = Fraction(3, 10)
    superset: Superset = "immediate"
    published: Published = "none"
    threads: int = 2
    max_rules: int = 30_000_000

    def __post_init__(self) -> None:
        _check_range("max_items", self.max_items, 1, LONGEST)
        _check_range("min_support", self.min_support, 1, 2**31 - 1)
        _check_range("min_confidence", self.min_confidence, 0, 1)
        _check_range("the denominator of min_confidence", self.min_confidence.denominator, 1, 2**31 - 1)
        _check_range("threads", self.threads, 1, 1024)
        _check_range("max_rules", self.max_rules, 1, 2**31 - 1)
        check_choices(self)


def _check_range(name: str, value: Fraction | int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise SettingError(f"{name} from {low} to {high}", str(value), f"choose a {name} in this range")
