"""An engine mines and matches what threads do, with the kernels that are compiled for them."""

import numpy as np
import pytest

from eyechart.mining import Accepted, MiningSettings, Transactions, match, mine
from eyechart.runs.contract import Backwards

N_ITEMS, N_ANSWERS = 30, 4


@pytest.fixture
def examples() -> Transactions:
    rng = np.random.default_rng(8)
    rows = [rng.integers(0, N_ITEMS, rng.integers(0, 12)).tolist() for _ in range(300)]
    return Transactions.from_rows(rows, rng.integers(0, N_ANSWERS, 300).tolist(), N_ITEMS, N_ANSWERS)


def test_rules_and_matches_of_an_engine_are_those_of_threads(examples: Transactions) -> None:
    asked, accepted = MiningSettings(3, 2), Accepted.only(examples.answers)
    rules = mine(examples, asked)
    matches = match(rules, examples, accepted)
    compiled: list[str] = []

    same_rules = mine(examples, asked, announce=compiled.append, engine=Backwards())
    same_matches = match(rules, examples, accepted, announce=compiled.append, engine=Backwards())

    assert rules.n > 100
    assert all(np.array_equal(*columns) for columns in zip(rules, same_rules, strict=True))
    assert all(np.array_equal(*columns) for columns in zip(matches, same_matches, strict=True))
    assert [line for line in compiled if "compiling" in line] == []
