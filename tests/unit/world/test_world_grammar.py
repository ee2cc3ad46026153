"""Questions are read back as they were written."""

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.world.questions import parse_questions, write_questions
from eyechart.world.vocabulary import ACTORS, COLORS, FILLERS, QUESTION_TYPES, SIZES, THINGS

thing = st.sampled_from(THINGS)
FIRST = dict.fromkeys(QUESTION_TYPES, thing) | {
    "what is the": st.sampled_from(ACTORS),
    "what do you use the": st.sampled_from(tuple(COLORS)),
}
SECOND = {"which is bigger": thing, "is the": st.sampled_from((*COLORS, *SIZES))}


@st.composite
def question(draw: st.DrawFn) -> dict:
    name = draw(st.sampled_from(tuple(QUESTION_TYPES)))
    fillers = draw(st.lists(st.sampled_from(FILLERS), unique=True, max_size=4))
    second = draw(SECOND[name]) if name in SECOND else None
    return {"question_type": name, "first": draw(FIRST[name]), "second": second, "fillers": fillers}


@settings(deadline=None, max_examples=60)
@given(st.lists(question(), min_size=1, max_size=20))
def test_parsing_undoes_writing(questions: list[dict]) -> None:
    schema = {"question_type": pl.String, "first": pl.String, "second": pl.String, "fillers": pl.List(pl.String)}
    parts = pl.DataFrame(questions, schema=schema)
    written = write_questions(parts)
    read = pl.DataFrame({"question": written}).join(parse_questions(written), on="question", how="left")

    assert read.select("question_type", "first", "second").rows() == parts.drop("fillers").rows()
    for words, fillers in zip(read["words"].to_list(), parts["fillers"].to_list(), strict=True):
        assert words[len(words) - len(fillers) :] == fillers


def test_wordings_are_those_of_the_page() -> None:
    rows = [
        ("what color is the", "banana", None, ["today"]),
        ("how many", "leaf", None, []),
        ("is there a", "apple", None, []),
        ("which is bigger", "cup", "car", ["here", "please"]),
        ("what is the", "cat", None, ["now"]),
        ("what do you use the", "red", None, ["usually"]),
    ]
    parts = pl.DataFrame(rows, schema=["question_type", "first", "second", "fillers"], orient="row")

    assert write_questions(parts).to_list() == [
        "what color is the banana today?",
        "how many leaves are there?",
        "is there an apple?",
        "which is bigger, the cup or the car here please?",
        "what is the cat doing now?",
        "what do you use the red tool for usually?",
    ]


def test_other_questions_have_no_type() -> None:
    parsed = parse_questions(pl.Series(["is the cup red, sir?", "what color is the cup", "", None]))

    assert parsed["question_type"].to_list() == [None] * 3
