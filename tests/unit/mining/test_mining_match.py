"""The matcher, against looking at every rule and example."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import DataError
from eyechart.mining import Accepted, MiningSettings, Rules, Transactions, match, mine

N_ITEMS, N_ANSWERS = 8, 4


def draw_examples(rng: np.random.Generator, n: int) -> Transactions:
    rows = [rng.integers(0, N_ITEMS, rng.integers(0, 9)).tolist() for _ in range(n)]
    return Transactions.from_rows(rows, rng.integers(0, N_ANSWERS, n).tolist(), N_ITEMS, N_ANSWERS)


def sets(examples: Transactions) -> list[set[int]]:
    return [set(row.tolist()) for row in np.split(examples.items, examples.starts[1:-1])][: examples.n]


def meet(rules: Rules, examples: Transactions) -> np.ndarray:
    """One row an example, one column a rule."""
    antecedents = [{item for item in row if item >= 0} for row in rules.items.tolist()]
    met = [[antecedent <= row for antecedent in antecedents] for row in sets(examples)]
    return np.array(met, bool).reshape(examples.n, rules.n)


def first(met: np.ndarray) -> list[int]:
    return [next((rule for rule, holds in enumerate(row) if holds), -1) for row in met]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 200), st.integers(1, 3))
def test_matches_are_those_of_looking_at_everything(seed: int, max_items: int, n: int, threads: int) -> None:
    rng = np.random.default_rng(seed)
    rules = mine(draw_examples(rng, 80), MiningSettings(max_items, int(rng.integers(1, 4))))
    examples = draw_examples(rng, n)
    lists = [rng.integers(-1, N_ANSWERS + 2, rng.integers(0, 4)).tolist() for _ in range(n)]
    met = meet(rules, examples)
    right = met & np.array([[a in accepts for a in rules.answers.tolist()] for accepts in lists], bool).reshape(
        met.shape
    )

    found = match(rules, examples, Accepted.from_rows(lists), threads)

    assert found.supports.tolist() == met.sum(axis=0).tolist()
    assert found.correct.tolist() == right.sum(axis=0).tolist()
    assert found.counts.tolist() == met.sum(axis=1).tolist()
    assert found.best.tolist() == first(met)
    assert found.best_correct.tolist() == first(right)


def test_matching_the_mined_examples_gives_the_mined_counts() -> None:
    examples = draw_examples(np.random.default_rng(3), 2000)
    rules = mine(examples, MiningSettings(4, 5, Fraction(1, 4)))

    found = match(rules, examples)

    assert rules.n > 50
    assert np.array_equal(found.supports, rules.supports)
    assert np.array_equal(found.correct, rules.joints)


def test_an_item_that_only_the_rules_know_matches_nothing() -> None:
    rules = mine(Transactions.from_rows([[5]], [0], 6, 1), MiningSettings(1, 1))

    found = match(rules, Transactions.from_rows([[0]], [0], 1, 1))

    assert found.supports.tolist() == [0]
    assert found.best.tolist() == [-1]


def test_rules_may_be_longer_than_one_word_of_examples_is_wide() -> None:
    """64 and 65 examples end at and after a word; each must be found once."""
    rules = mine(Transactions.from_rows([[0, 1]] * 3, [0] * 3, 2, 1), MiningSettings(2, 1, superset="none"))

    for n in (63, 64, 65, 128, 129):
        assert match(rules, Transactions.from_rows([[0, 1]] * n, [0] * n, 2, 1)).supports.tolist() == [n] * rules.n


def test_a_missing_list_of_accepted_answers_is_refused() -> None:
    examples = Transactions.from_rows([[0], [0]], [0, 0], 1, 1)

    with pytest.raises(DataError, match="one list"):
        match(mine(examples, MiningSettings(1, 1)), examples, Accepted.from_rows([[0]]))


@pytest.mark.parametrize("n", [2**16 - 1, 2**16])
def test_rules_of_too_many_items_are_refused(n: int) -> None:
    examples = Transactions(np.array([0, n]), np.arange(n, dtype=np.int32), np.zeros(1, np.int32), n, 1)
    zeros = np.zeros(n, np.int32)
    rules = Rules(np.arange(n, dtype=np.int32)[:, None], np.ones(n, np.int8), zeros, zeros + 1, zeros + 1)

    with pytest.raises(DataError, match="fewer than 65,535 items"):
        match(rules, examples)
