"""Adversaries: the best way to the target without looking, chosen and fitted without the examples that it is tried on.

Whoever tries many ways and reports the best one is right too often by luck. Here the choice is part of what is tried.
For each fold f, every way is scored on the other folds, on each of them by what was learned from neither it nor f. The
one that is right most often is then tried on f, learned from all folds but f. However many ways there are to choose
from, its accuracy is that of a single procedure on examples it has not seen.

An adversary may also pick what a scorer finds least likely. Where options are balanced exactly, an example that is held
out leaves its target looking like a decoy, so that a score below chance is a leak as well.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.audits.decoys.blind import CrossValidation, folds_of
from eyechart.audits.decoys.cues import CUES, PRIOR_RULE, CueInputs
from eyechart.audits.decoys.options import Flags, Floats, Values, score_picks, where_examples_start
from eyechart.audits.decoys.settings import DecoysSettings
from eyechart.data.protocols import Engine

ALONE, UNSEEN = "options alone", "without the picture"
WAYS: dict[str, tuple[str, ...]] = {  # adversary -> the cues and scorers that it may choose among
    ALONE: (PRIOR_RULE, "A", "position", "length", "odd one out"),
    UNSEEN: (PRIOR_RULE, "A", "position", "length", "odd one out", "Q+A", "question overlap", "type agreement"),
}
SCORED = ("A", "Q+A")
COUNTED = (PRIOR_RULE, "type agreement")  # cues that count something first
OPPOSITE = {  # rule -> the one that picks the option of the lowest value
    "likeliest by Eq. 2": "least likely by Eq. 2",
    "likeliest by A": "least likely by A",
    "likeliest by Q+A": "least likely by Q+A",
    "of the usual kind": "of an unusual kind",
}
FRESH = 1  # what is added to the seed, so that the folds have nothing in common with whatever drew the options


class Way(NamedTuple):
    """A way to pick an option, in words, and its score on each example (id, score).

    `draws` are its accuracies over several draws of what it learned from, which then are its sample.
    """

    name: str
    picks: str
    scores: pl.DataFrame
    draws: tuple[float, ...] = ()


class Folds(NamedTuple):
    """The examples of a set of options, and the fold of each."""

    starts: NDArray[np.int64]  # the first option of each example, and the end of the last
    target: Flags  # of each option
    of_option: NDArray[np.int64]
    of_example: NDArray[np.int64]

    @classmethod
    def of(cls, offers: pl.DataFrame, settings: DecoysSettings) -> Self:
        """Divide the examples into other folds than those of the solvers."""
        starts = where_examples_start(offers)
        fold = folds_of(offers, settings.seed + FRESH, settings.folds)
        return cls(starts, offers["target"].to_numpy(), fold, fold[starts[:-1]])

    def left_out(self) -> list[tuple[int, ...]]:
        """List what is left out of learning: each fold, on which a choice is tried, and each two, to choose."""
        folds = np.unique(self.of_example).tolist()
        return [*((fold,) for fold in folds), *combinations(folds, 2)]

    def right(self, value: Values) -> Floats:
        """Score the pick of the highest value in each example."""
        return score_picks(value, self.target, self.starts)


class Trials(NamedTuple):
    """How right one way is on each example, with its fold left out, and with each other fold left out as well."""

    tried: Floats  # example
    choosing: Floats  # fold, example

    @classmethod
    def of(cls, scores: Floats, folds: int) -> Self:
        """Return the trials of a way that learns nothing."""
        return cls(scores, np.broadcast_to(scores, (folds, len(scores))))

    @classmethod
    def none(cls, examples: int, folds: int) -> Self:
        """Return trials that are yet to be made."""
        return cls(np.zeros(examples), np.zeros((folds, examples)))

    def put(self, scores: Floats, left_out: Sequence[int], fold: NDArray[np.int64]) -> None:
        """Enter the scores of what was learned without some folds."""
        for each in left_out:
            others = [other for other in left_out if other != each]
            rows = self.choosing[others[0]] if others else self.tried
            rows[fold == each] = scores[fold == each]


def find_adversaries(
    offers: pl.DataFrame, validation: CrossValidation, settings: DecoysSettings, engine: Engine
) -> list[Way]:
    """Try every adversary on the examples of a set of options, which also has the `question` and the `cluster`."""
    folds = Folds.of(offers, settings)
    trials = dict(_try_cues(offers, folds, settings)) | dict(_try_scorers(folds, validation, settings, engine))
    ids = offers["id"].gather(folds.starts[:-1])
    found = []
    for name, ways in WAYS.items():
        usable = {way: one for (source, way), one in trials.items() if source in ways}
        picks, scores = _choose(usable, folds.of_example)
        found.append(Way(name, picks, pl.DataFrame([ids, pl.Series("score", scores)])))
    return found


def _choose(trials: dict[str, Trials], fold: NDArray[np.int64]) -> tuple[str, Floats]:
    """Choose a way for each fold by its scores on the others; ties go to the first."""
    scores, chosen = np.zeros(len(fold)), Counter[str]()
    for each in np.unique(fold).tolist():
        others = fold != each
        best = max(trials, key=lambda way: trials[way].choosing[each, others].sum())
        scores[fold == each] = trials[best].tried[fold == each]
        chosen[best] += 1
    return ", ".join(f"{way} ({n} of {chosen.total()} folds)" for way, n in chosen.most_common()), scores


def _try_cues(offers: pl.DataFrame, folds: Folds, settings: DecoysSettings) -> Iterator[tuple[tuple[str, str], Trials]]:
    """Try each rule of the cues; what some of them count is counted without the folds that are left out."""
    inputs = CueInputs.of(offers, pl.Series(np.ones(offers.height, np.bool_)))
    counted: dict[tuple[str, str], Trials] = {}
    for cue, make_rules in CUES.items():
        if cue not in COUNTED:
            for rule, value in make_rules(inputs).items():
                yield (cue, rule), Trials.of(folds.right(value), settings.folds)
            continue
        for left_out in folds.left_out():
            without = inputs._replace(learn=~np.isin(folds.of_option, left_out))
            for rule, value in _both_ways(make_rules(without)):
                trials = counted.setdefault((cue, rule), Trials.none(len(folds.of_example), settings.folds))
                trials.put(folds.right(value), left_out, folds.of_example)
    yield from counted.items()


def _try_scorers(
    folds: Folds, validation: CrossValidation, settings: DecoysSettings, engine: Engine
) -> Iterator[tuple[tuple[str, str], Trials]]:
    """Try each scorer in both directions."""
    everything = np.ones(len(folds.of_option), np.bool_)
    fresh = replace(validation, fold=folds.of_option, judged=everything)
    fits = [(scorer, left_out) for scorer in SCORED for left_out in folds.left_out()]
    found: dict[tuple[str, str], Trials] = {}
    for fit in fresh.run(fits, engine):
        scorer, left_out = fit.select("task", "folds").row(0)
        value = np.zeros(len(folds.of_option))
        value[fit["row"].to_numpy()] = fit["score"].to_numpy()
        for way, one in _both_ways({f"likeliest by {scorer}": value}):
            trials = found.setdefault((scorer, way), Trials.none(len(folds.of_example), settings.folds))
            trials.put(folds.right(one), left_out, folds.of_example)
    yield from found.items()


def _both_ways(rules: dict[str, Values]) -> Iterator[tuple[str, Values]]:
    """Add its opposite to each rule."""
    for rule, value in rules.items():
        yield rule, value
        yield OPPOSITE[rule], -value.astype(np.float64)
