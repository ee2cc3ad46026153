"""Results hold tables and words, keep their keys in order, and survive the disk."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from eyechart.base.errors import FileFormatError, TableError
from eyechart.data.result import OUTDATED, Key, Measure, Result, Verdict, View, measures_table, speak
from eyechart.data.tables import COUNTS, empty

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
        verdict=Verdict("yes", "Does it see?", "sees", "It sees.", MEASURES[1].key, 0.1),
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


def test_verdicts_on_further_questions_come_back_from_disk_with_their_measures(result: Result, tmp_path: Path) -> None:
    sees_more = Verdict("cannot tell", "Does it see more?", "too close to tell", "Too close.", MEASURES[0].key, 0.1)
    replace(result, further=(sees_more,)).save(tmp_path / "it")
    loaded = Result.load(tmp_path / "it")

    assert loaded.verdicts == (result.verdict, sees_more)
    assert loaded.headlines == (MEASURES[1], MEASURES[0])
    assert str(loaded).startswith("accuracy of m: It sees. Too close.")


def test_a_further_verdict_that_rests_on_nothing_is_refused(result: Result) -> None:
    baseless = Verdict("no", "Does it see more?", "blind", "It does not.", Key("nothing"), 0.1)

    with pytest.raises(TableError, match="based on one of its measures"):
        replace(result, further=(baseless,))


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


def test_a_verdict_leads_to_its_measure(result: Result) -> None:
    assert result.headline == MEASURES[1]
    untested = replace(result, verdict=Verdict("not tested", "Does it see?", "no model yet", "Nobody was asked."))
    assert untested.headline is None


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (None, "the verdict of accuracy to name the measure it is based on; found 'no' without a measure"),
        (
            Key("gain", "plain"),
            "the verdict of accuracy to be based on one of its measures; found none Key.name='gain'",
        ),
        (Key("accuracy"), "the verdict of accuracy to be based on one of its measures"),
    ],
)
def test_a_verdict_that_rests_on_nothing_is_refused(result: Result, key: Key | None, message: str) -> None:
    with pytest.raises(TableError, match=message):
        replace(result, verdict=Verdict("no", "Does it see?", "blind", "It does not.", key))


@pytest.mark.parametrize(("column", "value"), [("unit", "share"), ("better", "faster")])
def test_a_measure_of_no_known_unit_or_direction_is_refused(result: Result, column: str, value: str) -> None:
    with pytest.raises(TableError, match=f"one of .* in column '{column}'"):
        replace(result, measures=result.measures.with_columns(pl.lit(value).alias(column)))


def test_tables_of_a_saved_result_are_read_when_they_are_asked_for(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "it")
    read: list[str] = []

    def reading(path: Path) -> pl.DataFrame:
        read.append(path.stem)
        return pl.read_parquet(path)

    loaded = Result.load(tmp_path / "it", reading)

    assert (loaded.verdict, list(loaded.tables), read) == (result.verdict, ["counts", "worst"], [])
    assert loaded.rows.height == 3
    assert loaded.tables["worst"].height == 1
    assert read == ["rows", "worst"]


def test_all_of_a_result_can_be_read_before_its_folder_goes(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "it")
    whole = Result.load(tmp_path / "it").read()
    shutil.rmtree(tmp_path / "it")

    assert whole.rows.equals(result.rows)
    assert whole.tables["worst"].equals(result.tables["worst"])


def test_a_torn_table_is_told_when_it_is_asked_for(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "it")
    file = tmp_path / "it" / "rows.parquet"
    file.write_bytes(file.read_bytes()[:-9])
    loaded = Result.load(tmp_path / "it")

    assert loaded.measures.height == 3
    with pytest.raises(FileFormatError, match=r"rows\.parquet to be intact; found a damaged file"):
        _ = loaded.rows


def test_of_an_older_result_all_is_read_but_its_verdict(result: Result, tmp_path: Path) -> None:
    """Format 1 knew no direction, spoke of shares, and its verdicts named neither question nor condition."""
    result.save(tmp_path / "it")
    settings, measures = tmp_path / "it" / "settings.json", tmp_path / "it" / "measures.parquet"
    old = {"format": 1, "verdict": {"state": "clear", "measure": "accuracy", "sentence": "It sees."}}
    settings.write_text(json.dumps(json.loads(settings.read_text()) | old))
    result.measures.drop("better").with_columns(pl.lit("share").alias("unit")).write_parquet(measures)
    loaded = Result.load(tmp_path / "it")

    assert loaded.verdict == OUTDATED
    assert loaded.measures.drop("better").equals(result.measures.drop("better"))
    assert set(loaded.measures["better"]) == {"neither"}
    assert loaded.rows.equals(result.rows)


def test_a_newer_result_is_refused(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "it")
    settings = tmp_path / "it" / "settings.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"format": 99}))

    with pytest.raises(FileFormatError, match=r"found format 99, written by eyechart .*; upgrade eyechart to read it"):
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
    assert speak({"unit": "points", "value": 0.625, "low": 0.5, "high": None}) == "62.5 [50.0, -]"
    assert speak({"unit": "ratio", "value": 1.5, "low": float("nan"), "high": 2.0}) == "1.500 [-, 2.000]"


def test_a_result_prints_as_a_small_table_with_intervals(result: Result) -> None:
    assert str(result).splitlines() == [
        "accuracy of m: It sees.",
        "  accuracy             62.5 [50.0, 75.0]  n=8",
        "  accuracy (type = a)  75.0 [50.0, 100.0]  n=4",
        "  accuracy (type = b)  50.0 [25.0, 75.0]  n=4",
    ]
