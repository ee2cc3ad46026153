"""Exchange decoys until each answer is a decoy as much as it is a target, as exactly as the candidates allow.

Weights make it so on average; luck, and filters between decoys, leave a rest that is alike in all parts of the data, so
that it can be learned. With T(a) the uses as target, D(a) those as decoy (1 / k of each example with k decoys) and
r = T - D, decoys are replaced by other candidates of their example as long as

    sum over a of r(a)^2 / (T(a) + 1)

falls: an example of k decoys that puts a in the place of b changes r(a) by -1/k and r(b) by 1/k. Where two sources are
to be joined, r is of the joint set, k counts the decoys of both, and those of one source are exchanged.
"""

from typing import NamedTuple

import numpy as np

from eyechart.audits.decoys.drawing.balance import Floats
from eyechart.audits.decoys.drawing.candidates import EQUAL, Asked, Entries, Judges
from eyechart.audits.decoys.drawing.greedy import goes_with
from eyechart.audits.decoys.drawing.lists import Int32s, Int64s
from eyechart.kernels import kernel

SWEEPS = 30
LEAST = 1e-9  # by how much the sum must fall


class Pool(NamedTuple):
    """The candidates of each example: entries of its source, and from number `fillers` on such as fill up."""

    entries: Entries
    fillers: int
    candidates: Int32s  # -1 is none


class Books(NamedTuple):
    """What each answer still lacks as a decoy, r, and what a unit of it weighs; each part of the data has its own."""

    lacking: Floats
    weights: Floats
    shifts: Int32s  # of each example: where the answers of its part begin
    shares: Floats  # of each example: 1 / k


class Work(NamedTuple):
    """All of it while decoys are exchanged."""

    judges: Judges
    asked: Asked
    pool: Pool
    books: Books
    chosen: Int32s  # entries, -1 at the end
    taken: Int64s  # by the filters, which is not counted a second time


@kernel
def exchange(judges: Judges, asked: Asked, pool: Pool, books: Books, chosen: Int32s) -> Int32s:
    """Go through all examples until none has a better decoy; fillers are exchanged for fillers only."""
    work = Work(judges, asked, pool, books, chosen.copy(), np.zeros((3, EQUAL + 1), np.int64))
    for _ in range(SWEEPS):
        moved = 0
        for i in range(len(chosen)):
            for at in range(np.sum(chosen[i] >= 0)):
                moved += _improve(work, i, at)
        if moved == 0:
            break
    return work.chosen


@kernel
def _improve(work: Work, i: int, at: int) -> int:
    """Put the best candidate in the place of a decoy; say how many were moved, one or none.

    What stands beside too counts once for both, so it stays, and nothing becomes it.
    """
    entry = work.chosen[i, at]
    answers, beside = work.pool.entries.answers, work.asked.beside[i]
    if np.any(beside == answers[entry]):
        return 0
    others = work.chosen[i][(work.chosen[i] >= 0) & (work.chosen[i] != entry)]
    best, least = entry, -_change(work, i, entry, work.books.shares[i]) - LEAST
    for other in work.pool.candidates[i]:
        if other < 0 or other == entry or (other < work.pool.fillers) != (entry < work.pool.fillers):
            continue
        change = _change(work, i, other, -work.books.shares[i])
        if change >= least or np.any(beside == answers[other]):
            continue
        if goes_with(work.judges, beside, answers[others], answers[other], work.taken):
            best, least = other, change
    if best == entry:
        return 0
    work.books.lacking[_thing(work, i, entry)] += work.books.shares[i]
    work.books.lacking[_thing(work, i, best)] -= work.books.shares[i]
    work.chosen[i, at] = best
    return 1


@kernel
def _change(work: Work, i: int, entry: int, by: float) -> float:
    """Say how the sum changes when what an answer lacks changes."""
    thing = _thing(work, i, entry)
    return float(work.books.weights[thing] * by * (2 * work.books.lacking[thing] + by))


@kernel
def _thing(work: Work, i: int, entry: int) -> int:
    return int(work.pool.entries.answers[entry] + work.books.shifts[i])
