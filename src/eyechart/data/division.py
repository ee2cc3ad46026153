"""Divide a dataset, once per run for all audits, into examples to learn from and examples to judge.

A division names splits. Without a split to learn from, audits that learn nothing judge all examples to judge, and
audits that learn use a part of their images to learn from and judge only the rest, held out by the seed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from eyechart.base.errors import DataError

LEARN, JUDGE = "train", ("test", "val")  # the defaults; the latter is the first of these with reference answers
NONE = "none"  # means no split
HELD_OUT = 0.3  # share of the images, if there is no split to learn from


@dataclass(frozen=True)
class Division:
    """The splits to learn from (empty: none) and to judge (empty: all others)."""

    kind: Literal["division"]
    learn: tuple[str, ...]
    judge: tuple[str, ...]
    seed: int = 0

    def __str__(self) -> str:
        learned = f"learned from {', '.join(self.learn)}" if self.learn else "no split to learn from"
        return f"{learned}, judged on {', '.join(self.judge) or 'everything else'}"


@dataclass(frozen=True)
class DivisionSizes:
    """The number of examples in each part of a division."""

    kind: Literal["sizes"]
    learned: int  # in splits that are learned from
    judged: int  # by audits that learn nothing
    held_out: int  # judged by audits that learn
    learned_apart: int  # learned from by audits that learn
    neither: int


def decide(
    data: str, answered: Mapping[str, int], learn: Sequence[str] | None, judge: Sequence[str] | None, seed: int
) -> Division:
    """Choose the division of data, given the number of examples with a reference answer in each split.

    `learn` and `judge` name splits (one may be a plain text), or `none`. The defaults are to learn from `train`, and to
    judge `test`, `val` or the only other split.
    """
    learn, judge = ([named] if isinstance(named, str) else named for named in (learn, judge))
    for named in (learn, judge):
        _check_names(data, tuple(answered), named)
    judged = None if judge is None else _unless_none(judge)
    if learn is None:
        learned = tuple(name for name in (LEARN,) if name in answered and name not in (judged or ()))
    else:
        learned = _unless_none(learn)
    if judged is None:
        judged = _default(data, answered, learned)
    if both := sorted({*learned} & {*judged}):
        found = f"{', '.join(both)} in both"
        raise DataError("different splits to learn from and to judge", found, "use each split once, or --learn none")
    return Division("division", learned, judged, seed)


def _check_names(data: str, splits: tuple[str, ...], named: Sequence[str] | None) -> None:
    unknown = [name for name in named or () if name not in splits and name != NONE]
    if unknown:
        found = f"splits {', '.join(splits)}" if splits else "no splits"
        advice = f"choose one of those, or {NONE!r}" if splits else "leave out --learn and --judge"
        raise DataError(f"a split {unknown[0]!r} in {data}", found, advice)
    if named and NONE in named and len(set(named)) > 1:
        raise DataError(f"splits of {data}, or {NONE!r}", ", ".join(named), "leave one of them out")


def _unless_none(named: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in named if name != NONE))


def _default(data: str, answered: Mapping[str, int], learned: tuple[str, ...]) -> tuple[str, ...]:
    """Choose the split to judge by default; it is never `train`."""
    if not answered:
        return ()
    others = [name for name in answered if name not in (*learned, LEARN)]
    known = [name for name in JUDGE if name in others]
    if known:
        return (next((name for name in known if answered[name]), known[0]),)
    if len(others) == 1:
        return (others[0],)
    if others:
        found = f"several candidates: {', '.join(others)}"
        raise DataError(f"one split of {data} to judge", found, "choose it with --judge")
    found = f"no split but {' and '.join(answered)}, which is learned from"
    raise DataError(f"examples to judge in {data}", found, f"provide others, or pass --judge {next(iter(answered))}")
