"""Neutral options: decoys that each part of the data uses as much as targets."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart.audits.decoys.drawing.balance import fit_weights, keep_balanced
from eyechart.audits.decoys.drawing.bench import N_PARTS, Bench
from eyechart.audits.decoys.drawing.candidates import Entries
from eyechart.audits.decoys.drawing.exchange import Books, Pool, exchange
from eyechart.audits.decoys.drawing.greedy import shuffle
from eyechart.audits.decoys.drawing.lists import Int32s


class Shift(NamedTuple):
    """By how much to raise the number of an answer for each asked example, and how many numbers there are then."""

    by: Int32s
    n: int


def who_stays(bench: Bench, entries: Entries, candidates: Int32s) -> NDArray[np.bool_]:
    """Say which of the asked examples leave each answer enough others to be a decoy as often as it is a target."""
    shift, n = _shift(bench)
    answers = _shifted(answers_of(entries, candidates), shift)
    return keep_balanced(answers, bench.asked.targets + shift, bench.asked.lots, bench.recipe.k, n)


def order(bench: Bench, entries: Entries, candidates: Int32s) -> Int32s:
    """Put candidates in a random order by which answers are decoys as much as targets."""
    shift, n = _shift(bench)
    things = _shifted(answers_of(entries, candidates), shift)
    weights = fit_weights(things, bench.asked.targets + shift, bench.recipe.k, n)
    return shuffle(bench.asked, candidates, things, weights)


def even_out(bench: Bench, pool: Pool, chosen: Int32s) -> Int32s:
    """Exchange decoys until the uses in their own set match."""
    return exchange(bench.judges, bench.asked, pool, _books(bench, answers_of(pool.entries, chosen)), chosen)


def even_out_together(bench: Bench, pool: Pool, chosen: Int32s) -> Int32s:
    """Exchange decoys until the uses match in the set of them and of those beside, where the same may stand."""
    answers = answers_of(pool.entries, chosen)
    beside = bench.asked.beside
    again = (answers[:, :, None] == beside[:, None, :]).any(axis=2)
    books = _books(bench, np.concatenate([np.where(again, -1, answers), beside], axis=1))
    return exchange(bench.judges, bench.asked, pool, books, chosen)


def _books(bench: Bench, answers: Int32s) -> Books:
    """Open the books of a set: the answers of each example, -1 where there is none."""
    shift, n = _shift(bench)
    things, there = _shifted(answers, shift), answers >= 0
    sizes = there.sum(axis=1)
    shares = 1 / np.maximum(sizes, 1)
    targets = np.bincount((bench.asked.targets + shift)[sizes > 0], minlength=n).astype(np.float64)
    used = np.bincount(things[there], np.repeat(shares, sizes), minlength=n)
    return Books(targets - used, 1 / (targets + 1), shift, shares)


def answers_of(entries: Entries, chosen: Int32s) -> Int32s:
    """Name the answers of entries; -1 stays."""
    return np.where(chosen < 0, -1, np.append(entries.answers, np.int32(-1))[chosen]).astype(np.int32)


def _shift(bench: Bench) -> Shift:
    """Give each part of the data answers of its own."""
    n = len(bench.answers.normals)
    return Shift(bench.parts[bench.asked.rows] * np.int32(n), N_PARTS * n)


def _shifted(answers: Int32s, shift: Int32s) -> Int32s:
    return np.where(answers < 0, -1, answers + shift[:, None]).astype(np.int32)
