"""The diagnosis finds planted give-aways and nothing where there is none, and its numbers are those of brute force."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits.decoys.cues import CUES, follow_cues, kind_of
from eyechart.audits.decoys.diagnosis import kinds_table
from eyechart.audits.decoys.options import chance, lay_out, pick
from eyechart.audits.decoys.usage import count_uses, measure_neutrality, prior_of, usage_table

LETTERS = st.sampled_from("abcdefg")
ITEMS = st.lists(st.lists(LETTERS, min_size=2, max_size=4, unique=True), min_size=1, max_size=12)


def offers_of(
    items: list[list[str]], questions: list[str] | None = None, targets: list[int] | None = None
) -> pl.DataFrame:
    """Make options out of lists of texts, the first being the target unless said otherwise."""
    asked = questions or ["what is it"] * len(items)
    rows = [
        (f"{n:04}", at, text, at == (targets[n] if targets else 0), asked[n], f"c{n:04}")
        for n, texts in enumerate(items)
        for at, text in enumerate(texts)
    ]
    schema = ["id", "place", "text", "target", "question", "cluster"]
    return pl.DataFrame(rows, schema=schema, orient="row")


@settings(deadline=None)
@given(ITEMS)
def test_the_prior_is_equation_2(items: list[list[str]]) -> None:
    as_target, as_decoy = Counter(item[0] for item in items), Counter()
    for item in items:
        for text in item[1:]:
            as_decoy[text] += 1 / (len(item) - 1)
    texts = pl.Series([*"abcdefg"])

    found = prior_of(texts, count_uses(lay_out(offers_of(items))))

    for text, prior in zip(texts, found, strict=True):
        seen = as_target[text] + as_decoy[text]
        assert prior == pytest.approx(as_target[text] / seen if seen else 0.5)


def test_the_prior_of_the_papers_example_ranks_the_train_first() -> None:
    """Figure 1: P is 0.2083 for a car, 0.6151 for a bus, 0.5 for a cab never seen, 0.7328 for a train."""
    uses = pl.DataFrame({"text": ["A car.", "A bus.", "A train."], "prior": [0.2083, 0.6151, 0.7328]})
    options = offers_of([["A train.", "A car.", "A bus.", "A cab."]])

    assert prior_of(options["text"], uses).to_list() == [0.7328, 0.2083, 0.6151, 0.5]
    assert pick(options, prior_of(options["text"], uses))["score"].to_list() == [1.0]


@settings(deadline=None)
@given(ITEMS, st.data())
def test_picks_are_shared_between_ties(items: list[list[str]], data: st.DataObject) -> None:
    offers = offers_of(items)
    values = data.draw(st.lists(st.integers(0, 2), min_size=offers.height, max_size=offers.height))
    left = iter(values)
    expected = []
    for item in items:
        own = [next(left) for _ in item]
        best = [at for at, value in enumerate(own) if value == max(own)]
        expected.append((0 in best) / len(best))

    assert pick(offers, pl.Series(values, dtype=pl.Float64))["score"].to_list() == pytest.approx(expected)
    assert chance(offers)["chance"].to_list() == pytest.approx([1 / len(item) for item in items])


@settings(deadline=None, max_examples=30)
@given(ITEMS)
def test_imbalance_is_half_the_distance_of_targets_from_their_expected_number(items: list[list[str]]) -> None:
    expected: Counter[str] = Counter()
    for item in items:
        expected.update(dict.fromkeys(item, 1 / len(item)))
    targets = Counter(item[0] for item in items)
    distance = sum(abs(targets[text] - expected[text]) for text in expected) / 2 / len(items)

    found = measure_neutrality(offers_of(items), 0)

    assert found["imbalance"] == pytest.approx(distance)
    assert usage_table(offers_of(items))["as_target"].sum() == len(items)


def drawn_items(n: int, seed: int) -> list[list[str]]:
    chooser = np.random.default_rng(seed)
    return [chooser.choice(list("abcdefghijkl"), 4, replace=False).tolist() for _ in range(n)]


def test_neutral_options_pass_the_test_and_foils_fail_it() -> None:
    """Of 40 neutral sets about two have p at most 0.05; foils, which are never a target, are always found."""
    neutral = [measure_neutrality(offers_of(drawn_items(200, seed)), seed)["p"] for seed in range(40)]
    foiled = [[item[0], "x", "y", "z"] for item in drawn_items(200, 0)]

    assert sum(p <= 0.05 for p in neutral) <= 6
    assert measure_neutrality(offers_of(foiled), 0)["p"] == pytest.approx(1 / 500)


def scored(
    items: list[list[str]], cue: str, questions: list[str] | None = None, targets: list[int] | None = None
) -> float:
    """Follow a cue learned on the first half of the items, and average its scores on the second."""
    offers = offers_of(items, questions, targets)
    learn = offers["id"] < f"{len(items) // 2:04}"
    _, scores = follow_cues(offers, learn)[cue]
    return float(scores.tail(len(items) - len(items) // 2)["score"].mean())  # type: ignore[arg-type]


@pytest.mark.parametrize("cue", CUES)
def test_no_cue_finds_anything_in_neutral_options(cue: str) -> None:
    items = drawn_items(2000, 3)
    targets = np.random.default_rng(5).integers(0, 4, 2000).tolist()

    assert scored(items, cue, targets=targets) == pytest.approx(0.25, abs=0.05)


def test_each_cue_finds_what_is_planted_for_it() -> None:
    items = drawn_items(400, 1)
    targets = np.random.default_rng(2).integers(0, 4, 400).tolist()

    def with_target(change: str) -> list[list[str]]:
        return [
            [text + change * (at == right) for at, text in enumerate(item)]
            for item, right in zip(items, targets, strict=True)
        ]

    numbers = [
        ["3" if at == right else text for at, text in enumerate(item)]
        for item, right in zip(items, targets, strict=True)
    ]
    alike = [["aaa bbb" if at != right else "zzz qqq" for at in range(4)] for right in targets]
    distinct = [
        [f"{text} {at}" if at != right else text for at, text in enumerate(item)]
        for item, right in zip(alike, targets, strict=True)
    ]
    assert scored(items, "position", targets=[2] * 400) == 1
    assert scored(with_target("long"), "length", targets=targets) == 1
    assert scored(with_target(" dog"), "question overlap", ["what dog is it"] * 400, targets) == 1
    assert scored(numbers, "type agreement", ["how many"] * 400, targets) == 1
    assert scored(distinct, "odd one out", targets=targets) == 1
    assert scored(with_target(" never a decoy"), "prior rule", targets=targets) > 0.95


def test_the_shortest_and_least_are_found_as_well_as_the_longest_and_most() -> None:
    items = [["a", "bbbb", "cccc", "dddd"]] * 20

    assert scored(items, "length") == 1


def test_kinds_of_text() -> None:
    texts = pl.DataFrame({"text": ["Yes.", "no", "3", "two", "12.5", "dog", "a dog", "", "没有"]})

    found = texts.select(kind_of(pl.col("text"))).to_series().to_list()

    assert found == ["yes/no", "yes/no", "number", "number", "number", "one word", "more", "one word", "one word"]


def test_kinds_of_decoys_are_distinguished_and_ties_count_half() -> None:
    offers = offers_of([["t", "easy", "hard"]] * 4).with_columns(made=pl.lit(["corr", "easy", "hard"]))
    scores = pl.DataFrame({name: np.tile([1.0, 0.0, 1.0], 4) for name in ("A", "Q+A", "I+A", "I+Q+A")})

    found = kinds_table(offers, scores, "made").filter(pl.col("solver") == "A")

    assert dict(found.select("kind", "value").iter_rows()) == {"easy": 1.0, "hard": 0.5}
    assert kinds_table(offers, scores, "no such column").is_empty()
