"""A question has the longest listed prefix; lists can be learned."""

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.language.questions import OTHER, learn_prefixes, question_types

WORDS = st.lists(st.sampled_from(["what", "is", "the", "color"]), min_size=0, max_size=6).map(" ".join)


def longest(question: str, prefixes: list[str]) -> str:
    fitting = [one for one in prefixes if one and f"{question} ".startswith(f"{one} ")]
    return max(fitting, key=lambda one: len(one.split()), default=OTHER)


@settings(deadline=None)
@given(questions=st.lists(WORDS, min_size=1, max_size=20), prefixes=st.lists(WORDS, max_size=6))
def test_the_longest_prefix_wins(questions: list[str], prefixes: list[str]) -> None:
    found = question_types(pl.Series(questions), pl.Series(prefixes, dtype=pl.String))

    assert found.to_list() == [longest(question, prefixes) for question in questions]


def test_whole_words_are_compared_in_lower_case() -> None:
    questions = pl.Series(["What color is it?", "what colors are they?", None, ""])

    found = question_types(questions, pl.Series(["What Color", "what"]))

    assert found.to_list() == ["what color", "what", OTHER, OTHER]


def test_beginnings_that_enough_questions_share_are_learned() -> None:
    questions = pl.Series(["what color is it?"] * 5 + ["what color are they?"] * 5 + ["why?"])

    assert learn_prefixes(questions, share=0.3).to_list() == [
        "what",
        "what color",
        "what color are",
        "what color are they",
        "what color is",
        "what color is it",
    ]
    assert learn_prefixes(pl.Series(["is it?", "was it?"]), share=0.3).is_empty()  # one question shares with nobody
