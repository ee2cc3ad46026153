"""Question words against the published rules of the `basic_english` tokeniser, step by step in plain Python."""

import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.language.questions import question_words

STEPS = (
    (r"'", " ' "),
    (r'"', ""),
    (r"\.", " . "),
    (r"<br \/>", " "),
    (r",", " , "),
    (r"\(", " ( "),
    (r"\)", " ) "),
    (r"!", " ! "),
    (r"\?", " ? "),
    (r";", " "),
    (r":", " "),
    (r"\s+", " "),
)


def words_in_python(text: str) -> list[str]:
    text = text.lower()
    for pattern, filler in STEPS:
        text = re.sub(pattern, filler, text)
    return text.split()


def words_of(*texts: str | None) -> list[list[str]]:
    return pl.DataFrame({"q": texts}, schema={"q": pl.String}).select(question_words(pl.col("q"))).to_series().to_list()


@settings(deadline=None, max_examples=300)
@given(st.lists(st.text(alphabet="aBc 09'\".,()!?;:-/<br >\t\n\x1cé"), min_size=1, max_size=5))
def test_words_are_those_of_the_rules(texts: list[str]) -> None:
    assert words_of(*texts) == [words_in_python(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What color is the man's hat?", ["what", "color", "is", "the", "man", "'", "s", "hat", "?"]),
        ("black-and-white, or red/blue?", ["black-and-white", ",", "or", "red/blue", "?"]),
        ("is is it", ["is", "is", "it"]),
        ("", []),
        (" \t", []),
        (None, []),
    ],
)
def test_marks_are_words_and_blank_texts_have_none(text: str | None, words: list[str]) -> None:
    assert words_of(text) == [words]
