"""Columns are taken out of records of any shape, and what cannot be read is null and counted."""

import polars as pl
import pytest

from eyechart.formats.columns import Field, Kind, tabulate_fields, with_keys
from eyechart.formats.names import split_name


@pytest.mark.parametrize(
    ("kind", "values", "column", "lost"),
    [
        ("key", ["007", 7, 7.0, -0.0, 2**63, None], ["007", "7", "7", "0", str(2**63), None], 0),
        ("key", [True, 0.5, 2.0**53, float("inf"), [], {}], [None] * 6, 6),
        ("text", ["a", "", 1, 1.0, 2.5, True, 1e300], ["a", "", "1", "1", "2.5", "true", "1e+300"], 0),
        ("text", [["a"], {"a": 1}, None], [None] * 3, 2),
        ("texts", [["a", 1, None, []], [], None, "a"], [["a", "1", None, None], [], None, None], 1),
        ("values", [{"0": "a", "1": 2}, {}, ["a"], None], [["a", "2"], [], None, None], 1),
        ("flag", [True, False, 1, "true", None], [True, False, None, None, None], 2),
        ("whole", [1, 2.0, 2.5, True, "1", 2**60, None], [1, 2, None, None, None, None, None], 4),
        ("number", [1, 2.5, True, "1", None], [1.0, 2.5, None, None, None], 2),
    ],
)
def test_a_value_becomes_what_its_column_holds_or_null(
    kind: Kind, values: list[object], column: list[object], lost: int
) -> None:
    laid = tabulate_fields([{"a": value} for value in values], {"b": Field(("a",), kind)})

    assert laid.table["b"].to_list() == column
    assert [one.n for one in laid.counts if one.status == "noted"] == [lost]


def test_keys_lead_into_nested_records_and_end_where_one_is_missing() -> None:
    records: list[object] = [{"a": {"b": {"c": "x"}}}, {"a": {"b": 1}}, {"a": None}, {"a": []}, {}]

    laid = tabulate_fields(records, {"c": Field(("a", "b", "c"))})

    assert laid.table.to_dict(as_series=False) == {"c": ["x", None, None, None, None]}


def test_entries_that_are_no_records_are_dropped_and_counted() -> None:
    laid = tabulate_fields([{"a": 1}, None, 3, [], "x"], {"a": Field(("a",))}, "thing")

    assert laid.table.height == 1
    assert [(one.status, one.reason, one.n) for one in laid.counts if one.n] == [
        ("dropped", "thing that is not a record", 4)
    ]


def test_no_entries_give_a_typed_table_without_rows() -> None:
    fields = {"a": Field(("a",), "texts"), "b": Field(("b",), "flag")}

    assert tabulate_fields([], fields).table.schema == {"a": pl.List(pl.String), "b": pl.Boolean}


def test_a_key_outside_wins_over_one_of_its_name_inside() -> None:
    assert with_keys({"01": {"id": 7, "a": 1}, "02": 3}) == [{"id": "01", "a": 1}, 3]


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("a/b/testdev_balanced_questions.json.gz", "testdev"),
        ("train_all_questions_10.json", "train"),
        ("val", "val"),
        ("Validation-set", "val"),
        ("v2_OpenEnded_mscoco_test-dev2015_questions.json", "test-dev"),
        ("contest.json", None),
        ("train/questions.json", None),
    ],
)
def test_a_split_is_a_whole_word_of_the_last_name(name: str, split: str | None) -> None:
    assert split_name(name) == split
