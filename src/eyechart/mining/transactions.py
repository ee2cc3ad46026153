"""Represent examples for mining: sets of item numbers, each with an answer number."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyechart.base.errors import DataError

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Words = NDArray[np.uint64]  # words of bits

MOST_OCCURRENCES = 2**31 - 1
# Different fractions of counts below 2**26 have different float64 quotients, so confidences can be sorted as floats.
MOST_EXAMPLES = 2**26 - 1


@dataclass(frozen=True)
class Transactions:
    """Example e has the items `items[starts[e]:starts[e + 1]]`, in any order, and the answer `answers[e]`.

    Items may be repeated, which matters only for `published="vqa-ce"`. An answer of -1 is outside the vocabulary, so
    no rule can give it; the example can be matched but not mined.
    """

    starts: Int64s
    items: Int32s
    answers: Int32s
    n_items: int
    n_answers: int

    def __post_init__(self) -> None:
        _check_starts("starts", self.starts, len(self.answers), len(self.items))
        _check_numbers("items", self.items, 0, self.n_items)
        _check_numbers("answers", self.answers, -1, self.n_answers)
        if len(self.answers) > MOST_EXAMPLES or len(self.items) > MOST_OCCURRENCES:
            found = f"{len(self.answers):,} with {len(self.items):,}"
            raise DataError(f"at most {MOST_EXAMPLES:,} examples with 2**31 - 1 items", found, "mine a sample of them")

    @property
    def n(self) -> int:
        """Count the examples."""
        return len(self.answers)

    @classmethod
    def from_rows(
        cls, rows: Sequence[Sequence[int]], answers: Sequence[int], n_items: int, n_answers: int
    ) -> "Transactions":
        """Lay out one list of items per example."""
        starts, items = flatten(rows)
        return cls(starts, items, np.array(answers, np.int32), n_items, n_answers)


@dataclass(frozen=True)
class Accepted:
    """The answers that count as right for example e: `answers[starts[e]:starts[e + 1]]`; -1 is never right."""

    starts: Int64s
    answers: Int32s

    def __post_init__(self) -> None:
        _check_starts("accepted starts", self.starts, len(self.starts) - 1, len(self.answers))

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[int]]) -> "Accepted":
        """Lay out one list of answers per example."""
        return cls(*flatten(rows))

    @classmethod
    def only(cls, answers: Int32s) -> "Accepted":
        """Accept one answer for each example."""
        return cls(np.arange(len(answers) + 1), answers)


def flatten(rows: Iterable[Sequence[int]]) -> tuple[Int64s, Int32s]:
    """Concatenate lists of numbers, and return where each begins."""
    rows = list(rows)
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return starts, np.array([number for row in rows for number in row], np.int32)


def _check_starts(name: str, starts: Int64s, rows: int, total: int) -> None:
    whole = len(starts) == rows + 1 and starts[0] == 0 and starts[-1] == total and bool(np.all(np.diff(starts) >= 0))
    if not whole:
        found = f"{len(starts)} of them ending at {starts[-1] if len(starts) else 'nothing'}"
        raise DataError(
            f"{rows + 1} {name} that rise from 0 to {total}", found, "give where each row begins, and the end"
        )


def _check_numbers(name: str, numbers: Int32s, low: int, end: int) -> None:
    if len(numbers) and not (low <= numbers.min() and numbers.max() < end):
        found = f"{numbers.min()} to {numbers.max()}"
        raise DataError(f"{name} from {low} to {end - 1}", found, f"number the {name} from 0")
