"""Neutral drawing: weights by which each answer is a decoy as much as it is a target."""

import numpy as np
import pytest

from eyechart.audits.decoys.balance import expected_use, fit_weights, keep_balanced

N, K = 3_000, 3


@pytest.fixture(scope="module")
def candidates() -> np.ndarray:
    """Let each of many examples choose among 12 of 40 answers; some have only two candidates."""
    draw = np.random.default_rng(0)
    rows = np.stack([draw.permutation(40)[:12] for _ in range(N)]).astype(np.int32)
    rows[::50, 2:] = -1
    return rows


def test_expected_use_is_what_races_give(candidates: np.ndarray) -> None:
    draw = np.random.default_rng(1)
    weights = draw.exponential(size=40) + 0.05
    used = np.zeros(40)
    for _ in range(30):
        arrivals = np.where(candidates < 0, np.inf, draw.exponential(size=candidates.shape) / weights[candidates])
        first = np.take_along_axis(candidates, np.argsort(arrivals, axis=1)[:, :K], axis=1)
        kept = first >= 0
        np.add.at(used, first[kept], (kept / kept.sum(axis=1, keepdims=True))[kept] / 30)

    expected = expected_use(candidates, weights, np.ones(N), K)

    assert expected.sum() == pytest.approx(N, rel=1e-3)
    assert expected == pytest.approx(used, rel=0.05, abs=3)


def test_weights_make_the_use_as_decoy_follow_the_use_as_target(candidates: np.ndarray) -> None:
    shares = 1 / np.arange(1, 41)
    targets = np.random.default_rng(2).choice(40, N, p=shares / shares.sum()).astype(np.int32)
    wanted = np.bincount(targets, minlength=40)
    # The most frequent target is a candidate in 12 of 40 examples only, where it can be one decoy of three.
    feasible = np.minimum(wanted, 0.3 * N / K)

    used = expected_use(candidates, fit_weights(candidates, targets, K, 40), np.ones(N), K)

    assert used[wanted < 0.25 * N / K] == pytest.approx(feasible[wanted < 0.25 * N / K], rel=0.25)
    assert used[0] > 0.9 * feasible[0]


def test_an_answer_that_is_never_a_target_is_hardly_a_decoy(candidates: np.ndarray) -> None:
    targets = np.random.default_rng(3).integers(0, 39, N).astype(np.int32)
    whole = np.ascontiguousarray(candidates[candidates[:, 5] >= 0])

    used = expected_use(whole, fit_weights(whole, targets[: len(whole)], K, 40), np.ones(len(whole)), K)

    assert used[39] < 0.01 * N / 40


def test_examples_without_candidates_are_left_out() -> None:
    nobody = np.full((4, 3), -1, np.int32)

    assert expected_use(nobody, fit_weights(nobody, np.zeros(4, np.int32), K, 2), np.ones(4), K).tolist() == [0, 0]


def keys(n: int) -> np.ndarray:
    return np.random.default_rng(4).integers(0, 2**63, n, dtype=np.uint64)


def test_twice_as_many_of_one_answer_as_of_its_only_alternative_are_halved() -> None:
    targets = np.array([0] * 200 + [1] * 100, np.int32)
    candidates = (1 - targets)[:, None]

    kept = keep_balanced(candidates, targets, keys(300), K, 2)

    assert np.bincount(targets[kept]).tolist() == pytest.approx([100, 100], abs=4)


def test_an_answer_is_kept_as_often_as_the_others_can_choose_it() -> None:
    """Of 5 answers to the same questions one decoy in three can be the frequent one, so 3 t <= n - t must hold."""
    targets = np.repeat(np.arange(5), [600, 100, 100, 100, 100]).astype(np.int32)
    others = np.stack([np.delete(np.arange(5), target) for target in targets]).astype(np.int32)

    kept = np.bincount(targets[keep_balanced(others, targets, keys(1_000), K, 5)])

    assert kept[0] == pytest.approx(400 / 3, rel=0.05)
    assert kept[1:].tolist() == pytest.approx([100] * 4, abs=5)


def test_balanced_examples_and_those_without_candidates_are_all_kept() -> None:
    targets = np.tile(np.arange(5), 100).astype(np.int32)
    others = np.stack([np.delete(np.arange(5), target) for target in targets]).astype(np.int32)
    others[:7] = -1

    assert keep_balanced(others, targets, keys(500), K, 5).mean() > 0.97
    assert keep_balanced(others, targets, keys(500), K, 5)[:7].all()
