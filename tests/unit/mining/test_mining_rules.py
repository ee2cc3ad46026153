"""The miner, against the definition in plain Python and cases worked by hand."""

from fractions import Fraction
from itertools import combinations, product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import DataError, SettingError
from eyechart.mining import MiningSettings, Rules, Transactions, mine, prior
from eyechart.mining import transactions as rooms
from eyechart.mining.levels import NO_ITEM
from eyechart.mining.rules import RuleBuffer
from eyechart.mining.settings import Published, Superset
from eyechart.mining.superset import undominated
from mining_reference import Rule, mine_slowly

EASY = MiningSettings(min_support=1, min_confidence=Fraction(0), superset="none")


def as_list(rules: Rules) -> list[Rule]:
    columns = (rules.items.tolist(), rules.answers.tolist(), rules.joints.tolist(), rules.supports.tolist())
    rows = zip(*columns, strict=True)
    return [Rule(tuple(item for item in items if item >= 0), *counts) for items, *counts in rows]


def data(rows: list[list[int]], answers: list[int], n_items: int = 9, n_answers: int = 4) -> Transactions:
    return Transactions.from_rows(rows, answers, n_items, n_answers)


@st.composite
def transactions(draw: st.DrawFn) -> Transactions:
    """Few items, so that they are often held together, some of them twice in an example."""
    n_items, n_answers = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    rows = [rng.integers(0, n_items, rng.integers(0, 10)).tolist() for _ in range(draw(st.integers(0, 60)))]
    copied = [row for row in rows for _ in range(rng.integers(1, 4))] if draw(st.booleans()) else rows
    return Transactions.from_rows(copied, rng.integers(0, n_answers, len(copied)).tolist(), n_items, n_answers)


ASKED = list(product(range(1, 7), get_args(Superset), get_args(Published)))


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: "-".join(map(str, asked)))
@settings(max_examples=10, deadline=None)
@given(examples=transactions(), min_support=st.integers(1, 6), tenths=st.integers(0, 10), threads=st.integers(1, 3))
def test_the_rules_are_those_of_the_definition(
    asked: tuple[int, Superset, Published], examples: Transactions, min_support: int, tenths: int, threads: int
) -> None:
    """48 settings with 10 datasets each: same rules, same counts, same order."""
    max_items, superset, published = asked
    limits = MiningSettings(max_items, min_support, Fraction(tenths, 10), superset, published, threads)

    assert as_list(mine(examples, limits)) == mine_slowly(examples, limits)


def literal_paper(rules: list[Rule]) -> list[Rule]:
    """Of every two nested rules with one answer strike the less confident, the longer where they are equal."""
    struck = set()
    for one, other in combinations(rules, 2):
        short, long = sorted((one, other), key=lambda rule: len(rule.items))
        if short.answer == long.answer and set(short.items) < set(long.items):
            struck.add(short if long.joint * short.support > short.joint * long.support else long)
    return [rule for rule in rules if rule not in struck]


@settings(max_examples=60, deadline=None)
@given(examples=transactions(), max_items=st.integers(1, 6))
def test_the_paper_filter_is_its_sentence(examples: Transactions, max_items: int) -> None:
    unfiltered = mine(examples, MiningSettings(max_items, 2, superset="none"))

    filtered = mine(examples, MiningSettings(max_items, 2, superset="two-sided"))

    assert as_list(filtered) == literal_paper(as_list(unfiltered))


def left_by(superset: Superset, *rules: tuple[tuple[int, ...], int, int]) -> list[tuple[int, ...]]:
    """Give (items, answer, confidence in hundredths), the best of each antecedent, to the filter alone."""
    items = np.full((len(rules), 6), NO_ITEM, np.uint16)
    for row, rule in zip(items, rules, strict=True):
        row[: len(rule[0])] = rule[0]
    answers, joints = (np.array([rule[column] for rule in rules], np.int32) for column in (1, 2))
    found = RuleBuffer(items, answers, joints, np.full(len(rules), 100, np.int32), np.array([len(rules)]))
    return [rules[row][0] for row in undominated(found, MiningSettings(max_items=6, superset=superset))]


# Micro-cases of the authors' filter, with what their code left of them, then what the two other readings leave.
MICRO = [
    ([((0,), 1, 50), ((0, 1), 1, 70)], [(0,), (0, 1)], [(0,), (0, 1)], [(0, 1)]),
    ([((0,), 1, 50), ((0, 1), 1, 50)], [(0,)], [(0,)], [(0,)]),
    ([((0,), 1, 80), ((0, 1), 1, 40), ((0, 1, 2), 1, 60)], [(0,), (0, 1, 2)], [(0,)], [(0,)]),
    ([((0,), 2, 50), ((0, 1), 1, 40)], [(0,), (0, 1)], [(0,), (0, 1)], [(0,), (0, 1)]),
    ([((0,), 1, 90), ((0, 1, 2), 1, 50)], [(0,), (0, 1, 2)], [(0,)], [(0,)]),
]


@pytest.mark.parametrize(("rules", "immediate", "any_subset", "paper"), MICRO)
def test_the_filters_on_the_authors_micro_cases(
    rules: list[tuple[tuple[int, ...], int, int]], immediate: object, any_subset: object, paper: object
) -> None:
    assert left_by("immediate", *rules) == immediate
    assert left_by("any-subset", *rules) == any_subset
    assert left_by("two-sided", *rules) == paper
    assert left_by("none", *rules) == [rule[0] for rule in rules]


def survivors(rows: list[list[int]], answers: list[int], **changed: object) -> set[tuple[tuple[int, ...], int]]:
    asked = MiningSettings(**{"min_support": 1, "min_confidence": Fraction(0), **changed})
    return {(rule.items, rule.answer) for rule in as_list(mine(data(rows, answers), asked))}


def nested(*counts: tuple[tuple[int, ...], int, int]) -> tuple[list[list[int]], list[int]]:
    """Make examples with exactly these items, so many with answer 1 and so many with answers of their own."""
    rows, answers = [], []
    for items, right, wrong in counts:
        rows += [list(items)] * (right + wrong)
        answers += [1] * right + [2] * wrong
    return rows, answers


def test_the_losing_answer_of_a_parent_does_not_drop() -> None:
    """{0} -> 2 beats {0} -> 1, so that {0, 1} -> 1, less sure than the latter, stays."""
    rows = [[0, 1]] * 5 + [[0]] * 15
    answers = [1, 1, 0, 2, 3] + [1] * 7 + [2] * 8
    rows, answers = [*rows, [1], [1], [1], [0]], [*answers, 0, 0, 0, 2]

    kept = survivors(rows, answers)

    assert ((0,), 2) in kept
    assert ((0, 1), 1) in kept


@pytest.mark.parametrize(("published", "expected"), [("none", 0), ("vqa-ce", 2)])
def test_a_tie_of_answers_goes_to_the_more_frequent_or_as_published_the_rarer(
    published: Published, expected: int
) -> None:
    kept = survivors([[3], [3], [3], [], [], []], [0, 1, 2, 0, 0, 1], published=published)

    assert kept == {((3,), expected)}


@pytest.mark.parametrize("published", get_args(Published))
def test_a_tie_of_equally_frequent_answers_goes_to_the_smaller_number(published: Published) -> None:
    assert survivors([[3], [3]], [2, 1], published=published) == {((3,), 1)}


def test_the_shorter_rule_goes_under_the_papers_filter_when_the_longer_is_surer() -> None:
    rows, answers = nested(((0, 1), 3, 1), ((0,), 2, 2))

    assert ((0,), 1) in survivors(rows, answers)
    assert ((0,), 1) not in survivors(rows, answers, superset="two-sided")


def test_release_counts_repeats_of_single_items_only() -> None:
    rules = mine(data([[0, 0, 0, 1], [0, 1]], [1, 1]), MiningSettings(2, 1, superset="none", published="vqa-ce"))

    assert as_list(rules) == [Rule((1,), 1, 2, 2), Rule((0, 1), 1, 2, 2), Rule((0,), 1, 2, 4)]


@pytest.mark.parametrize("max_items", [3, 4])
def test_any_shorter_rule_drops_one_two_items_longer(max_items: int) -> None:
    """{0} -> 0 drops {0, 1, 2} -> 0, though the rules between them give another answer."""
    rows = [[0, 1, 2]] * 3 + [[0, 1], [0, 2]] * 2 + [[0]] * 20 + [[1], [2]] * 50 + [[1, 2]] * 10
    answers = [0, 0, 1] + [1] * 4 + [0] * 20 + [1] * 110

    kept = survivors(rows, answers, max_items=max_items, superset="any-subset")

    assert {items for items, answer in kept if answer == 0} == {(0,)}


def test_the_confidence_threshold_is_exact() -> None:
    """3 of 10 reaches 3/10, and does not reach a billionth more."""
    examples = data([[0]] * 10, [1] * 3 + [0, 0, 2, 2, 3, 3, 3])

    assert mine(examples, MiningSettings(1, 3, Fraction(3, 10))).n == 1
    assert mine(examples, MiningSettings(1, 3, Fraction(3 * 10**8 + 1, 10**9))).n == 0


@settings(max_examples=30, deadline=None)
@given(examples=transactions(), seed=st.integers(0, 99), published=st.sampled_from(get_args(Published)))
def test_the_order_of_examples_and_the_number_of_threads_do_not_matter(
    examples: Transactions, seed: int, published: Published
) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(examples.n)
    rows = [rng.permutation(examples.items[examples.starts[e] : examples.starts[e + 1]]).tolist() for e in order]
    answers = examples.answers[order].tolist()
    shuffled = Transactions.from_rows(rows, answers, examples.n_items, examples.n_answers)

    one = mine(examples, MiningSettings(4, 2, published=published, threads=1))
    two = mine(shuffled, MiningSettings(4, 2, published=published, threads=2))

    assert all(np.array_equal(*columns) for columns in zip(one, two, strict=True))


@settings(max_examples=30, deadline=None)
@given(examples=transactions(), seed=st.integers(0, 99))
def test_other_item_numbers_give_the_same_rules(examples: Transactions, seed: int) -> None:
    names = np.random.default_rng(seed).permutation(examples.n_items).astype(np.int32)
    renamed = Transactions(
        examples.starts, names[examples.items], examples.answers, examples.n_items, examples.n_answers
    )
    asked = MiningSettings(4, 2)

    plain = {(tuple(sorted(names[list(rule.items)].tolist())), *rule[1:]) for rule in as_list(mine(examples, asked))}

    assert plain == {tuple(rule) for rule in as_list(mine(renamed, asked))}


def test_the_order_is_by_confidence_support_length_and_items() -> None:
    rng = np.random.default_rng(5)
    rows = [rng.integers(0, 8, 6).tolist() for _ in range(400)]
    found = as_list(mine(data(rows, rng.integers(0, 3, 400).tolist()), EASY))

    keys = [(-rule.confidence, -rule.support, len(rule.items), rule.items) for rule in found]

    assert len(keys) > 100
    assert keys == sorted(keys)


@pytest.mark.parametrize("superset", get_args(Superset))
@pytest.mark.parametrize("max_items", range(1, 7))
@pytest.mark.parametrize(
    "examples", [data([], []), data([[], []], [0, 1]), data([[0, 1], [1]], [0, 0])], ids=["none", "empty", "rare"]
)
def test_there_may_be_no_rule(examples: Transactions, max_items: int, superset: Superset) -> None:
    rules = mine(examples, MiningSettings(max_items, 3, superset=superset))

    assert rules.n == 0
    assert rules.items.shape == (0, max_items)


def test_the_prior_counts_the_answers() -> None:
    assert prior(data([[], [0], []], [1, -1, 1], n_answers=3)).tolist() == [0, 2, 0]


def test_many_answers_fill_more_than_one_word() -> None:
    """150 answers reach the support beside one item, more than a word has bits."""
    rows = [[0, 1, 2, 3 + answer % 5] for answer in range(150) for _ in range(4)]
    answers = [answer for answer in range(150) for _ in range(4)]
    examples = Transactions.from_rows(rows, answers, 8, 150)
    asked = MiningSettings(4, 3, Fraction(0), superset="none")

    assert as_list(mine(examples, asked)) == mine_slowly(examples, asked)


def many_rules() -> Transactions:
    rng = np.random.default_rng(0)
    rows = [rng.choice(1500, 12, replace=False).tolist() for _ in range(3000)]
    return Transactions.from_rows(rows, rng.integers(0, 2, 3000).tolist(), 1500, 2)


@pytest.mark.parametrize(("limit", "memory", "found"), [(140_000, "0.0", "more"), (30_000, "0.0", "about")])
def test_too_many_rules_are_an_error(limit: int, memory: str, found: str) -> None:
    """About 160,000 rules: above the limit, and absurdly above it."""
    with pytest.raises(SettingError, match=rf"max_rules, {memory} GB\); found {found}"):
        mine(many_rules(), MiningSettings(2, 1, max_rules=limit))


def test_the_number_of_rules_is_foretold_and_the_progress_told() -> None:
    said: list[str] = []
    done: list[float] = []

    rules = mine(many_rules(), MiningSettings(2, 1, superset="none"), done.append, said.append)

    foretold = int(said[-1].split()[2].replace(",", ""))
    assert foretold == pytest.approx(rules.n, rel=0.2)
    assert done == sorted(done)
    assert done[-1] == pytest.approx(1)


@pytest.mark.parametrize(
    "changed",
    [
        {"max_items": 0},
        {"max_items": 7},
        {"min_support": 0},
        {"min_confidence": Fraction(11, 10)},
        {"superset": "all"},
        {"published": "code"},
        {"threads": 0},
        {"max_rules": 0},
    ],
)
def test_settings_out_of_range_are_refused(changed: dict[str, object]) -> None:
    with pytest.raises(SettingError):
        MiningSettings(**changed)


@pytest.mark.parametrize(
    ("rows", "answers"),
    [([[9]], [0]), ([[-1]], [0]), ([[0]], [4]), ([[0]], [-2])],
    ids=["item", "minus", "answer", "low"],
)
def test_numbers_out_of_range_are_refused(rows: list[list[int]], answers: list[int]) -> None:
    with pytest.raises(DataError):
        data(rows, answers)


def test_starts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="2 starts that rise from 0 to 1"):
        Transactions(np.array([0, 2]), np.zeros(1, np.int32), np.zeros(1, np.int32), 1, 1)


def test_an_answer_outside_the_vocabulary_cannot_be_mined() -> None:
    with pytest.raises(DataError, match="every example"):
        mine(data([[0]], [-1]))


@pytest.mark.parametrize("n", [2**16 - 1, 2**16])
def test_more_items_than_sixteen_bits_are_refused(n: int) -> None:
    examples = Transactions(np.array([0, n]), np.arange(n, dtype=np.int32), np.zeros(1, np.int32), n, 1)

    with pytest.raises(DataError, match="fewer than 65,535 items"):
        mine(examples, MiningSettings(1, 1))


def test_more_occurrences_than_their_numbers_can_count_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "MOST_OCCURRENCES", 3)

    assert data([[0, 1], [2]], [0, 1]).n == 2
    with pytest.raises(DataError, match="found 2 with 4"):
        data([[0, 1], [2, 3]], [0, 1])
