"""The choice: candidates in an order, each kept if it goes with those already kept."""

from typing import NamedTuple

import numpy as np

from eyechart.audits.decoys.drawing.balance import Floats
from eyechart.audits.decoys.drawing.candidates import (
    CHOSEN,
    EQUAL,
    Asked,
    Entries,
    Judges,
    chance,
)
from eyechart.audits.decoys.drawing.lists import Int32s, Int64s
from eyechart.audits.decoys.drawing.pairs import judge_pair
from eyechart.kernels import kernel

SECOND_LOT = 1 << 40  # a choice among candidates must not repeat the lots that put them in order


class Fillers(NamedTuple):
    """Frequent answers by place, and the place of each example."""

    entries: Entries
    places: Int32s


class Picked(NamedTuple):
    """The chosen entries of each asked example, -1 at the end, and how many candidates fell to which filter."""

    entries: Int32s
    taken: Int64s


@kernel
def pick(judges: Judges, asked: Asked, entries: Entries, candidates: Int32s, k: int) -> Picked:
    """Choose up to k candidates of each example in their order; -1 is none."""
    chosen = np.full((len(asked.rows), k), -1, np.int32)
    taken = np.zeros((3, EQUAL + 1), np.int64)
    kept = np.empty(k, np.int32)
    for i in range(len(asked.rows)):
        n = 0
        for entry in candidates[i]:
            if n == k:
                break
            if entry >= 0 and goes_with(judges, asked.beside[i], kept[:n], entries.answers[entry], taken):
                chosen[i, n], kept[n] = entry, entries.answers[entry]
                n += 1
    return Picked(chosen, taken)


@kernel
def shuffle(asked: Asked, candidates: Int32s, things: Int32s, weights: Floats) -> Int32s:
    """Put the candidates of each example in the order of a race, by the weights of the things they stand for."""
    ordered = candidates.copy()
    arrivals = np.empty(candidates.shape[1])
    for i in range(len(candidates)):
        n = 0
        while n < candidates.shape[1] and candidates[i, n] >= 0:
            thing = things[i, n]
            arrivals[n] = -np.log(chance(asked.lots[i], SECOND_LOT + np.int64(thing))) / weights[thing]
            n += 1
        ordered[i, :n] = candidates[i, :n][np.argsort(arrivals[:n])]
    return ordered


@kernel
def goes_with(judges: Judges, beside: Int32s, kept: Int32s, answer: int, taken: Int64s) -> bool:
    """Compare a candidate with the decoys it will stand beside; in another set of options the same may stand."""
    for other in kept:
        code = judge_pair(judges.lexicon, judges.limits, judges.memory, other, answer)
        if code:
            taken[CHOSEN, code] += 1
            return False
    for other in beside:
        if other >= 0 and other != answer:
            code = judge_pair(judges.lexicon, judges.limits, judges.memory, other, answer)
            if code:
                taken[CHOSEN, code] += 1
                return False
    return True
