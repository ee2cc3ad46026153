"""Each score against a few lines of plain Python, and the promises of `score` itself."""

import math
import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import DataError, UnknownNameError
from eyechart.scoring import OPTION_SCORES, SCORES, auto_score, chosen_score, score

SCHEMA = {
    "answer": pl.String,
    "answers": pl.List(pl.String),
    "choices": pl.List(pl.String),
    "relevance": pl.List(pl.Float64),
    "weights": pl.List(pl.Float64),
    "given": pl.String,
    "ranking": pl.List(pl.String),
}
STEADY = settings(deadline=None, max_examples=60)
TEXTS = st.sampled_from(["a", "b", "c", "d", "A", "B", "2", "red"])


def table(**columns: list[object]) -> pl.DataFrame:
    return pl.DataFrame(columns, schema={name: SCHEMA[name] for name in columns})


def score_one(how: str, **row: object) -> float | None:
    return score(table(**{name: [value] for name, value in row.items()}), how).item()


# The promises of score


def full_table(rows: int) -> pl.DataFrame:
    """Make rows that every score can read, some without reference, answer or ranking."""
    dice = random.Random(7)  # noqa: S311 - made-up rows keep no secrets
    texts = ["red", "The red.", "2", "3.5", "none", "0", "A", "(b)", "x-ray", "x ray"]

    def some(size: int) -> list[str] | None:
        return None if dice.random() < 0.1 else dice.choices(texts, k=size)

    choices = [some(4) for _ in range(rows)]
    answers = [some(dice.randrange(11)) for _ in range(rows)]
    return table(
        answer=[dice.choice([*texts, None]) for _ in range(rows)],
        answers=answers,
        weights=[human and [dice.choice([0.3, 0.6, 1.0]) for _ in human] for human in answers],
        choices=choices,
        relevance=[options and [dice.choice([0.0, 0.0, 0.5, 1.0]) for _ in options] for options in choices],
        given=[dice.choice([*texts, None]) for _ in range(rows)],
        ranking=[some(dice.randrange(5)) for _ in range(rows)],
    )


@pytest.mark.parametrize("how", SCORES)
def test_one_float_per_row_in_the_order_of_the_rows(how: str) -> None:
    """Scores do not depend on the other rows, nor on their order."""
    rows = full_table(200)
    scores = score(rows, how)

    assert scores.name == "score"
    assert scores.dtype == pl.Float64
    assert scores.to_list() == [score(rows[i], how).item() for i in range(len(rows))]
    assert score(rows.reverse(), how).to_list() == scores.reverse().to_list()
    assert 0 < scores.null_count() < len(rows)
    assert scores.drop_nulls().max() == 1
    assert scores.drop_nulls().is_between(0, 1).all() or how == "one-minus-mape"
    assert not scores.is_nan().any()


@pytest.mark.parametrize("how", SCORES)
def test_no_rows_no_scores(how: str) -> None:
    assert score(full_table(1).clear(), how).to_list() == []


@pytest.mark.parametrize("how", SCORES)
def test_a_row_without_its_reference_has_no_score(how: str) -> None:
    rows = full_table(50)
    reference = next(name for name in SCORES[how].needs if name not in ("given", "ranking"))
    blank = rows.with_columns(pl.lit(None, dtype=rows.schema[reference]).alias(reference))
    if reference == "choices":
        blank = blank.with_columns(pl.lit(None, dtype=rows.schema["relevance"]).alias("relevance"))

    assert score(blank, how).null_count() == len(rows)


@pytest.mark.parametrize("how", [how for how in SCORES if "given" in SCORES[how].needs and how != "one-minus-mape"])
def test_nothing_usable_given_scores_zero(how: str) -> None:
    """A column of nothing but nulls has no text type, and still is an answer missing, not a reference."""
    rows = full_table(50).drop("given")
    scored = score(rows.with_columns(given=pl.lit("red")), how).is_not_null()

    assert score(rows.with_columns(given=pl.lit(None)), how).to_list() == [0.0 if has else None for has in scored]


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'vqa-always'"):
        score(full_table(1), "vqa_always")
    with pytest.raises(UnknownNameError, match=r"exact.*one-minus-mape.*'zzz'; choose one"):
        score(full_table(1), "zzz")


def test_a_missing_column_is_named() -> None:
    with pytest.raises(DataError, match="a column 'ranking' for the score mrr"):
        score(table(answer=["a"]), "mrr")


def test_every_score_says_what_it_is() -> None:
    assert all(name == each.name for name, each in SCORES.items())
    assert all(each.about and "\n" not in each.about for each in SCORES.values())
    assert all(set(each.needs) <= set(SCHEMA) for each in SCORES.values())


# Text


def test_exact_is_equality_of_raw_text() -> None:
    rows = table(answer=["red", "red", "Red", ""], given=["red", "red.", "red", ""])

    assert score(rows, "exact").to_list() == [1, 0, 0, 1]


def test_exact_normalized_compares_cleaned_normal_forms() -> None:
    rows = table(answer=["The red", "none", "1,000", "-5-6", None], given=["red.\n", "0", "1000", " -5-6", "x"])

    assert score(rows, "exact-normalized").to_list() == [1, 1, 1, 1, None]


@STEADY
@given(st.lists(st.tuples(TEXTS | st.none(), st.none() | st.lists(TEXTS | st.none(), max_size=12)), max_size=20))
def test_count3_equals_brute_force(rows: list[tuple[str | None, list[str | None] | None]]) -> None:
    """A null among the humans is nobody's answer; a list of none at all is no reference."""
    expected = []
    for answer, humans in rows:
        named = [human for human in humans or [] if human is not None]
        expected.append(min(sum(human == answer for human in named) / 3, 1) if named else None)
    given_answers, humans_answers = [row[0] for row in rows], [row[1] for row in rows]

    assert score(table(given=given_answers, answers=humans_answers), "count3").to_list() == expected


def test_count3_does_not_normalise() -> None:
    assert score_one("count3", given="Red", answers=["red"] * 9 + ["Red"]) == pytest.approx(1 / 3)


@pytest.mark.parametrize("how", ["vqa", "vqa-always"])
@pytest.mark.parametrize("humans", [2, 3, 10])
def test_soft_accuracy_is_the_mean_over_all_humans_but_one(humans: int, how: str) -> None:
    for agreeing in range(humans + 1):
        answers = ["red"] * agreeing + ["blue"] * (humans - agreeing)
        others = [answers[:out] + answers[out + 1 :] for out in range(humans)]
        expected = sum(min(1, each.count("red") / 3) for each in others) / humans

        assert score_one(how, given="red", answers=answers) == pytest.approx(expected)


@pytest.mark.parametrize(("how", "scores"), [("vqa", [1, 0, 0, 1]), ("vqa-always", [1, 0, 1, 1])])
def test_a_lone_human_is_matched_exactly(how: str, scores: list[float]) -> None:
    """The official mean would be 0 for every answer; the lone answer counts as unanimous."""
    rows = table(given=["red", "blue", "Red.", " red\n"], answers=[["red"]] * 4)

    assert score(rows, how).to_list() == scores


def test_humans_that_are_null_do_not_count() -> None:
    humans = ["red", None, "red", None, "blue"]

    assert score_one("vqa", given="red", answers=humans) == score_one(
        "vqa", given="red", answers=["red", "red", "blue"]
    )
    assert score_one("vqa", given="red", answers=[None]) is None


def test_any_takes_each_of_the_accepted_texts_in_normal_form() -> None:
    spellings = ["12 May", None, "The 12th of May"]
    rows = table(given=["12 may.", "12th of May", "May", None], answers=[spellings] * 4)

    assert score(rows, "any").to_list() == [1, 1, 0, 0]
    assert score(table(given=["x"] * 3, answers=[None, [], [None]]), "any").to_list() == [None] * 3


# Options


@pytest.mark.parametrize("given_answer", ["blue", " blue\n", "B", "b", "(B)", "(b)", "B.", "B)", "B:", "b."])
def test_choice_takes_text_or_letter(given_answer: str) -> None:
    assert score_one("choice", answer="blue", choices=["red", "blue", "green"], given=given_answer) == 1


@pytest.mark.parametrize(
    "given_answer", ["red", "A", "C", "D", "Z", "1", "Blue", "BB", "((B)", "B blue", "", "é", None]
)
def test_choice_refuses_all_else(given_answer: str | None) -> None:
    assert score_one("choice", answer="blue", choices=["red", "blue", "green"], given=given_answer) == 0


def test_text_wins_over_letter() -> None:
    """With options B, A, C the answer "A" is the second option, not the first."""
    options = ["B", "A", "C"]

    assert score_one("choice", answer="A", choices=options, given="A") == 1
    assert score_one("choice", answer="B", choices=options, given="A") == 0
    assert score_one("choice", answer="B", choices=options, given="(A)") == 1
    assert score_one("choice-letter", answer="B", choices=options, given="A") == 1
    assert score_one("choice-text", answer="B", choices=options, given="A") == 0


def test_numbers_as_options_are_text_to_choice_and_places_to_choice_index() -> None:
    options = ["2", "1", "0"]

    assert score_one("choice", answer="2", choices=options, given="2") == 1
    assert score_one("choice-index", answer="2", choices=options, given="2") == 0
    assert score_one("choice-index", answer="2", choices=options, given=" 0") == 1
    assert [
        score_one("choice-index", answer="0", choices=options, given=index) for index in ("2", "3", "-1", "2.0")
    ] == [1, 0, 0, 0]


def test_twins_of_the_target_are_as_good() -> None:
    options = ["red", "blue", "red"]

    assert score_one("choice", answer="red", choices=options, given="red") == 1
    assert [score_one("choice", answer="red", choices=options, given=letter) for letter in "ABC"] == [1, 0, 1]


def test_a_target_that_is_no_option_cannot_be_scored() -> None:
    for how in ("choice", "choice-text", "choice-letter", "choice-index"):
        assert score_one(how, answer="pink", choices=["red", "blue"], given="pink") is None
        assert score_one(how, answer="pink", choices=[], given="pink") is None


def test_choice_text_and_choice_letter_take_one_form_each() -> None:
    row = {"answer": "blue", "choices": ["red", "blue"]}

    assert [score_one("choice-text", **row, given=text) for text in ("blue", "B")] == [1, 0]
    assert [score_one("choice-letter", **row, given=text) for text in ("blue", "B")] == [0, 1]


# Rankings


RANKINGS = st.none() | st.lists(TEXTS, max_size=8)


@STEADY
@given(st.lists(st.tuples(TEXTS, RANKINGS), max_size=15))
def test_mrr_equals_brute_force(rows: list[tuple[str, list[str] | None]]) -> None:
    expected = [ranked and (1 / (ranked.index(answer) + 1) if answer in ranked else 0) for answer, ranked in rows]

    scores = score(table(answer=[row[0] for row in rows], ranking=[row[1] for row in rows]), "mrr")
    assert scores.to_list() == [None if ranks == [] else ranks for ranks in expected]


def brute_ndcg(choices: list[str], relevance: list[float], ranking: list[str]) -> float | None:
    """Follow the definition; a text that stands twice among the choices gives its best relevance first."""
    k = sum(value > 0 for value in relevance)
    if k == 0 or not ranking:
        return None
    stock = sorted(zip(relevance, choices, strict=True), reverse=True)
    ideal = sum(value / math.log2(place + 2) for place, (value, _) in enumerate(stock[:k]))
    gain = 0.0
    for place, text in enumerate(ranking[:k]):
        found = next((item for item in stock if item[1] == text), (0.0, text))
        gain += found[0] / math.log2(place + 2)
        stock = [item for item in stock if item is not found]
    return gain / ideal


CANDIDATES = st.lists(st.tuples(TEXTS, st.sampled_from([0.0, 0.2, 0.5, 1.0])), min_size=1, max_size=8)


@STEADY
@given(st.lists(st.tuples(CANDIDATES, st.lists(TEXTS, max_size=10)), min_size=1, max_size=15))
def test_ndcg_equals_brute_force(rows: list[tuple[list[tuple[str, float]], list[str]]]) -> None:
    choices = [[text for text, _ in candidates] for candidates, _ in rows]
    relevance = [[value for _, value in candidates] for candidates, _ in rows]
    ranking = [ranked for _, ranked in rows]
    expected = [brute_ndcg(*row) for row in zip(choices, relevance, ranking, strict=True)]

    scores = score(table(choices=choices, relevance=relevance, ranking=ranking), "ndcg")
    assert scores.to_list() == [None if value is None else pytest.approx(value) for value in expected]


def test_ndcg_by_hand() -> None:
    """Relevance 1 and .5: the best order scores 1, the swapped one (.5 + 1 / log2 3) / (1 + .5 / log2 3)."""
    row = {"choices": ["a", "b", "c"], "relevance": [0.5, 1.0, 0.0]}

    assert score_one("ndcg", **row, ranking=["b", "a", "c"]) == 1
    assert score_one("ndcg", **row, ranking=["a", "b", "c"]) == pytest.approx(0.859718, abs=1e-6)
    assert score_one("ndcg", **row, ranking=["c", "x", "b"]) == 0
    assert score_one("ndcg", **row, ranking=None) is None


def test_twins_share_their_relevance_in_ndcg() -> None:
    """A ranking cannot gain twice from one candidate, and gains twice from two with the same text."""
    assert score_one("ndcg", choices=["a", "b"], relevance=[1.0, 1.0], ranking=["a", "a"]) < 1
    assert score_one("ndcg", choices=["a", "a"], relevance=[1.0, 1.0], ranking=["a", "a"]) == 1


def test_ndcg_wants_one_relevance_per_choice() -> None:
    with pytest.raises(DataError, match="2 choices and 1 relevances in row 1"):
        score(table(choices=[["a"], ["a", "b"]], relevance=[[1.0], [1.0]], ranking=[["a"], ["a"]]), "ndcg")


# Numbers


@pytest.mark.parametrize(
    ("answer", "given_answer", "expected"),
    [
        ("4", "4", 1.0),
        ("4", " 3\n", 0.75),
        ("-4", "-5.0", 0.75),
        ("2", "10", -3.0),
        ("1e2", "90", 0.9),
        ("0", "1", None),
        ("two", "2", None),
        (None, "2", None),
        ("2", "two", None),
        ("2", None, None),
        ("2", "nan", None),
        ("2", "inf", None),
        ("inf", "2", None),
    ],
)
def test_one_minus_mape(answer: str | None, given_answer: str | None, expected: float | None) -> None:
    """Only two finite numbers with a reference other than 0 have a relative error."""
    scored = score_one("one-minus-mape", answer=answer, given=given_answer)

    assert scored == (None if expected is None else pytest.approx(expected))


# The score that fits


def test_a_score_that_is_none_is_refused_before_it_is_used() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'vqa'"):
        chosen_score("vqb", table(answer=["a"]))


def test_auto_score_looks_at_the_references() -> None:
    options, humans, nothing = [["a", "b"], None], [["a", "a"], ["b"]], [None, None]

    assert auto_score(table(choices=options, answers=humans)) == "choice"
    assert auto_score(table(choices=nothing, answers=humans)) == "any"
    assert auto_score(table(choices=[[], []], answers=[["a"], None])) == "exact"
    assert auto_score(table(answers=nothing)) == "exact"
    assert auto_score(table(answer=["a"])) == "exact"
    assert auto_score(table(choices=[]).with_columns(answers=pl.lit(None))) == "exact"


@pytest.mark.parametrize(("humans", "how"), [(1, "exact"), (2, "any"), (3, "any"), (4, "vqa"), (10, "vqa")])
def test_auto_score_gives_what_all_humans_say_the_full_score(humans: int, how: str) -> None:
    rows = table(answer=["cat"], answers=[["cat"] * humans + [None] * 3], given=["cat"])

    assert auto_score(rows) == how
    assert score(rows, how).item() == 1


@pytest.mark.parametrize(("having", "how"), [(0, "exact"), (2, "exact"), (4, "exact"), (5, "choice"), (10, "choice")])
def test_auto_score_wants_options_for_half_of_the_references(having: int, how: str) -> None:
    """Ten examples have an answer; ten more have options and none, and do not count."""
    choices = [["a", "b"]] * having + [None] * (10 - having) + [["a", "b"]] * 10

    assert auto_score(table(answer=["a"] * 10 + [None] * 10, choices=choices)) == how


# Cases that small changes of the code would get wrong


@pytest.mark.parametrize(("given", "expected"), [("red", 1.0), ("The red.", 1.0), ("blue", 0.0)])
def test_a_single_human_answer_is_enough_for_any(given: str, expected: float) -> None:
    assert score_one("any", answers=["red"], given=given) == expected


def test_a_single_human_who_writes_it_otherwise_brings_in_the_normal_forms() -> None:
    """Nine say "the dog" and one "dog": the forms differ, so that all ten agree with "dog"."""
    assert score_one("vqa", answers=["the dog"] * 9 + ["dog"], given="dog") == 1.0
    assert score_one("vqa", answers=["the dog"] * 10, given="dog") == 0.0


def test_scores_of_options_are_those_that_compare_a_choice() -> None:
    assert OPTION_SCORES == ("choice", "choice-text", "choice-letter", "choice-index")


# Soft labels and measured numbers


@pytest.mark.parametrize(("given", "expected"), [("racing", 1), ("The racing.", 1), ("riding", 0.6), ("walking", 0)])
def test_an_answer_scores_its_weight_among_the_soft_labels(given: str, expected: float) -> None:
    labels = {"answers": ["racing", "riding", "Riding"], "weights": [1.0, 0.3, 0.6]}

    assert score_one("soft-labels", **labels, given=given) == expected


def test_examples_without_soft_labels_have_no_score() -> None:
    assert score_one("soft-labels", answers=[], weights=[], given="racing") is None


def test_a_number_scores_by_how_near_it_is() -> None:
    """The mean over .5, .55, ... .95 of whether the relative error is below one minus these, as VSI-Bench has it."""
    thresholds = [0.5 + 0.05 * n for n in range(10)]
    for said in ("2.0", "2.12", "2.33", "2.97", "1.23", "3.1", "0", "far"):  # off the thresholds: floats decide there
        error = abs(float(said) - 2) / 2 if said != "far" else math.inf
        expected = sum(error < 1 - threshold for threshold in thresholds) / 10

        assert score_one("number", answer="2", choices=None, given=said) == pytest.approx(expected)
    assert score_one("number", answer="0", choices=None, given="0") is None


def test_questions_with_options_beside_measured_numbers_score_by_the_option() -> None:
    options = ["1.5", "2"]

    assert [score_one("number", answer="2", choices=options, given=said) for said in ("B", "2", "1.9")] == [1, 1, 0]


def test_the_references_say_which_score_suits_them() -> None:
    numbers = pl.DataFrame({"answer": ["2.5", "3"], "answer_type": ["number", "number"]})
    labels = table(answer=["racing"], answers=[["racing", "riding"]], weights=[[1.0, 0.3]])

    assert (auto_score(numbers), auto_score(labels)) == ("number", "soft-labels")
    assert auto_score(numbers.with_columns(answer_type=pl.Series(["number", "other"]))) != "number"
