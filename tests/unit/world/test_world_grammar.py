"""Questions and answers are read back as they were worded."""

import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.language.prompts import choose_template
from eyechart.models.extraction import extract
from eyechart.world import World, WorldSettings, load_answerer, make_world
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


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(WorldSettings(seed=66, images=300))


def plain(world: World) -> pl.DataFrame:
    return world.data.examples.select("id", "image", "question", "choices")


def say(name: str, probes: pl.DataFrame, world: World) -> pl.Series:
    return load_answerer(name).answer(probes, world.data.images)["answer"]


def test_who_speaks_says_what_is_right_in_other_words(world: World) -> None:
    """Undo the words in plain Python: all ways occur, and each says the reference answer."""
    ways: dict[str, set[str]] = {"talker": set(), "shouter": set(), "letterer": set()}
    for name, seen in ways.items():
        for said, row in zip(say(name, plain(world), world), world.data.examples.to_dicts(), strict=True):
            letter = chr(ord("A") + row["choices"].index(row["answer"]))
            plainly = said.lower() if name == "shouter" else re.sub(rf"\b{letter}\b", "@", said)
            seen.add(re.sub(rf"\b{row['answer']}\b", "*", plainly))

    assert ways["talker"] == {"The answer is *.", "It looks like * to me", "I would say *."}
    assert ways["shouter"] == {"*", "*.", "*!"}
    assert ways["letterer"] == {"@", "(@)", "@. *"}


def test_a_letter_is_that_of_the_options_shown_and_without_options_the_answer_is_said(world: World) -> None:
    probes = plain(world)
    turned = say("letterer", probes.with_columns(pl.col("choices").list.reverse()), world)

    assert not turned.equals(say("letterer", probes, world))
    assert say("letterer", probes.drop("choices"), world).equals(say("seer", probes, world))


def test_a_mumbler_says_the_same_whatever_is_shown(world: World) -> None:
    said = say("mumbler", plain(world), world)
    blind = plain(world).with_columns(pl.lit(None, pl.String).alias("image"), pl.col("question").reverse())

    assert said.n_unique() == 4
    assert not said.is_in(world.data.examples["answer"].implode()).any()
    assert said.equals(say("mumbler", blind, world))


@pytest.mark.parametrize("name", ["seer", "talker", "shouter", "letterer"])
def test_what_is_right_in_other_words_is_read_where_options_are_listed(name: str, world: World) -> None:
    read = extract(say(name, plain(world), world), plain(world), choose_template("choice"))

    assert read["answer"].to_list() == world.data.examples["answer"].to_list()


@pytest.mark.parametrize("name", ["seer", "shouter", "letterer"])
def test_case_and_punctuation_do_not_matter_without_options(name: str, world: World) -> None:
    open_questions = plain(world).drop("choices")
    read = extract(say(name, open_questions, world), open_questions, choose_template("short"))

    assert read["answer"].str.to_lowercase().str.strip_chars("!").to_list() == world.data.examples["answer"].to_list()


def test_nothing_is_read_where_nothing_is_said(world: World) -> None:
    read = extract(say("mumbler", plain(world), world), plain(world), choose_template("choice"))

    assert read["answer"].null_count() == read.height


def test_sentences_are_read_without_options(world: World) -> None:
    open_questions = plain(world).drop("choices")
    read = extract(say("talker", open_questions, world), open_questions, choose_template("short"))

    assert read["answer"].to_list() == world.data.examples["answer"].to_list()


def test_no_number_is_read_where_none_is_said(world: World) -> None:
    counts = plain(world).drop("choices").filter(pl.col("question").str.starts_with("how many"))
    read = extract(say("mumbler", counts, world), counts, choose_template("short"))

    assert not read["answer"].is_in(["1", "one"]).any()
