"""Weights with which each answer is used as a decoy as much as it is a target: neutrality, by design.

Let example i choose among its candidates C(i) by a race with weights w: a is among the first k with probability about
p(i, a) = 1 - exp(-w(a) t(i)), where t(i) makes them sum to k. The weights are found by proportional fitting: again and
again each answer's weight is multiplied by the ratio of its use as a target to its expected use as a decoy, which is
the sum of p(i, a) / k over all examples i that may choose it.

Where an answer is the target of too many of the examples that could choose it (more than 1 in k + 1, or twice as many
"yes" as "no"), no weights will do: some of its examples, by lot, are to be left out.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.audits.decoys.drawing.lists import Int32s
from eyechart.hashing import Hashes
from eyechart.kernels import kernel

ROUNDS = 40
THINNINGS = 4
SLACK = 1.01  # the fit is never perfect, and what is left out is lost
Floats = NDArray[np.float64]


def fit_weights(candidates: Int32s, targets: Int32s, k: int, n_answers: int, power: float = 1.0) -> Floats:
    """Find a weight for each answer, given the candidates of each example (a row, -1 at the end) and its target.

    Less than the whole step (a power below 1) keeps weights from swinging where an answer is used as much as it can be.
    """
    wanting = candidates[:, 0] >= 0
    wanted = np.bincount(targets[wanting], minlength=n_answers).astype(np.float64)
    weights, times = wanted + 1e-3, np.ones(len(candidates))
    for _ in range(ROUNDS):
        used = expected_use(candidates, weights, times, k)
        weights = np.clip(weights * ((wanted + 1e-3) / (used + 1e-3)) ** power, 1e-9, 1e9)
    return weights


def keep_balanced(candidates: Int32s, targets: Int32s, lots: Hashes, k: int, n_answers: int) -> NDArray[np.bool_]:
    """Say which examples to keep, that no answer is a target more often than it can be a decoy."""
    kept = np.ones(len(targets), np.bool_)
    for _ in range(THINNINGS):
        left, here = np.ascontiguousarray(candidates[kept]), targets[kept]
        weights = fit_weights(left, here, k, n_answers, power=0.5)
        used = expected_use(left, weights, np.ones(len(left)), k)
        table = pl.DataFrame({"target": here, "lot": lots[kept]})
        turns = table.select(pl.col("lot").rank("ordinal").over("target")).to_series().to_numpy()
        kept[kept] = (turns <= np.ceil(SLACK * used)[here]) | (left[:, 0] < 0)
    return kept


@kernel
def expected_use(candidates: Int32s, weights: Floats, times: Floats, k: int) -> Floats:
    """Sum the chances of each answer to be chosen, an example counting one; `times` goes on from the last call."""
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
    """Find when k are expected to have arrived, by Newton's method on the logarithm of time."""
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
