"""The miner against pyfim, a miner in C by another author, on data that many miners were measured with."""

import gzip
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from eyechart.mining import MiningSettings, Transactions, match, mine

fim = pytest.importorskip("fim", reason="pyfim is not installed", exc_type=ImportError)


def read(path: Path, classes: set[int]) -> tuple[list[list[int]], list[int]]:
    """Read one list of numbers a line, of which one is the class."""
    with gzip.open(path, "rt", encoding="ascii") as lines:
        rows = [[int(word) for word in line.split()] for line in lines]
    answers = [next(number for number in row if number in classes) for row in rows]
    return [[number for number in row if number not in classes] for row in rows], answers


def best_rules(
    rows: list[list[int]], answers: list[int], asked: MiningSettings
) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Mine with pyfim and keep the best answer of each antecedent, under the miner's rule for ties."""
    heads = {answer: answer + 1000 for answer in set(answers)}
    tracts = [(*row, heads[answer]) for row, answer in zip(rows, answers, strict=True)]
    appear = {None: "body"} | dict.fromkeys(heads.values(), "head")
    # Confidence is left to us: pyfim compares floats.
    found = fim.arules(
        tracts, supp=-asked.min_support, conf=0, zmin=2, zmax=asked.max_items + 1, report="ab", mode="o", appear=appear
    )
    options = defaultdict(list)
    for head, body, joint, support in found:
        answer = head - 1000
        options[tuple(sorted(body))].append((-joint, -answers.count(answer), answer, support))
    best = {body: min(choices) for body, choices in options.items() if body}
    return {
        body: (answer, -joint, support)
        for body, (joint, _, answer, support) in best.items()
        if Fraction(-joint, support) >= asked.min_confidence
    }


@pytest.mark.parametrize(
    ("name", "classes", "min_support", "max_items"),
    [("mushroom", {1, 2}, 400, 4), ("mushroom", {1, 2}, 1200, 6), ("chess", {74, 75}, 700, 3)],
)
def test_unfiltered_rules_are_those_of_pyfim(
    real_data: Path, name: str, classes: set[int], min_support: int, max_items: int
) -> None:
    rows, answers = read(real_data / "fimi" / f"{name}.dat.gz", classes)
    examples = Transactions.from_rows(rows, answers, 200, 200)
    asked = MiningSettings(max_items, min_support, superset="none")

    rules = mine(examples, asked)

    columns = (rules.items.tolist(), rules.answers.tolist(), rules.joints.tolist(), rules.supports.tolist())
    ours = {tuple(item for item in items if item >= 0): tuple(counts) for items, *counts in zip(*columns, strict=True)}
    assert len(ours) > 500
    assert ours == best_rules(rows, answers, asked)
    assert np.array_equal(match(rules, examples).supports, rules.supports)
