"""Columns as people write them become the types of our tables, or a clear error."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import FileFormatError
from eyechart.formats.columns import as_key, as_text, as_texts, fill_majority, majority

BIG = 12345678901234567890


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1, None, 20], ["1", None, "20"]),
        ([BIG], [str(BIG)]),
        (["007", ""], ["007", ""]),
        ([1.0, 2.5, float("nan"), None], ["1", "2.5", None, None]),
        ([True, False], ["true", "false"]),
        ([None], [None]),
    ],
)
def test_plain_values_become_the_text_a_reader_would_write(values: list[object], texts: list[str | None]) -> None:
    assert as_text(pl.Series(values), "x").to_list() == texts


def test_categories_are_text() -> None:
    assert as_text(pl.Series(["a", "b"], dtype=pl.Categorical), "x").dtype == pl.String


@given(st.lists(st.integers(-(2**53) + 1, 2**53 - 1)))
@settings(deadline=None)
def test_an_id_that_was_made_a_float_gets_its_digits_back(ids: list[int]) -> None:
    assert as_key(pl.Series(ids, dtype=pl.Float64), "x").to_list() == [str(one) for one in ids]


@pytest.mark.parametrize(
    ("written", "ids"),
    [
        (["7.0", None, "12.0"], ["7", None, "12"]),
        (["7.0", "7.1"], ["7.0", "7.1"]),
        (["007"], ["007"]),
        ([None], [None]),
    ],
)
def test_ids_that_were_all_written_from_floats_get_their_digits_back(
    written: list[str | None], ids: list[str | None]
) -> None:
    assert as_key(pl.Series(written, dtype=pl.String), "x").to_list() == ids


@pytest.mark.parametrize("number", [0.5, 2.0**53, float("inf")])
def test_a_float_that_is_no_exact_whole_number_is_no_id(number: float) -> None:
    with pytest.raises(FileFormatError, match="ids in column 'id'"):
        as_key(pl.Series("id", [1.0, number, None]), "x")


@pytest.mark.parametrize("values", [[["a"]], [{"a": 1}], [b"a"]])
def test_lists_records_and_bytes_are_no_text(values: list[object]) -> None:
    with pytest.raises(FileFormatError, match="expected text in column 'c'"):
        as_text(pl.Series("c", values), "x")


@pytest.mark.parametrize(
    ("values", "lists"),
    [
        ([["a", "b"], [], None], [["a", "b"], [], None]),
        ([[1, 2]], [["1", "2"]]),
        ([[{"answer": "a", "answer_id": 1}, {"answer": None, "answer_id": 2}]], [["a"]]),
        ([{"A": "x", "B": "y"}], [["x", "y"]]),
        (['["a", 1, true, null]', "['b', 'it\\'s']", '[{"answer": "c"}]'], [["a", "1", "true"], ["b", "it's"], ["c"]]),
        (["a", "[a", None, "[1][0]", "[{[]: 1}]"], [None] * 5),
        ([None, None], [None, None]),
    ],
)
def test_lists_are_read_in_every_form_people_write_them(values: list[object], lists: list[object]) -> None:
    assert as_texts(pl.Series(values), "x").to_list() == lists


def test_arrays_are_lists() -> None:
    assert as_texts(pl.Series([["a", "b"]], dtype=pl.Array(pl.String, 2)), "x").to_list() == [["a", "b"]]


@pytest.mark.parametrize("values", [[1, 2], [[{"text": "a"}]], [[b"\xff"]]])
def test_what_is_no_list_of_text_is_an_error(values: list[object]) -> None:
    with pytest.raises(FileFormatError, match="expected lists of text"):
        as_texts(pl.Series("c", values), "x")


@given(st.lists(st.none() | st.lists(st.sampled_from("abc"), max_size=6), max_size=8))
@settings(deadline=None)
def test_the_majority_is_the_most_frequent_text_and_the_earliest_of_a_tie(lists: list[list[str] | None]) -> None:
    # Counter.most_common keeps the order of first sight among equals.
    expected = [Counter(one).most_common(1)[0][0] if one else None for one in lists]

    assert majority(pl.Series(lists, dtype=pl.List(pl.String))).to_list() == expected


def test_only_a_missing_reference_is_filled_with_the_majority() -> None:
    table = pl.DataFrame({"answer": ["a", None, None], "answers": [["b"], ["c", "d", "d"], None]})

    assert fill_majority(table)["answer"].to_list() == ["a", "d", None]
