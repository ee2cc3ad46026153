"""Answers of a model come out of every file by their id, and no duplicate is chosen in silence."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from eyechart.errors import EyechartError, SettingError
from eyechart.readers.predictions import PredictionFile, read_predictions
from eyechart.tables import COUNTS, check


def predictions(folder: Path, content: object) -> PredictionFile:
    path = folder / "answers.json"
    path.write_text(json.dumps(content))
    return read_predictions(path)


def fates(found: PredictionFile) -> dict[tuple[str, str | None], int]:
    check(found.counts, COUNTS)
    return {(status, reason): n for status, reason, n in found.counts.select("status", "reason", "n").iter_rows()}


@pytest.mark.parametrize(
    "content",
    [
        [{"question_id": 1, "answer": "red car"}, {"question_id": 2, "answer": "3"}],
        [{"questionId": "1", "prediction": "red car"}, {"questionId": "2", "prediction": "3"}],
        {"1": "red car", "2": 3},
        {"1": ["red", "car"], "2": ["3"]},
        {"1": {"answer": "red car"}, "2": {"answer": "3"}},
        {"results": [{"qid": 1, "pred": ["red", "car"]}, {"qid": 2, "pred": [3]}]},
        [{"index": 1.0, "response": "red car"}, {"index": 2.0, "response": 3}],
    ],
)
def test_every_form_of_json_gives_the_same_answers(content: object, tmp_path: Path) -> None:
    found = predictions(tmp_path, content)

    assert found.answers.to_dicts() == [{"id": "1", "answer": "red car"}, {"id": "2", "answer": "3"}]
    assert fates(found) == {("read", None): 2}


def test_values_that_are_no_text_are_written_out(tmp_path: Path) -> None:
    found = predictions(tmp_path, {"1": True, "2": 0.5, "3": None, "4": [1, None, "b"], "5": []})

    assert found.answers["answer"].to_list() == ["true", "0.5", None, "1 b", ""]
    assert fates(found) == {("read", None): 5, ("noted", "id with no answer"): 1}


def test_tables_are_read_with_a_map(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv.gz"
    path.write_bytes(gzip.compress(b"key,said,text\n007,yes,x\n"))

    found = read_predictions(path, {"id": "key", "answer": "said"})

    assert found.answers.to_dicts() == [{"id": "007", "answer": "yes"}]


def test_the_first_answer_to_an_id_stays_and_the_others_are_counted(tmp_path: Path) -> None:
    pairs = [(1, "a"), (2, None), (1, "a"), (1, "b"), (None, "c"), (2, "d"), (2, None)]

    found = predictions(tmp_path, [*({"id": key, "answer": answer} for key, answer in pairs), "stray"])

    assert found.answers.to_dicts() == [{"id": "1", "answer": "a"}, {"id": "2", "answer": None}]
    assert fates(found) == {
        ("read", None): 2,
        ("dropped", "entry that is no record"): 1,
        ("dropped", "answer without an id"): 1,
        ("dropped", "id answered before, same answer"): 2,
        ("dropped", "id answered before, other answer"): 2,
        ("noted", "id with no answer"): 1,
    }


def test_conditions_rankings_and_scores_are_kept(tmp_path: Path) -> None:
    scores = [{"score": 0.5, "answer": "a", "more": 1}]
    rows = [
        {"id": 1, "answer": "a", "condition": c, "ranking": ["a", "b"], "scores": scores} for c in ("plain", "rest")
    ]

    found = predictions(tmp_path, rows)

    kept = {"id": "1", "answer": "a", "ranking": ["a", "b"], "scores": [{"answer": "a", "score": 0.5}]}
    assert found.answers.to_dicts() == [kept | {"condition": "plain"}, kept | {"condition": "rest"}]
    assert found.answers.schema["scores"] == pl.List(pl.Struct({"answer": pl.String, "score": pl.Float64}))


@pytest.mark.parametrize(
    "content", [[], {}, [{"id": 1}], [{"answer": "a"}], 3, [{"id": 1, "answer": "a", "scores": [1]}]]
)
def test_a_file_without_answers_is_one_clear_error(content: object, tmp_path: Path) -> None:
    with pytest.raises(EyechartError, match=r"answers\.json"):
        predictions(tmp_path, content)


def test_two_columns_that_can_be_the_answer_ask_for_a_map(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="prediction and text; say which with map"):
        predictions(tmp_path, [{"id": 1, "text": "a", "prediction": "b"}])
