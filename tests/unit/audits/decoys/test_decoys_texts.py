"""Texts have in common what a walk over all pairs of their runs or words finds, whatever the script."""

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits.decoys.cues import follow_cues, kind_of
from eyechart.audits.decoys.options import pick
from eyechart.audits.decoys.texts import (
    code_texts,
    known_words,
    runs_of,
    shared_with_others,
    shared_with_question,
    words_of,
)

OFTEN = st.sampled_from("abAB  12'.,?ßİΣς猫é😀\t\x1c")
# Letters that this Python does not know yet might have a lower case elsewhere.
TEXTS = st.text(st.one_of(OFTEN, OFTEN, st.characters(exclude_categories=("Cs", "Cn"))), max_size=9)
EXAMPLES = st.lists(st.lists(TEXTS, min_size=1, max_size=5), min_size=1, max_size=6)
QUESTIONS = st.one_of(st.none(), TEXTS, st.sampled_from(["What is a b?", "how many", "how many 1 2"]))
MARKS = {"'": " ' ", '"': "", ".": " . ", "<br />": " ", ",": " , ", "(": " ( ", ")": " ) ", "!": " ! ", "?": " ? "}


def runs(text: str | None) -> set[str]:
    padded = "" if text is None else f" {text.lower()} "
    return {padded[at : at + 3] for at in range(len(padded) - 2)}


def words(text: str | None) -> list[str]:
    text = (text or "").lower()
    for mark, filler in (MARKS | {";": " ", ":": " "}).items():
        text = text.replace(mark, filler)
    return text.split()


def likeness(options: Sequence[str], at: int) -> Fraction:
    """Average over the runs of an option the others that have the run."""
    own = runs(options[at])
    others = [runs(text) for place, text in enumerate(options) if place != at]
    return Fraction(sum(run in other for run in own for other in others), max(len(own), 1))


def overlap(option: str, question: str | None) -> Fraction:
    own = set(words(option))
    return Fraction(len(own & set(words(question))), max(len(own), 1))


def offers_of(
    examples: Sequence[Sequence[str]], questions: Sequence[str | None], targets: Sequence[int]
) -> pl.DataFrame:
    rows = [
        (f"{n:04}", at, text, at == targets[n] % len(options), questions[n])
        for n, options in enumerate(examples)
        for at, text in enumerate(options)
    ]
    schema = {"id": pl.String, "place": pl.Int64, "text": pl.String, "target": pl.Boolean, "question": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


@settings(deadline=None)
@given(EXAMPLES)
def test_options_share_the_runs_that_a_walk_over_all_pairs_finds(examples: list[list[str]]) -> None:
    texts = pl.Series([text for options in examples for text in options], dtype=pl.String)
    different, codes = code_texts(texts)
    starts = np.cumsum([0, *map(len, examples)])

    found = runs_of(different)
    shared = shared_with_others(found, codes, starts)

    share = shared / np.maximum(found.sizes[codes], 1)
    assert found.sizes[codes].tolist() == [len(runs(text)) for text in texts]
    assert share.tolist() == [float(likeness(options, at)) for options in examples for at in range(len(options))]


@settings(deadline=None)
@given(st.lists(st.tuples(TEXTS, QUESTIONS), min_size=1, max_size=12))
def test_options_share_the_words_that_both_texts_have(pairs: list[tuple[str, str | None]]) -> None:
    options, asked = (pl.Series(column, dtype=pl.String) for column in zip(*pairs, strict=True))
    known = known_words(options)
    each = np.arange(len(pairs), dtype=np.int32)

    found = words_of(options, known)
    shared = shared_with_question(found, each, words_of(asked, known), each)

    assert found.sizes.tolist() == [len(set(words(text))) for text in options]
    assert shared.tolist() == [len(set(words(text)) & set(words(question))) for text, question in pairs]


def test_texts_without_a_run_or_a_word_share_nothing() -> None:
    texts = pl.Series(["", None, " ", "a"], dtype=pl.String)

    found = runs_of(texts)

    assert found.sizes.tolist() == [0, 0, 1, 1]
    assert shared_with_others(found, np.arange(4, dtype=np.int32), np.array([0, 4])).tolist() == [0, 0, 0, 0]
    assert words_of(texts, known_words(texts)).sizes.tolist() == [0, 0, 0, 1]
    assert runs_of(texts.clear()).starts.tolist() == [0]


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pl.Series([f"text {n % 7} of {n}" for n in range(25)])
    whole, said = runs_of(texts), words_of(texts, known_words(texts))

    monkeypatch.setattr("eyechart.language.questions.BLOCK", 4)

    for one, other in ((runs_of(texts), whole), (words_of(texts, known_words(texts)), said)):
        assert one.starts.tolist() == other.starts.tolist()
        assert one.items.tolist() == other.items.tolist()


def share_of_picks(values: Sequence[Fraction], target: int) -> Fraction:
    best = [at for at, value in enumerate(values) if value == max(values)]
    return Fraction(target in best, len(best))


def usual_kinds(examples: list[list[str]], questions: list[str | None], targets: list[int]) -> dict[str, str]:
    """Name the kind that targets of every other example mostly have for each opening, by the alphabet where equal."""
    seen: dict[str, Counter[str]] = {}
    for options, question, target in list(zip(examples, questions, targets, strict=True))[::2]:
        seen.setdefault(" ".join(words(question)[:2]), Counter())[kind(options[target % len(options)])] += 1
    return {opening: min(kinds, key=lambda name: (-kinds[name], name)) for opening, kinds in seen.items()}


def kind(text: str) -> str:
    return str(pl.select(kind_of(pl.lit(text))).item())


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.lists(TEXTS, min_size=2, max_size=4), QUESTIONS, st.integers(0, 3)), min_size=2, max_size=6)
)
def test_cues_score_as_their_best_rule_does_by_brute_force(
    items: list[tuple[list[str], str | None, int]],
) -> None:
    """Learned from every other example; where rules are equally right, either may be taken."""
    examples, questions, targets = ([*column] for column in zip(*items, strict=True))
    usual = usual_kinds(examples, questions, targets)
    rules: dict[str, list[Callable[[int, int], Fraction]]] = {
        "odd one out": [lambda n, at, sign=sign: sign * likeness(examples[n], at) for sign in (1, -1)],
        "question overlap": [
            lambda n, at, sign=sign: sign * overlap(examples[n][at], questions[n]) for sign in (1, -1)
        ],
        "length": [lambda n, at, sign=sign: Fraction(sign * len(examples[n][at])) for sign in (1, -1)],
        "position": [lambda _, at, place=place: Fraction(at == place) for place in range(max(map(len, examples)))],
        "type agreement": [
            lambda n, at: Fraction(kind(examples[n][at]) == usual.get(" ".join(words(questions[n])[:2])))
        ],
    }
    offers = offers_of(examples, questions, targets)

    found = follow_cues(offers, offers["id"].str.to_integer() % 2 == 0)

    for cue, values in rules.items():
        scores = [
            [
                share_of_picks([value(n, at) for at in range(len(options))], targets[n] % len(options))
                for n, options in enumerate(examples)
            ]
            for value in values
        ]
        right = [sum(each[::2]) for each in scores]
        best = [each for each, n in zip(scores, right, strict=True) if n == max(right)]
        _, picked = found[cue]
        assert picked["score"].to_list() in [[float(score) for score in each] for each in best]


def test_nan_is_picked_only_where_nothing_else_is_offered() -> None:
    offers = offers_of([["a", "b", "c"], ["a", "b"]], [None, None], [0, 1])
    values = pl.Series([float("nan"), -1.0, -2.0, float("nan"), float("nan")])

    assert pick(offers, values)["score"].to_list() == [0.0, 0.5]
