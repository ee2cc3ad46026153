"""The samples of lmms-eval, lm-eval and LLaVA's scripts become answers by question, whatever their nesting."""

import json
from pathlib import Path

import pytest

from eyechart.base.errors import FileFormatError, UnknownNameError
from eyechart.formats import read
from eyechart.formats.predictions import PredictionFile, read_predictions

Fates = dict[tuple[str, str | None], int]


def read_lines(folder: Path, *records: object, scorer: str | None = None) -> PredictionFile:
    path = folder / "model_samples.jsonl"
    path.write_text("\n".join(record if isinstance(record, str) else json.dumps(record) for record in records))
    return read_predictions(path, scorer=scorer)


def fates(found: PredictionFile) -> Fates:
    return {(status, reason): n for status, reason, n in found.counts.select("status", "reason", "n").iter_rows()}


def lmms(doc_id: int, said: object, **more: object) -> dict[str, object]:
    """Write a sample as lmms-eval does: no doc, and a target that is not the reference."""
    return {"doc_id": doc_id, "input": "what?", "target": "answer", "filtered_resps": said, "doc_hash": "0"} | more


ROW_NUMBER = ("noted", "id is the row's number in the split (doc_id)")


@pytest.mark.parametrize("said", ["cat", ["cat"], [["cat"]], [[["cat"]]]])
def test_old_and_new_nesting_of_lmms_eval_give_the_same_answer(said: object, tmp_path: Path) -> None:
    found = read_lines(tmp_path, lmms(4, said))

    assert found.answers.to_dicts() == [{"id": "4", "answer": "cat", "raw": "cat", "status": "ok", "draw": 0}]


def test_the_target_of_lmms_eval_is_never_read(tmp_path: Path) -> None:
    found = read_lines(tmp_path, lmms(0, "cat", target="dog"))

    assert "dog" not in json.dumps(found.answers.to_dicts())


@pytest.mark.parametrize(
    "metric",
    [
        {"average": {"question_id": 12, "l2_category": "x", "score": 0.0}},
        {"pope_accuracy": {"question_id": "12", "score": 1, "prediction": "yes", "ground_truth": "no"}},
        {"submission": {"question_id": 12, "answer": "cat"}, "exact_match": 0.3},
    ],
)
def test_a_question_id_in_any_metric_wins_over_the_number_of_the_row(metric: dict[str, object], tmp_path: Path) -> None:
    found = read_lines(tmp_path, lmms(0, ["cat"], **metric))

    assert found.answers["id"].to_list() == ["12"]
    assert fates(found) == {("read", None): 1}


def test_where_only_some_samples_have_a_question_id_numbers_of_rows_are_not_mixed_in(tmp_path: Path) -> None:
    found = read_lines(tmp_path, lmms(7, "a", m={"question_id": 1}), lmms(1, "b"))

    assert found.answers.select("id", "answer").rows() == [("1", "a")]
    assert fates(found) == {("read", None): 1, ("dropped", "answer without an id"): 1}


def test_numbers_of_rows_fit_a_table_that_has_no_ids(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("question,answer\nfirst?,a\nsecond?,b\n")
    data = read("table", tmp_path / "data.csv")

    found = read_lines(tmp_path, lmms(1, "b"), lmms(0, "a"))

    joined = data.examples.join(found.answers, on="id", validate="1:1").sort("id")
    assert joined.select("question", "answer_right").rows() == [("first?", "a"), ("second?", "b")]
    assert fates(found)[ROW_NUMBER] == 2


def test_what_the_model_said_is_kept_beside_what_was_filtered(tmp_path: Path) -> None:
    found = read_lines(tmp_path, lmms(0, ["cat"], resps=[["A cat."]]))

    assert found.answers.select("answer", "raw").rows() == [("cat", "A cat.")]


def test_repeated_responses_are_draws(tmp_path: Path) -> None:
    found = read_lines(tmp_path, lmms(0, [["cat", "dog"]], resps=[["A cat", "A dog"]]))

    assert found.answers.select("draw", "answer", "raw").rows() == [(0, "cat", "A cat"), (1, "dog", "A dog")]


def test_two_texts_of_which_one_is_a_truth_value_are_no_likelihood(tmp_path: Path) -> None:
    found = read_lines(tmp_path, lmms(0, ["maybe", "True"]))

    assert found.answers["answer"].to_list() == ["maybe", "True"]


@pytest.mark.parametrize("said", [None, [], [[]], [None]])
def test_a_sample_without_a_response_has_failed(said: object, tmp_path: Path) -> None:
    found = read_lines(tmp_path, lmms(0, said), lmms(1, ""))

    assert found.answers.select("answer", "status").rows() == [(None, "failed"), ("", "ok")]


def test_likelihoods_of_options_that_are_not_named_are_unparsed(tmp_path: Path) -> None:
    """lmms-eval leaves the options out, and some versions log a loss: the best option cannot be told."""
    found = read_lines(tmp_path, lmms(0, [["-1.5", "False"], ["-0.5", "True"]]), lmms(1, ["-1.5", "False"]))

    assert found.answers.select("answer", "status").rows() == [(None, "unparsed")] * 2
    assert fates(found)["noted", "likelihoods of options that the log does not name"] == 2


def test_the_single_file_of_old_lmms_eval_is_read_by_its_docs(tmp_path: Path) -> None:
    sample = lmms(0, [["cat"]], doc={"question_id": 77, "question": "what?"}, arguments=[["what?"]])
    (tmp_path / "vqav2.json").write_text(json.dumps({"args": {}, "model_configs": {"task": "vqav2"}, "logs": [sample]}))

    found = read_predictions(tmp_path / "vqav2.json")

    assert found.answers.select("id", "answer").rows() == [("77", "cat")]


def test_not_a_number_as_python_writes_it_does_not_stop_the_reading(tmp_path: Path) -> None:
    line = '{"doc_id": 0, "filtered_resps": ["caf\\u00e9 \\ud83d"], "exact_match": NaN, "other": -Infinity}'

    assert read_lines(tmp_path, line).answers["answer"].to_list() == ["café ?"]


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"line 2 of .*samples\.jsonl"):
        read_lines(tmp_path, lmms(0, "a"), '{"doc_id": 1, "filtered')


def lm(doc_id: int, said: object, doc: dict[str, object] | None = None, **more: object) -> dict[str, object]:
    return {
        "doc_id": doc_id,
        "doc": doc or {"question": "what?"},
        "target": "0",
        "arguments": {"gen_args_0": {"arg_0": "what?", "arg_1": {"until": ["\n"]}}},
        "resps": [["A cat"]],
        "filtered_resps": said,
        "filter": "none",
        "metrics": ["exact_match"],
        "exact_match": 1.0,
    } | more


@pytest.mark.parametrize(
    ("doc", "key"),
    [({"question_id": 5, "id": 6}, "5"), ({"id": "006"}, "006"), ({"qid": 7}, "7"), ({"question": "q"}, "0")],
)
def test_lm_eval_is_joined_by_the_id_of_its_doc(doc: dict[str, object], key: str, tmp_path: Path) -> None:
    found = read_lines(tmp_path, lm(0, ["cat"], doc))

    assert found.answers.select("id", "answer", "raw").rows() == [(key, "cat", "A cat")]
    assert (ROW_NUMBER in fates(found)) == ("question" in doc)


def test_one_filter_is_taken_where_a_task_has_several(tmp_path: Path) -> None:
    samples = [lm(n, [f"{name} {n}"], filter=name) for n in (0, 1) for name in ("strict", "flexible")]

    first, other = (read_lines(tmp_path, *samples, scorer=name) for name in (None, "flexible"))

    assert first.answers["answer"].to_list() == ["strict 0", "strict 1"]
    assert fates(first)["dropped", "answer by another filter than 'strict'"] == 2
    assert fates(first)["noted", "answer by filter 'strict', the first of strict, flexible"] == 2
    assert other.answers["answer"].to_list() == ["flexible 0", "flexible 1"]
    with pytest.raises(UnknownNameError, match="did you mean 'strict'"):
        read_lines(tmp_path, *samples, scorer="strikt")


@pytest.mark.parametrize("said", [[["A cat"]], [["A cat", "A dog"]]])
def test_an_answer_no_filter_found_is_unparsed(said: object, tmp_path: Path) -> None:
    found = read_lines(tmp_path, lm(0, ["[invalid]"], resps=said))

    assert found.answers.select("answer", "raw", "status").rows() == [(None, "A cat", "unparsed")]


@pytest.mark.parametrize("said", [[[-2.5, False], [-0.5, True]], [["-2.5", "False"], ["-0.5", "True"]]])
@pytest.mark.parametrize(
    "arguments",
    [
        [["q", " red"], ["q", " blue"]],
        {"gen_args_0": {"arg_0": "q", "arg_1": " red"}, "gen_args_1": {"arg_0": "q", "arg_1": " blue"}},
    ],
)
def test_the_likeliest_option_is_the_answer(said: object, arguments: object, tmp_path: Path) -> None:
    (answer,) = read_lines(tmp_path, lm(0, said, arguments=arguments)).answers.to_dicts()

    assert (answer["answer"], answer["status"], answer["score_kind"]) == ("blue", "ok", "logprob")
    assert answer["scores"] == [{"answer": "red", "score": -2.5}, {"answer": "blue", "score": -0.5}]


def llava(key: object, text: object, **more: object) -> dict[str, object]:
    return {"question_id": key, "prompt": "q", "text": text, "answer_id": "x", "model_id": "m", "metadata": {}} | more


def test_answers_of_llava_are_its_texts(tmp_path: Path) -> None:
    found = read_lines(tmp_path, llava("007", "yes"), llava(8, "no"), llava("007", "no"))

    assert found.answers.rows() == [("007", "yes"), ("8", "no")]
    assert fates(found) == {("read", None): 2, ("dropped", "id answered before, other answer"): 1}


def test_further_rounds_of_llava_are_no_draws(tmp_path: Path) -> None:
    found = read_lines(tmp_path, *(llava(1, text, round_id=n) for n, text in enumerate("ABC")))

    assert found.answers.rows() == [("1", "A")]
    assert fates(found)["dropped", "later round of a question, its options shifted"] == 2


def test_answers_of_two_models_in_one_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"one model in .* answers of m, other"):
        read_lines(tmp_path, llava(1, "a"), llava(2, "b", model_id="other"))
