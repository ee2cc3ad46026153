"""Answers are found in texts by rules, and never made up."""

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.language.prompts import choose_template
from eyechart.models.extraction import extract

OPTIONS = ["red", "blue", "red and white", "a dog"]


def read_all(
    texts: Sequence[str | None],
    options: Sequence[str] | None = OPTIONS,
    template: str = "choice",
    question: str | None = "what?",
) -> list[str]:
    """Give the answer in each text, or else the status."""
    shown = pl.Series([options] * len(texts), dtype=pl.List(pl.String))
    asked = pl.Series([question] * len(texts), dtype=pl.String)
    probes = pl.DataFrame({"id": [str(n) for n in range(len(texts))], "question": asked, "choices": shown})
    rows = extract(pl.Series(texts, dtype=pl.String), probes, choose_template(template)).rows()
    assert all((answer is None) == (status != "ok") for answer, status in rows)
    return [status if answer is None else answer for answer, status in rows]


def found(text: str | None, options: Sequence[str] | None = OPTIONS, template: str = "choice") -> str:
    """Give the answer, or else the status."""
    return read_all([text], options, template)[0]


SAYS_BLUE = [
    "B",
    "b",
    " B\n",
    "(B)",
    "[b]",
    "B.",
    "B)",
    "**B**",
    "B) blue",
    "B. blue",
    "(B) blue",
    "B: blue",
    "B - blue",
    "B \N{EN DASH} blue",
    "**B.** blue",
    "B, because it is blue",
    "B because of the sky",
    "Option B",
    "blue",
    "Blue.",
    "BLUE!",
    '"blue"',
    "\N{LEFT DOUBLE QUOTATION MARK}blue\N{RIGHT DOUBLE QUOTATION MARK}",
    "It is blue.",
    "The image shows (B).",
    "I would choose option B here",
    "Answer: B",
    "answer: (b)",
    "**Answer:** B",
    "Final answer: blue",
    "The answer is B.",
    "The correct answer is B. blue",
    "The best answer is option B because A is too dark.",
    "My answer would be blue",
    r"so \boxed{B}",
    r"\boxed{\text{blue}}",
    "<answer>B</answer>",
    "A or D? Hmm.\nAnswer: D? No.\nAnswer: B",
    "<think>It could be A. The answer is A.</think>B",
    "<think>A</think>\n\n<answer>B</answer>",
    "It could be A, or C.</think>\nB",
    "[THINK]A[/THINK]B",
    "\u25c1think\u25b7A\u25c1/think\u25b7B",
    "<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>B",
    "B<|im_end|>",
    "B</s>",
    "I'm sorry, I cannot see it well, but the answer is B.",
    "B\n\nExplanation: Option A is too dark.",
]


def test_an_option_is_found_however_it_is_said() -> None:
    assert dict(zip(SAYS_BLUE, read_all(SAYS_BLUE), strict=True)) == dict.fromkeys(SAYS_BLUE, "blue")


SAYS_NOTHING = [
    "",
    " \n",
    "...",
    "E",
    "green",
    "2",
    "A, B",
    "A and B",
    "A or B",
    "B. red",
    "red or blue",
    "It is not blue",
    "It isn't blue",
    "neither",
    "Anything but blue, rather than red",
    "<think>It is B",
    "<think>B</think>",
    "A. red\nB. blue\nC. red and white\nD. a dog",
    "The answer is not B",
    "The answer is A or B",
    "Bob",
    "bluebird",
    "Answer: E",
]


def test_what_is_unclear_is_unparsed() -> None:
    assert dict(zip(SAYS_NOTHING, read_all(SAYS_NOTHING), strict=True)) == dict.fromkeys(SAYS_NOTHING, "unparsed")


REFUSES = [
    "I'm sorry, but I can't help with that.",
    "I\N{RIGHT SINGLE QUOTATION MARK}m sorry, I can\N{RIGHT SINGLE QUOTATION MARK}t say.",
    "I cannot determine this from option A or B.",
    "I am unable to see images.",
    "As an AI language model, I have no eyes.",
    "There is no image.",
    "It is impossible to tell.",
    "Please provide the image.",
    "<think>B?</think>Sorry, I can't.",
]


def test_a_refusal_is_a_refusal_with_options_and_without() -> None:
    assert set(read_all(REFUSES)) == set(read_all(REFUSES, None)) == {"refused"}


def test_an_option_that_reads_like_a_refusal_is_an_option() -> None:
    options = ["it is impossible to tell", "no", "yes", "red"]

    assert found("It is impossible to tell.", options) == "it is impossible to tell"


def test_the_longest_option_is_meant() -> None:
    assert found("It is red and white.") == "red and white"
    assert found("It is red, or red and white.") == "unparsed"


def test_an_article_is_no_label() -> None:
    assert found("A dog is there") == "a dog"
    assert found("A cat") == "unparsed"


def test_numbers_are_labels_where_options_are_numbered() -> None:
    said = ["2", "(2)", "2. blue", "option 2", "2.5", "B"]

    assert read_all(said, template="numbered") == ["blue"] * 4 + ["unparsed"] * 2


def test_a_label_counts_where_options_are_letters_themselves() -> None:
    """The label is what was asked for."""
    assert read_all(["A", "C", "The answer is B."], ["B", "A", "C", "D"]) == ["B", "C", "A"]
    assert found("A", ["A", "B", "C", "D"]) == "A"


def test_the_same_option_twice_is_no_contradiction() -> None:
    assert found("blue", ["blue", "red", "blue", "a dog"]) == "blue"


def test_yes_and_no_as_options() -> None:
    said = ["Yes", "No, it is not red", "Yes, there is.", "yes and no", "There is no way to say"]

    assert read_all(said, ["yes", "no"]) == ["yes", "no", "yes", "unparsed", "unparsed"]


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("is it red?", "Yes, it is.", "yes"),
        ("According to the image, does the bird fly?", "No, the bird in the image sits on a wire.", "no"),
        ("The image shows an illusion. Are both lines equal?", "Yes, in this illusion both lines are equal.", "yes"),
        ("In the image, what is it?", "No, nothing", "No, nothing"),
        ("Is it red?", "no.", "no"),
        ("is it red?", "No. 5", "No. 5"),
        ("is it red or blue?", "Red.", "Red"),
        ("is it red?", "Yes and no", "Yes and no"),
        ("how many dogs?", "There are 3 dogs.", "3"),
        ("how many dogs?", "three (3)", "3"),
        ("how many dogs?", "There are three.", "three"),
        ("how many people?", "About 1,000", "1000"),
        ("how many dogs?", "2 or 3", "2 or 3"),
        ("what is it?", "Yes, a dog", "Yes, a dog"),
        ("what is it?", "The answer is: a dog.", "a dog"),
        ("what is it?", "**Answer:** `dog`", "dog"),
        ("what is it?", "\n dog \nIt stands there.", "dog"),
        ("what is it?", "<think>cat?</think> dog", "dog"),
        ("what does it say?", "Sorry we're closed", "Sorry we're closed"),
        ("what is it?", "word " * 21, "unparsed"),
        (None, "dog", "dog"),
    ],
)
def test_open_answers_follow_the_question(question: str | None, text: str, answer: str) -> None:
    table = pl.DataFrame({"id": ["1"], "question": pl.Series([question], dtype=pl.String)})
    row = extract(pl.Series([text]), table, choose_template("short")).row(0, named=True)

    assert (row["answer"] or row["status"]) == answer


@pytest.mark.parametrize(
    ("template", "text", "answer"),
    [
        ("yes-no", "Yes.", "yes"),
        ("yes-no", "The answer is no", "no"),
        ("yes-no", "maybe", "unparsed"),
        ("yes-no", "There is no dog", "unparsed"),
        ("number", "I see 12 of them", "12"),
        ("number", "-1.5", "-1.5"),
        ("number", "some", "unparsed"),
        ("number", "2 or 3", "unparsed"),
    ],
)
def test_a_template_can_ask_for_one_kind(template: str, text: str, answer: str) -> None:
    table = pl.DataFrame({"id": ["1"], "question": ["what?"]})
    row = extract(pl.Series([text]), table, choose_template(template)).row(0, named=True)

    assert (row["answer"] or row["status"]) == answer


def test_options_that_were_not_listed_are_still_known() -> None:
    """Then a letter means nothing, and an option's own spelling is kept."""
    table = pl.DataFrame(
        {"id": ["1", "2", "3"], "question": "what?", "choices": [["Red", "B"], ["Red", "x"], ["y", "x"]]}
    )
    answers = extract(pl.Series(["red.", "B", "B"]), table, choose_template("short"))["answer"]

    assert answers.to_list() == ["Red", "B", "B"]


def test_nothing_said_is_unparsed() -> None:
    table = pl.DataFrame({"id": ["1"], "question": ["what?"]})

    assert extract(pl.Series([None], dtype=pl.String), table, choose_template(None)).row(0) == (None, "unparsed")


def test_the_examples_of_the_docs_are_true() -> None:
    page = (Path(__file__).parents[3] / "docs" / "extraction.md").read_text(encoding="utf-8")
    examples = re.findall(r"^\| `(.+)` \| (.+) \|$", page.partition("| response | answer |")[2], re.MULTILINE)

    assert len(examples) > 10
    assert read_all([text for text, _ in examples]) == [answer for _, answer in examples]


PIECES = st.sampled_from(
    [*"ABCDE", *OPTIONS, "not", "or", "the answer is", "Answer:", "<think>", "</think>", "(", ")", ".", "\n", ",", "*"]
)
TEXTS = st.lists(st.one_of(st.text(), st.lists(PIECES, max_size=8).map(" ".join)), min_size=1, max_size=30)


@settings(deadline=None, max_examples=20)
@given(TEXTS)
def test_whatever_is_said_the_answer_is_an_option_or_none(texts: list[str]) -> None:
    said = read_all(texts)

    assert set(said) <= {*OPTIONS, "refused", "unparsed"}
    assert read_all(texts[::-1]) == said[::-1]


@settings(deadline=None, max_examples=20)
@given(TEXTS, st.sampled_from([("bare", "what?"), ("yes-no", "is it?"), ("short", "how many are there?")]))
def test_an_open_answer_is_part_of_what_was_said(texts: list[str], asked: tuple[str, str]) -> None:
    template, question = asked
    for text, answer in zip(texts, read_all(texts, None, template, question), strict=True):
        assert answer in {"refused", "unparsed"} or letters(answer) in letters(text)


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).lower()))


@pytest.mark.parametrize(
    "text", ["*" * 100_000, "(" * 100_000 + "x", " answer is" * 20_000, "\\boxed{" * 20_000, "A. B. " * 30_000]
)
def test_a_degenerate_text_does_not_take_for_ever(text: str) -> None:
    """Models that run wild repeat themselves; a pattern that backtracks would hang here for minutes."""
    assert found(text) == found(text, None, "number") == "unparsed"
