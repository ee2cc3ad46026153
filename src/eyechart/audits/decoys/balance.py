"""Neutral options by design: each part of the data uses every answer as a decoy as much as it does as a target.

First, weights. Let example i choose among its candidates C(i) by a race with weights w: a is among the first k with
probability about p(i, a) = 1 - exp(-w(a) t(i)), where t(i) makes them sum to k. The weights are found by proportional
fitting: again and again each answer's weight is multiplied by the ratio of its use as a target to its expected use as a
decoy, which is the sum of p(i, a) / k over all examples i that may choose it. Where an answer is the target of too many
of the examples that could choose it (more than 1 in k + 1, or twice as many "yes" as "no"), no weights will do: some of
its examples, chosen at random, are left out.

Then, exchange. Weights balance the uses on average; luck, and filters between decoys, leave a remainder that is similar
in all parts of the data and so can be learned. With T(a) the uses as target, D(a) those as decoy (1 / k of each example
with k decoys) and r = T - D, decoys are replaced by other candidates of their example as long as

    sum over a of r(a)^2 / (T(a) + 1)

falls: an example of k decoys that replaces b by a changes r(a) by -1/k and r(b) by 1/k. Where two sources are to be
joined, r is that of the joint set, k counts the decoys of both, and those of one source are exchanged.
"""

from typing import NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.audits.decoys.candidates import Entries, Recipients, draw_uniform
from eyechart.audits.decoys.filters import EQUAL, Filters, goes_with
from eyechart.audits.decoys.inputs import DrawingInputs
from eyechart.audits.decoys.texts import Int32s, Int64s
from eyechart.base.hashing import Hashes
from eyechart.base.kernels import kernel

ROUNDS = 40
THINNINGS = 4
SLACK = 1.01  # the fit is never perfect, and what is left out is lost
SWEEPS = 30
LEAST = 1e-9  # by how much the sum must fall
SECOND_KEY = 1 << 40  # a choice among candidates must not repeat the draws that put them in order
Floats = NDArray[np.float64]


class CandidatePool(NamedTuple):
    """The candidates of each example: entries of its source, followed from number `fillers` on by fillers."""

    entries: Entries
    fillers: int
    candidates: Int32s  # -1 is none


class Balance(NamedTuple):
    """How much each answer still lacks as a decoy (r), and the candidates that can replace decoys."""

    filters: Filters
    beside: Int32s
    pool: CandidatePool
    lacking: Floats  # by answer; each part of the data has its own
    weights: Floats  # of a unit that an answer lacks
    offsets: Int32s  # of each example: where the answers of its part begin
    shares: Floats  # of each example: 1 / k

    @classmethod
    def of(cls, inputs: DrawingInputs, pool: CandidatePool, answers: Int32s) -> Self:
        """Count how much answers lack in a set of decoys: the answers of each example, -1 where there is none."""
        offsets, n = inputs.by_part()
        numbers, present = _offset(answers, offsets), answers >= 0
        sizes = present.sum(axis=1)
        shares = 1 / np.maximum(sizes, 1)
        targets = np.bincount((inputs.recipients.targets + offsets)[sizes > 0], minlength=n).astype(np.float64)
        used = np.bincount(numbers[present], np.repeat(shares, sizes), minlength=n)
        beside = inputs.recipients.beside
        return cls(inputs.filters, beside, pool, targets - used, 1 / (targets + 1), offsets, shares)


def balanced_examples(inputs: DrawingInputs, entries: Entries, candidates: Int32s) -> NDArray[np.bool_]:
    """Choose examples such that each answer can be a decoy of others as often as it is a target."""
    offsets, n = inputs.by_part()
    answers = _offset(entries.answers_of(candidates), offsets)
    return keep_balanced(answers, inputs.recipients.targets + offsets, inputs.recipients.keys, inputs.settings.k, n)


def shuffle_neutrally(inputs: DrawingInputs, entries: Entries, candidates: Int32s) -> Int32s:
    """Put candidates in a random order that makes answers decoys as often as targets."""
    offsets, n = inputs.by_part()
    answers = _offset(entries.answers_of(candidates), offsets)
    weights = fit_weights(answers, inputs.recipients.targets + offsets, inputs.settings.k, n)
    return _shuffle(inputs.recipients, candidates, answers, weights)


def even_out(inputs: DrawingInputs, pool: CandidatePool, chosen: Int32s) -> Int32s:
    """Exchange decoys until the uses in their own set match."""
    return _exchange(Balance.of(inputs, pool, pool.entries.answers_of(chosen)), chosen)


def even_out_together(inputs: DrawingInputs, pool: CandidatePool, chosen: Int32s) -> Int32s:
    """Exchange decoys until the uses match in the joint set with the decoys `beside`, which may repeat them."""
    answers, beside = pool.entries.answers_of(chosen), inputs.recipients.beside
    again = (answers[:, :, None] == beside[:, None, :]).any(axis=2)
    together = np.concatenate([np.where(again, -1, answers), beside], axis=1)
    return _exchange(Balance.of(inputs, pool, together), chosen)


def _offset(answers: Int32s, offsets: Int32s) -> Int32s:
    """Renumber the answers separately for each part of the data; -1 stays."""
    return np.where(answers < 0, -1, answers + offsets[:, None]).astype(np.int32)


def fit_weights(candidates: Int32s, targets: Int32s, k: int, n_answers: int, power: float = 1.0) -> Floats:
    """Find a weight for each answer, given the candidates of each example (one row, padded by -1) and its target.

    A damped step (a power below 1) keeps weights from oscillating where an answer is used as much as it can be.
    """
    wanting = candidates[:, 0] >= 0
    wanted = np.bincount(targets[wanting], minlength=n_answers).astype(np.float64)
    weights, times = wanted + 1e-3, np.ones(len(candidates))
    for _ in range(ROUNDS):
        used = expected_use(candidates, weights, times, k)
        weights = np.clip(weights * ((wanted + 1e-3) / (used + 1e-3)) ** power, 1e-9, 1e9)
    return weights


def keep_balanced(candidates: Int32s, targets: Int32s, keys: Hashes, k: int, n_answers: int) -> NDArray[np.bool_]:
    """Choose the examples to keep such that no answer is a target more often than it can be a decoy."""
    keep = np.ones(len(targets), np.bool_)
    for _ in range(THINNINGS):
        remaining, remaining_targets = np.ascontiguousarray(candidates[keep]), targets[keep]
        weights = fit_weights(remaining, remaining_targets, k, n_answers, power=0.5)
        used = expected_use(remaining, weights, np.ones(len(remaining)), k)
        table = pl.DataFrame({"target": remaining_targets, "key": keys[keep]})
        turns = table.select(pl.col("key").rank("ordinal").over("target")).to_series().to_numpy()
        keep[keep] = (turns <= np.ceil(SLACK * used)[remaining_targets]) | (remaining[:, 0] < 0)
    return keep


@kernel
def expected_use(candidates: Int32s, weights: Floats, times: Floats, k: int) -> Floats:
    """Sum each answer's chances of being chosen, an example counting 1; `times` starts from the last call's values."""
    used = np.zeros(len(weights))
    for i in range(len(candidates)):
        n = 0
        while n < candidates.shape[1] and candidates[i, n] >= 0:
            n += 1
        if n > k:
            times[i] = _finish(candidates[i, :n], weights, times[i], k)
        for a in candidates[i, :n]:
            used[a] += 1 / n if n <= k else (1 - np.exp(-weights[a] * times[i])) / k
    return used


@kernel
def _finish(candidates: Int32s, weights: Floats, start: float, k: int) -> float:
    """Find the time by which k candidates are expected, by Newton's method on the logarithm of time."""
    time = start
    for _ in range(20):
        arrived, rate = 0.0, 0.0
        for a in candidates:
            away = np.exp(-weights[a] * time)
            arrived += 1 - away
            rate += weights[a] * time * away
        step = (k - arrived) / max(rate, 1e-12)
        time *= np.exp(min(max(step, -3.0), 3.0))
        if abs(step) < 1e-3:
            break
    return time


@kernel
def _shuffle(examples: Recipients, candidates: Int32s, answers: Int32s, weights: Floats) -> Int32s:
    """Put the candidates of each example in the order of a race, by the weights of their answers."""
    ordered = candidates.copy()
    arrivals = np.empty(candidates.shape[1])
    for i in range(len(candidates)):
        n = 0
        while n < candidates.shape[1] and candidates[i, n] >= 0:
            answer = answers[i, n]
            arrivals[n] = -np.log(draw_uniform(examples.keys[i], SECOND_KEY + np.int64(answer))) / weights[answer]
            n += 1
        ordered[i, :n] = candidates[i, :n][np.argsort(arrivals[:n])]
    return ordered


@kernel
def _exchange(balance: Balance, chosen: Int32s) -> Int32s:
    """Sweep over all examples until none has a better decoy; fillers are exchanged only for fillers."""
    exchanged = chosen.copy()
    taken = np.zeros((3, EQUAL + 1), np.int64)  # by the filters, which is not counted a second time
    for _ in range(SWEEPS):
        moved = 0
        for i in range(len(exchanged)):
            for column in range(np.sum(exchanged[i] >= 0)):
                moved += _improve(balance, exchanged, taken, i, column)
        if moved == 0:
            break
    return exchanged


@kernel
def _improve(balance: Balance, chosen: Int32s, taken: Int64s, i: int, column: int) -> int:
    """Replace a decoy by the best candidate, and return the number of replacements (0 or 1).

    A decoy that is also in the other set counts once for both: it is not replaced, and none is replaced by it.
    """
    entry, pool, share = chosen[i, column], balance.pool, balance.shares[i]
    answers, other_set = pool.entries.answers, balance.beside[i]
    if np.any(other_set == answers[entry]):
        return 0
    others = chosen[i][(chosen[i] >= 0) & (chosen[i] != entry)]
    best, least = entry, -_change(balance, i, entry, share) - LEAST
    for candidate in pool.candidates[i]:
        if candidate < 0 or candidate == entry or (candidate < pool.fillers) != (entry < pool.fillers):
            continue
        change = _change(balance, i, candidate, -share)
        if change >= least or np.any(other_set == answers[candidate]):
            continue
        if goes_with(balance.filters, other_set, answers[others], answers[candidate], taken):
            best, least = candidate, change
    if best == entry:
        return 0
    balance.lacking[answers[entry] + balance.offsets[i]] += share
    balance.lacking[answers[best] + balance.offsets[i]] -= share
    chosen[i, column] = best
    return 1


@kernel
def _change(balance: Balance, i: int, entry: int, by: float) -> float:
    """Compute how the sum changes when an answer's r changes."""
    answer = balance.pool.entries.answers[entry] + balance.offsets[i]
    return float(balance.weights[answer] * by * (2 * balance.lacking[answer] + by))
