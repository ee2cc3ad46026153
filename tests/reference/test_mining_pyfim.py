"""The miner against pyfim, a miner in C by another author, on data of the mining field and on real questions."""

import gzip
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from eyechart.formats import read as read_dataset
from eyechart.language.items import learn_vocabulary, make_transactions
from eyechart.mining import MiningSettings, Transactions, match, mine

fim = pytest.importorskip("fim", reason="pyfim is not installed", exc_type=ImportError)

HEADS = 1_000_000  # added to an answer, so that no item is one


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
    heads = {answer: answer + HEADS for answer in set(answers)}
    tracts = [(*row, heads[answer]) for row, answer in zip(rows, answers, strict=True)]
    appear = {None: "body"} | dict.fromkeys(heads.values(), "head")
    # Confidence is left to us: pyfim compares floats.
    found = fim.arules(
        tracts, supp=-asked.min_support, conf=0, zmin=2, zmax=asked.max_items + 1, report="ab", mode="o", appear=appear
    )
    often, options = Counter(answers), defaultdict(list)
    for head, body, joint, support in found:
        answer = head - HEADS
        options[tuple(sorted(body))].append((-joint, -often[answer], answer, support))
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

    compare(examples, rows, MiningSettings(max_items, min_support, superset="none"))


def test_rules_of_10_000_real_questions_are_those_of_pyfim(real_data: Path) -> None:
    whole = read_dataset(str(real_data / "vqa2" / "vqa2_89710_with_objects.parquet"))
    asked = replace(whole, examples=whole.examples.sort("id").head(10_000))
    examples = make_transactions(asked, learn_vocabulary(asked, 10_000))
    rows = [sorted(set(row.tolist())) for row in np.split(examples.items, examples.starts[1:-1])]

    compare(examples, rows, MiningSettings(superset="none"))


def compare(examples: Transactions, rows: list[list[int]], asked: MiningSettings) -> None:
    """Hold the rules before the superset filter, and their matches, to those of pyfim."""
    rules = mine(examples, asked)

    columns = (rules.items.tolist(), rules.answers.tolist(), rules.joints.tolist(), rules.supports.tolist())
    ours = {tuple(item for item in items if item >= 0): tuple(counts) for items, *counts in zip(*columns, strict=True)}
    assert len(ours) > 500
    assert ours == best_rules(rows, examples.answers.tolist(), asked)
    assert np.array_equal(match(rules, examples).supports, rules.supports)
