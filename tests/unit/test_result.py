"""Results hold tables and words, keep their keys in order, and survive the disk."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from eyechart.errors import FileFormatError, TableError
from eyechart.result import Measure, Result, Verdict, View, measures_table, speak
from eyechart.tables import COUNTS, empty

MEASURES = (
    Measure("accuracy", 0.5, 0.25, 0.75, 4, 2, condition="plain", by="type", group="b"),
    Measure("accuracy", 0.625, 0.5, 0.75, 8, 4, condition="plain"),
    Measure("accuracy", 0.75, 0.5, 1.0, 4, 2, condition="plain", by="type", group="a"),
)


@pytest.fixture
def result() -> Result:
    return Result(
        audit="accuracy",
        subject="m",
        settings={"by": ["type"], "score": "exact"},
        measures=measures_table(MEASURES),
        rows=pl.DataFrame({"id": ["2", "10", "1"], "cluster": ["a", "b", "a"], "accuracy": [1.0, 0.0, 1.0]}),
        tables={"counts": empty(COUNTS), "worst": pl.DataFrame({"word": ["x"]})},
        views=(View("bars", "measures", "By type", "Read it.", {"x": "value", "y": "group"}, {"by": "type"}),),
        verdict=Verdict("clear", "accuracy", "It sees."),
    )


def test_rows_and_measures_are_sorted_by_their_keys(result: Result) -> None:
    assert result.rows["id"].to_list() == ["1", "10", "2"]
    assert result.measures["group"].to_list() == [None, "a", "b"]


def test_a_result_comes_back_equal_from_disk(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "it")
    loaded = Result.load(tmp_path / "it")

    assert all(loaded.table(name).equals(result.table(name)) for name in ("measures", "rows", "counts", "worst"))
    assert (loaded.audit, loaded.subject, loaded.settings) == (result.audit, result.subject, result.settings)
    assert (loaded.views, loaded.verdict, loaded.wants_more) == (result.views, result.verdict, False)


def test_a_result_without_one_of_its_files_is_refused(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "it")
    (tmp_path / "it" / "worst.parquet").unlink()

    with pytest.raises(FileFormatError, match=r"a file .*worst\.parquet; found none"):
        Result.load(tmp_path / "it")


def test_a_verdict_nobody_knows_is_refused(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "it")
    settings = tmp_path / "it" / "settings.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"verdict": {"state": "fine"}}))

    with pytest.raises(FileFormatError, match="damaged file"):
        Result.load(tmp_path / "it")


def test_every_result_counts(result: Result) -> None:
    with pytest.raises(TableError, match="a table 'counts' in the result of accuracy"):
        replace(result, tables={})


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (View("bars", "nothing", "T", "R"), "view 'T' to draw one of measures, rows, counts, worst; found nothing"),
        (View("bars", "worst", "T", "R", {"x": "length"}), "found no length in table 'worst'"),
        (View("bars", "worst", "T", "R", {}, {"by": "x"}), "found no by in table 'worst'"),
    ],
)
def test_a_view_of_what_is_not_there_is_refused(result: Result, view: View, message: str) -> None:
    with pytest.raises(TableError, match=message):
        replace(result, views=(view,))


def test_a_measure_is_found_by_its_key(result: Result) -> None:
    assert result.measure("accuracy", "plain", "type", "a") == MEASURES[2]
    with pytest.raises(TableError, match="0 rows"):
        result.measure("accuracy", "plain", "type", "c")


def test_shares_are_spoken_in_points_with_their_interval() -> None:
    assert speak({"unit": "share", "value": 0.625, "low": 0.5, "high": None}) == "62.5 [50.0, -]"
    assert speak({"unit": "ratio", "value": 1.5, "low": float("nan"), "high": 2.0}) == "1.500 [-, 2.000]"


def test_a_result_prints_as_a_small_table_with_intervals(result: Result) -> None:
    assert str(result).splitlines() == [
        "accuracy of m: It sees.",
        "  accuracy             62.5 [50.0, 75.0]  n=8",
        "  accuracy (type = a)  75.0 [50.0, 100.0]  n=4",
        "  accuracy (type = b)  50.0 [25.0, 75.0]  n=4",
    ]
