"""Answers of a model come out of every file by their id, and no duplicate is chosen in silence."""

import gzip
import json
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from eyechart.base.errors import EyechartError, FileFormatError, SettingError, UnknownNameError
from eyechart.data.dataset import Dataset
from eyechart.data.tables import COUNTS, check
from eyechart.formats.predictions import LOG_FORMATS, PredictionFile, read_predictions


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
        ("dropped", "entry that is not a record"): 1,
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


def test_ids_of_gqa_keep_their_leading_zeros(tmp_path: Path) -> None:
    found = predictions(
        tmp_path, [{"questionId": "00123", "prediction": "yes"}, {"questionId": "123", "prediction": "no"}]
    )

    assert found.answers.rows() == [("00123", "yes"), ("123", "no")]


def test_attention_without_answers_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(
        SettingError, match=r"a column 'answer' in .*answers\.json; found columns questionId, attention"
    ):
        predictions(tmp_path, [{"questionId": "1", "attention": [[0.5] * 7] * 7}])


def test_pickled_answers_are_never_opened(tmp_path: Path) -> None:
    (tmp_path / "all.pkl").write_bytes(b"cos\nsystem\n(S'false'\ntR.")

    with pytest.raises(FileFormatError, match="a pickle, which eyechart never opens"):
        read_predictions(tmp_path / "all.pkl")


@pytest.mark.parametrize("column", ["epoch", "annotator"])
def test_epochs_and_annotators_of_a_table_are_draws_of_each_question(column: str, tmp_path: Path) -> None:
    rows = [("1", "10", "c"), ("1", "9", "b"), ("2", "9", "x"), ("1", "9", "again")]

    found = predictions(tmp_path, [{"id": key, column: who, "answer": said} for key, who, said in rows])

    assert found.answers.select("id", "draw", "answer").rows() == [("1", 1, "c"), ("1", 0, "b"), ("2", 0, "x")]
    assert fates(found)["dropped", "id answered before, other answer"] == 1


def test_annotators_go_by_their_names(tmp_path: Path) -> None:
    found = predictions(tmp_path, [{"id": 1, "annotator": who, "answer": who} for who in ("zoe", "ann", None)])

    assert dict(found.answers.select("answer", "draw").rows()) == {None: 0, "ann": 1, "zoe": 2}


@pytest.mark.parametrize(
    ("draws", "kept"), [([0, 2], [0, 2]), (["0", None], [0, 0]), ([-1, 4], [0, 1]), (["b", "a"], [1, 0])]
)
def test_draws_are_kept_where_they_are_numbers_from_0(draws: list[object], kept: list[int], tmp_path: Path) -> None:
    rows = [{"id": n if draws[1] is None else 1, "answer": "a", "draw": draw} for n, draw in enumerate(draws)]

    assert predictions(tmp_path, rows).answers["draw"].to_list() == kept


def test_statuses_of_ours_are_kept_and_other_words_are_not(tmp_path: Path) -> None:
    ours = predictions(
        tmp_path, [{"id": 1, "answer": "a", "status": "refused"}, {"id": 2, "answer": None, "status": None}]
    )
    theirs = predictions(tmp_path, [{"id": 1, "answer": "a", "status": "200 OK", "raw": "A."}])

    assert ours.answers["status"].to_list() == ["refused", "failed"]
    assert theirs.answers.columns == ["id", "answer", "raw"]
    assert fates(theirs)["noted", "column 'status' holds values other than ours: left out"] == 1


def test_a_row_without_a_condition_is_plain(tmp_path: Path) -> None:
    found = predictions(
        tmp_path, [{"id": 1, "answer": "a", "condition": None}, {"id": 1, "answer": "b", "condition": "rest"}]
    )

    assert found.answers.select("condition", "answer").rows() == [("plain", "a"), ("rest", "b")]


DATASETS = {
    "questions": {"questions": [{"question_id": 1, "image_id": 2, "question": "what?"}]},
    "annotations": {"annotations": [{"question_id": 1, "image_id": 2, "multiple_choice_answer": "a", "answers": []}]},
    "gqa": {"01": {"question": "what?", "imageId": "2", "answer": "a"}},
    "table": [{"id": 1, "image": 2, "question": "what?", "answer": "a"}],
    "choices": [{"id": 1, "question": "what?", "choices": ["a", "b"], "answer": "a"}],
}


@pytest.mark.parametrize("name", DATASETS)
def test_a_dataset_given_as_predictions_is_named_as_such(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="a dataset: questions and references"):
        predictions(tmp_path, DATASETS[name])


def test_a_saved_dataset_given_as_predictions_is_named_as_such(tiny: Dataset, tmp_path: Path) -> None:
    tiny.save(tmp_path / "data")

    with pytest.raises(FileFormatError, match="a dataset: questions and references"):
        read_predictions(tmp_path / "data")


def test_a_model_that_repeats_the_questions_is_read_with_a_map(tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text(json.dumps(DATASETS["table"]))

    assert read_predictions(tmp_path / "it.json", {"answer": "answer"}).answers.rows() == [("1", "a")]


@pytest.mark.parametrize("said", ["prediction", "pred", "response"])
def test_the_reference_is_never_taken_for_the_answer(said: str, tmp_path: Path) -> None:
    """Most files that have both mean the reference by `answer`."""
    rows = [{"id": 1, "answer": "gold", said: "mine"}]
    with pytest.raises(SettingError, match=f"say which with map, such as answer={said}"):
        predictions(tmp_path, rows)

    assert read_predictions(tmp_path / "answers.json", {"answer": said}).answers.rows() == [("1", "mine")]


@pytest.mark.parametrize("tool", ["lmms_eval_version", "lm_eval_version"])
def test_aggregate_results_are_named_as_such(tool: str, tmp_path: Path) -> None:
    content = {"results": {"vqav2": {"exact_match": 0.7}}, "configs": {"vqav2": {}}, tool: "1", "date": 1.0}

    with pytest.raises(FileFormatError, match=r"aggregate results of lm-eval or lmms-eval; log the samples too"):
        predictions(tmp_path, content)


def test_a_format_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text('[{"index": 1, "prediction": "a", "id": 5}]')

    answers = {
        name: read_predictions(tmp_path / "it.json", format=name).answers for name in ("auto", "vlmeval", "table")
    }

    assert {name: table["id"].to_list() for name, table in answers.items()} == {
        "auto": ["1"],
        "vlmeval": ["1"],
        "table": ["5"],
    }


def test_a_misspelt_format_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text('{"1": "a"}')

    with pytest.raises(UnknownNameError, match="did you mean 'inspect'"):
        read_predictions(tmp_path / "it.json", format="inspekt")


@pytest.mark.parametrize("name", LOG_FORMATS.names())
@pytest.mark.parametrize(
    ("suffix", "content"),
    [(".json", b'{"1": "a"}'), (".csv", b"a,b\n1,2\n"), (".eval", b"PK"), (".xlsx", b"PK"), (".jsonl", b'{"a": 1}\n3')],
)
def test_a_wrong_format_gives_no_answers_and_at_worst_a_clear_error(
    name: str, suffix: str, content: bytes, tmp_path: Path
) -> None:
    (tmp_path / f"it{suffix}").write_bytes(content)
    found = None

    with suppress(EyechartError):
        found = read_predictions(tmp_path / f"it{suffix}", format=name)

    assert found is None or found.answers.is_empty() or (name, suffix) == ("table", ".json")


def test_a_map_is_for_tables_alone(tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text('{"1": "a"}')

    with pytest.raises(SettingError, match="a map only for a table"):
        read_predictions(tmp_path / "it.json", {"id": "x"}, format="eee")


def test_a_folder_can_hold_parts_of_several_formats(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"1": "a"}')
    (tmp_path / "b.jsonl").write_text('{"doc_id": 2, "filtered_resps": "b"}\n{"doc_id": 1, "filtered_resps": "c"}')

    found = read_predictions(tmp_path)

    assert found.answers.select("id", "answer", "status", "draw").rows() == [("1", "a", "ok", 0), ("2", "b", "ok", 0)]
    assert fates(found)["dropped", "id answered before, other answer"] == 1


@pytest.mark.parametrize("name", ["it.json", "it.jsonl"])
def test_json_as_python_writes_it_is_read(name: str, tmp_path: Path) -> None:
    row = '{"id": 1, "answer": "a", "loss": NaN}'
    (tmp_path / name).write_text(f"[{row}]" if name == "it.json" else row)

    assert read_predictions(tmp_path / name).answers.rows() == [("1", "a")]


@pytest.mark.parametrize("name", ["it.json", "it.jsonl", "it.parquet", "it.xlsx", "it.eval"])
@pytest.mark.parametrize("content", [b"", b" \n", b"PAR1 no table"])
def test_a_file_that_holds_nothing_to_read_is_one_clear_error(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(FileFormatError, match=name):
        read_predictions(tmp_path / name)


def test_a_list_under_the_name_of_json_lines_is_read(tmp_path: Path) -> None:
    (tmp_path / "it.jsonl").write_text('[{"question_id": 1, "answer": "red"},\n{"question_id": 2, "answer": NaN}]')

    found = read_predictions(tmp_path / "it.jsonl")

    assert found.answers.select("id", "answer").rows() == [("1", "red"), ("2", None)]


def test_files_of_other_things_beside_answers_are_not_answers(tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text(json.dumps([{"id": "1", "prediction": "red"}]))
    (tmp_path / "gold.json").write_text(json.dumps([{"id": "1", "truth": "blue"}]))

    with pytest.raises(FileFormatError, match=r"answers in each of the 2 files; found none in .*gold\.json"):
        read_predictions(tmp_path)
