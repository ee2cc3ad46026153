"""Options and answers come out as text, whichever way the file names the right one."""

import polars as pl
import pytest

from eyechart.formats.choices import AnswerKind, drop_stray_choices, gather_options, name_answers

OPTIONS = ["red", "green", "blue"]


def named(
    answers: list[str | None], kind: AnswerKind = "auto", options: list[str | None] | None = None
) -> dict[str, object]:
    table = pl.DataFrame(
        {"answer": answers, "choices": [OPTIONS if options is None else options] * len(answers)},
        schema_overrides={"answer": pl.String},
    )
    chosen = name_answers(table, kind)
    return {
        "answers": chosen.table["answer"].to_list(),
        "counts": {(c.status, c.reason): c.n for c in chosen.counts if c.n},
    }


@pytest.mark.parametrize(
    ("kind", "answers", "kept"),
    [
        (
            "auto",
            ["green", "B", "b", "(c)", "C.", "0", "2", None],
            ["green", "green", "green", "blue", "blue", "red", "blue", None],
        ),
        ("text", ["green", "B", "0"], ["green"]),
        ("letter", ["green", "B", "0", "D"], ["green"]),
        ("index", ["green", "B", "0", "3", "-1"], ["red"]),
    ],
)
def test_an_answer_is_read_as_it_is_said_to_be_and_dropped_otherwise(
    kind: AnswerKind, answers: list[str | None], kept: list[str | None]
) -> None:
    found = named(answers, kind)

    assert found["answers"] == kept
    lost = found["counts"].get(("dropped", f"row whose answer is not among its choices (read as {kind})"), 0)
    assert lost == len(answers) - len(kept)


def test_all_rows_together_decide_that_numbers_are_indices() -> None:
    """A 1 among the options 1, 2 and 3 is their second one, as the 0 beside it can be an index only."""
    found = named(["1", "0"], options=["1", "2", "3"])

    assert found["answers"] == ["2", "1"]
    assert found["counts"] == {("noted", "answer given as index"): 2}


def test_letters_count_empty_options_which_then_go() -> None:
    table = pl.DataFrame({"answer": ["C"], "choices": [["x", None, "y"]]})

    chosen = name_answers(table, "letter").table

    assert chosen.to_dicts() == [{"answer": "y", "choices": ["x", "y"]}]


def test_columns_named_by_letters_are_the_options() -> None:
    table = pl.DataFrame({"A": ["x", "p"], "B": [1, 2], "C": ["z", " "], "D": [None, None], "F": ["kept", "kept"]})

    gathered = gather_options(table, "t")

    assert gathered.to_dicts() == [
        {"F": "kept", "choices": ["x", "1", "z", None]},
        {"F": "kept", "choices": ["p", "2", None, None]},
    ]


@pytest.mark.parametrize(
    "columns", [{"A": ["x"]}, {"B": ["x"], "C": ["y"]}, {"A": ["x"], "B": ["y"], "choices": [["z"]]}]
)
def test_other_columns_of_one_letter_are_left_alone(columns: dict[str, list[object]]) -> None:
    table = pl.DataFrame(columns)

    assert gather_options(table, "t").equals(table)


def test_options_without_the_answer_are_set_aside_and_noted() -> None:
    table = pl.DataFrame({"answer": ["a", "x", None, "b"], "choices": [["a", "b"], ["a", "b"], ["a"], None]})

    chosen = drop_stray_choices(table)

    assert chosen.table["choices"].to_list() == [["a", "b"], None, ["a"], None]
    assert [count.n for count in chosen.counts] == [1]


def test_options_may_have_other_names_and_end_at_the_first_missing() -> None:
    table = pl.DataFrame({"a0": ["x"], "a1": [None], "a3": ["y"]}, schema_overrides={"a1": pl.String})

    found = gather_options(table, "here", ("a0", "a1", "a2", "a3"))

    assert found.to_dicts() == [{"a3": "y", "choices": ["x", None]}]


def test_with_several_kinds_each_row_is_read_as_the_first_that_fits() -> None:
    table = pl.DataFrame({"answer": ["A", "B", "z", "D"], "choices": [["B", "A", "z"]] * 4})

    by_letter, by_text = name_answers(table, "letter", "text"), name_answers(table, "text", "letter")

    assert by_letter.table["answer"].to_list() == ["B", "A", "z"]
    assert by_text.table["answer"].to_list() == ["A", "B", "z"]
    assert [(count.reason, count.n) for count in by_letter.counts if count.status == "dropped"] == [
        ("row whose answer is not among its choices (read as letter or text)", 1)
    ]
