"""The filters between answers: the authors' cases in both modes, the guards, and a literal implementation."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eyechart.audits.decoys.filters import (
    ALIKE,
    AMOUNT,
    CONTAINS,
    FINE,
    POLAR,
    SIMILAR,
    Filters,
    answer_similarity,
    judge_pair,
)
from eyechart.audits.decoys.lexicon import FEW, NumberedAnswers, make_lexicon
from eyechart.audits.decoys.settings import DecoysSettings
from eyechart.language.wordnet import Taxonomy, word_similarity


def table(answers: list[str], humans: list[list[str]] | None = None) -> pl.DataFrame:
    examples = pl.DataFrame({"id": [str(at) for at in range(len(answers))], "answer": answers})
    return examples if humans is None else examples.with_columns(pl.Series("answers", humans))


def judge(first: str, second: str, settings: DecoysSettings, humans: list[list[str]] | None = None) -> int:
    """Say which filter keeps two answers apart."""
    rows = [first, second] + [""] * (len(humans or []) - 2)
    examples = table(rows, humans)
    answers = NumberedAnswers.of(examples)
    one, two = answers.reference[:2]
    lexicon, _ = make_lexicon(answers, examples, settings)
    return int(judge_pair(Filters.of(lexicon), one, two))


RELEASE = DecoysSettings(published="qavg")
PAPER = DecoysSettings(guards=False)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("man.", "woman.", CONTAINS),  # characters, not words
        ("no.", "snow.", CONTAINS),
        ("pony tail.", "ponytail.", CONTAINS),  # joined by nothing
        ("daytime.", "during the daytime.", CONTAINS),
        ("2.", "two dogs.", CONTAINS),  # digits are spelt out
        ("red car", "red bus.", CONTAINS),  # without a full stop the last word is lost
        ("cat", "truck.", CONTAINS),  # and of one word nothing remains, which is in everything
        ("sofa.", "couch.", SIMILAR),
        ("two.", "three.", FINE),  # exactly 0.9, which is not too much
        ("lady.", "woman.", FINE),
        ("qwertz.", "asdf.", FINE),  # not in WordNet: 0
        ("yes.", "truck.", FINE),  # the authors have no guards
    ],
)
def test_the_released_filters_with_their_quirks(first: str, second: str, expected: int) -> None:
    assert judge(first, second, RELEASE) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("man", "woman", FINE),
        ("no", "snow", FINE),
        ("man", "old man", CONTAINS),
        ("old man", "a man", CONTAINS),
        ("pony tail", "ponytail", CONTAINS),
        ("daytime", "during the daytime", CONTAINS),
        ("red car", "red tree", FINE),
        ("cat", "truck", FINE),
        ("sofa", "couch", SIMILAR),
        ("two", "three", FINE),
        ("lady", "woman", FINE),
        ("犬", "猫", FINE),
    ],
)
def test_clean_filters_look_at_whole_words(first: str, second: str, expected: int) -> None:
    assert judge(first, second, PAPER) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("yes", "no", FINE),
        ("yes", "yeah", POLAR),
        ("yes", "red", POLAR),
        ("red", "nope", POLAR),
        ("7", "8", FINE),
        ("2.0", "2", AMOUNT),
        ("several", "4", AMOUNT),
        ("4", "lots", AMOUNT),
        ("several", "red", FINE),
        ("red", "4", FINE),
    ],
)
def test_guards_know_yes_and_no_and_numbers(first: str, second: str, expected: int) -> None:
    assert judge(first, second, DecoysSettings()) == expected


def test_numbers_are_no_synonyms_whatever_wordnet_says() -> None:
    assert judge("2", "3", DecoysSettings(guards=False, threshold=0.8)) == SIMILAR
    assert judge("2", "3", DecoysSettings(threshold=0.8)) == FINE


HUMANS = [["lady", "woman"], ["woman", "lady"], ["red", "maroon"], ["blue", "navy"], ["dog", "puppy"]] * (FEW // 4)


def test_answers_that_people_give_to_the_same_question_are_alike() -> None:
    assert judge("lady", "woman", DecoysSettings(), HUMANS) == ALIKE
    assert judge("lady", "blue", DecoysSettings(), HUMANS) == FINE


def test_where_questions_have_one_answer_vectors_from_elsewhere_say_what_is_alike(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("lady 1 0.1\nwoman 1 0\nblue 0 1\n", encoding="utf-8")

    assert judge("lady", "woman", DecoysSettings()) == FINE
    assert judge("lady", "woman", DecoysSettings(similarity=str(path))) == ALIKE
    assert judge("lady", "blue", DecoysSettings(similarity=str(path))) == FINE


def test_the_released_filters_warn_of_answers_without_full_stops() -> None:
    examples = table(["red.", "blue", "green"])

    _, notes = make_lexicon(NumberedAnswers.of(examples), examples, RELEASE)

    assert any("2 answers do not end in a full stop" in note for note in notes)


def literal_similarity(first: list[str], second: list[str]) -> float:
    """Compute the authors' similarity of two lists of words from similarities of words alone."""
    taxonomy = Taxonomy.load()
    known = [[word for word in words if len(taxonomy.senses(pl.Series([word])).senses)] for words in (first, second)]
    if not all(known):
        return 0.0
    senses, n = taxonomy.senses(pl.Series([*known[0], *known[1]])), len(known[0])
    square = np.array(
        [[word_similarity(taxonomy.hypernyms, senses, i, n + j) for j in range(len(known[1]))] for i in range(n)]
    )
    return max(math.prod(square.max(axis=1).tolist()), math.prod(square.max(axis=0).tolist()))


def test_similarities_of_answers_are_the_greater_product_of_maxima() -> None:
    words = ["red", "blue", "dog", "puppy", "big", "of", "qwertz", "car", "tall", "tree"]
    draw = np.random.default_rng(0)
    answers = sorted({" ".join(draw.choice(words, draw.integers(1, 4))) for _ in range(40)})
    examples = table(answers)
    numbered = NumberedAnswers.of(examples)
    lexicon, _ = make_lexicon(numbered, examples, PAPER)
    filters = Filters.of(lexicon)
    reference = numbered.reference
    order = {int(number): answer for number, answer in zip(reference, answers, strict=True)}
    pairs = [(one, two) for one in sorted(order) for two in sorted(order) if one < two][::7]

    for one, two in pairs:
        ours = answer_similarity(filters, one, two)
        assert ours == pytest.approx(literal_similarity(order[one].split(), order[two].split()), abs=1e-12)
