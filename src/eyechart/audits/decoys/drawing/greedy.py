"""The choice: candidates in an order, each kept if it goes with those already kept; then fillers, checked alike."""

from typing import NamedTuple

import numpy as np

from eyechart.audits.decoys.drawing.balance import Floats
from eyechart.audits.decoys.drawing.candidates import (
    CHOSEN,
    EQUAL,
    TRIES,
    Asked,
    Entries,
    Judges,
    admits,
    chance,
    draw_entry,
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
    """The chosen entries of each asked example, then its fillers; -1 at the end of either."""

    entries: Int32s
    fillers: Int32s
    taken: Int64s


@kernel
def pick(judges: Judges, asked: Asked, entries: Entries, candidates: Int32s, k: int) -> Picked:
    """Choose up to k candidates of each example in their order."""
    chosen = np.full((len(asked.rows), k), -1, np.int32)
    taken = np.zeros((3, EQUAL + 1), np.int64)
    kept = np.empty(k, np.int32)
    for i in range(len(asked.rows)):
        n = 0
        for entry in candidates[i]:
            if entry < 0 or n == k:
                break
            answer = entries.answers[entry]
            if _goes_with(judges, asked.beside[i], kept[:n], answer, taken):
                chosen[i, n], kept[n] = entry, answer
                n += 1
    return Picked(chosen, np.full((0, k), -1, np.int32), taken)


@kernel
def fill(judges: Judges, asked: Asked, entries: Entries, picked: Picked, fillers: Fillers) -> Picked:
    """Add frequent answers of the target's kind where fewer than k were chosen."""
    k = picked.entries.shape[1]
    added = np.full((len(asked.rows), k), -1, np.int32)
    kept = np.empty(k, np.int32)
    passed = np.zeros((3, EQUAL + 1), np.int64)  # candidates are counted, fillers are not
    for i in range(len(asked.rows)):
        n = 0
        while n < k and picked.entries[i, n] >= 0:
            kept[n] = entries.answers[picked.entries[i, n]]
            n += 1
        n_added = 0
        for at in range(TRIES):
            if n == k:
                break
            filler = draw_entry(fillers.entries, fillers.places[asked.rows[i]], asked.lots[i], at + SECOND_LOT)
            answer = fillers.entries.answers[filler]
            # Nothing goes with itself, so what is already kept is not taken again.
            if admits(judges, asked, i, answer, passed) and _goes_with(
                judges, asked.beside[i], kept[:n], answer, passed
            ):
                added[i, n_added], kept[n] = filler, answer
                n, n_added = n + 1, n_added + 1
    return Picked(picked.entries, added, picked.taken)


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
def _goes_with(judges: Judges, beside: Int32s, kept: Int32s, answer: int, taken: Int64s) -> bool:
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
