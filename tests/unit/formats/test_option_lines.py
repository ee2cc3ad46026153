"""Options of several lines are read whole, and instructions after the last one are none of it."""

import json
from pathlib import Path

import pytest

import eyechart
from eyechart.formats.log_rows import read_options

DEF = "def f():\n    return {}"


@pytest.mark.parametrize(
    ("prompt", "options"),
    [
        ("Which?\nA. red\nB. blue\nAnswer:", ["red", "blue"]),
        ("A. red\nas a rose\nB. blue\nas the sky\nAnswer with the letter.", ["red\nas a rose", "blue\nas the sky"]),
        ("A. red\nas a rose\nB. blue\nas the sky\n\nThank you.", ["red\nas a rose", "blue\nas the sky"]),
        ("A. red\nas a rose\nB. blue\nas the sky\nGood luck!", ["red\nas a rose", "blue\nas the sky"]),
        ("A. red\nas a rose\nB. blue", ["red\nas a rose", "blue"]),
        ("A.\nred\nB.\nblue\nPlease choose.", ["red", "blue"]),
        (f"A) {DEF.format(1)}\nB) {DEF.format(2)}", [DEF.format(1), DEF.format(2)]),
        ("A. one\n\ntwo\nB. three\n\nfour\nThe answer:", ["one\n\ntwo", "three\n\nfour"]),
        ("A. red\n\nB. blue\n\nYour answer:", ["red", "blue"]),
        ("A. red\nB.\nC. blue", None),
        ("A. red\nas a rose\nB. blue\nC. green\nas grass\nGood luck!\nAnd so on", None),
    ],
)
def test_options_end_where_the_next_one_or_something_else_begins(prompt: str, options: list[str] | None) -> None:
    assert read_options(prompt) == options


def test_options_inside_questions_may_have_several_lines(tmp_path: Path) -> None:
    asked = "Which prints 2?\nA. {}\nB. {}\nAnswer with the option's letter."
    rows = [{"question": asked.format(DEF.format(one), DEF.format(2)), "answer": "B"} for one in range(3, 30)]
    (tmp_path / "code.json").write_text(json.dumps(rows))

    data = eyechart.read(tmp_path / "code.json")

    assert data.examples["choices"][0].to_list() == [DEF.format(3), DEF.format(2)]
    assert data.examples["question"][0] == "Which prints 2?\nAnswer with the option's letter."
    assert data.examples["answer"].to_list() == [DEF.format(2)] * 27


@pytest.mark.parametrize(
    ("listed", "options"),
    [("A. Dear Ann,\nB. dear Ann,", ["Dear Ann,", "dear Ann,"]), ("A. red, B. blue", ["red", "blue"])],
)
def test_commas_belong_to_options_only_at_the_ends_of_their_lines(
    listed: str, options: list[str], tmp_path: Path
) -> None:
    rows = [{"question": f"Which one, {n}?\n{listed}", "answer": "AB"[n % 2]} for n in range(6)]
    (tmp_path / "letters.json").write_text(json.dumps(rows))

    data = eyechart.read(tmp_path / "letters.json")

    assert data.examples["choices"].to_list() == [options] * 6
