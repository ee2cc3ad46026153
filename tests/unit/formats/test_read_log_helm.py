"""The runs of HELM and lighteval become answers by instance and by doc, with letters as they were shown."""

import json
from pathlib import Path

import polars as pl
import pytest

from eyechart.base.errors import FileFormatError
from eyechart.formats.predictions import PredictionFile, read_predictions

Record = dict[str, object]


def request(key: str, *said: str, mapping: dict[str, str] | None = None, **more: object) -> Record:
    """Write a request state as HELM does: fields without a value are left out."""
    completions = [{"text": text, "logprob": 0, "tokens": []} for text in said]
    return (
        {
            "instance": {"input": {"text": "what?"}, "references": [], "split": "test", "id": key},
            "train_trial_index": 0,
            "request": {"model": "m", "prompt": "what?"},
            "result": {"success": bool(said), "completions": completions},
        }
        | ({} if mapping is None else {"output_mapping": mapping})
        | more
    )


def run(folder: Path, name: str, *requests: object) -> Path:
    """Write the folder of a run, with the files that hold no answers."""
    place = folder / name
    place.mkdir(parents=True)
    (place / "scenario_state.json").write_text(json.dumps({"adapter_spec": {"model": "m"}, "request_states": requests}))
    (place / "run_spec.json").write_text(json.dumps({"name": "x", "scenario_spec": {}, "adapter_spec": {}}))
    (place / "stats.json").write_text(json.dumps([{"name": {"name": "x"}, "count": 1, "sum": 0, "sum_squared": 0}]))
    (place / "instances.json").write_text(json.dumps([{"input": {}, "references": [], "id": "id0"}]))
    (folder / "costs.json").write_text(json.dumps({"m": {"total": 3}}))
    (folder / "summary.json").write_text(json.dumps({"suite": "s", "date": "2026-11-19"}))  # is no {id: answer}
    shown = [{"instance_id": "id0", "train_trial_index": 0, "predicted_text": "other", "stats": {}}]
    (place / "display_predictions.json").write_text(json.dumps(shown))
    return place


def fates(found: PredictionFile) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for status, reason, n in found.counts.select("status", "reason", "n").iter_rows()}


def test_a_letter_is_the_option_that_helm_maps_it_to(tmp_path: Path) -> None:
    run(
        tmp_path,
        "quiz",
        request("id0", " B", mapping={"A": "red", "B": "blue"}),
        request("id1", "B", mapping={"A": "blue", "B": "red"}),
        request("id2", "no idea", mapping={"A": "blue", "B": "red"}),
        request("id3", "a bus"),
    )

    found = read_predictions(tmp_path)

    assert found.answers.select("id", "answer", "raw").rows() == [
        ("id0", "blue", " B"),
        ("id1", "red", "B"),
        ("id2", "no idea", "no idea"),
        ("id3", "a bus", "a bus"),
    ]
    assert fates(found)["read", None] == 4
    assert fates(found)["noted", "file beside the logs, skipped"] == 2


def test_requests_that_failed_and_perturbed_questions_are_no_answers(tmp_path: Path) -> None:
    filtered = {"completions": [{"text": "", "finish_reason": {"reason": "content_filter"}}], "success": True}
    perturbed = request("id3", "x")
    perturbed["instance"] = {"id": "id3", "perturbation": {"name": "robustness"}}
    place = run(tmp_path, "quiz", request("id0"), request("id1", result=filtered), request("id2", "x"), perturbed, None)

    found = read_predictions(place / "scenario_state.json")

    assert found.answers.select("id", "status").rows() == [("id0", "failed"), ("id1", "refused"), ("id2", "ok")]
    assert fates(found) == {
        ("read", None): 3,
        ("dropped", "entry that is not a record"): 1,
        ("dropped", "perturbed copy of a question"): 1,
        ("noted", "id with no answer"): 1,
    }


def test_trials_and_completions_are_draws(tmp_path: Path) -> None:
    place = run(tmp_path, "quiz", request("id0", "a", "b"), request("id0", "c", "d", train_trial_index=1))

    found = read_predictions(place)

    assert found.answers.select("draw", "answer").rows() == list(enumerate("abcd"))


def test_a_request_for_each_option_is_refused(tmp_path: Path) -> None:
    place = run(tmp_path, "quiz", request("id0", "x", reference_index=0), request("id0", "y", reference_index=1))

    with pytest.raises(FileFormatError, match="multiple_choice_joint"):
        read_predictions(place)


def test_display_predictions_alone_are_read(tmp_path: Path) -> None:
    shown = [
        {"instance_id": "id0", "train_trial_index": 0, "predicted_text": "B", "mapped_output": "blue", "stats": {}},
        {"instance_id": "id1", "train_trial_index": 0, "predicted_text": "a bus", "stats": {}},
    ]
    (tmp_path / "display_predictions.json").write_text(json.dumps(shown))

    found = read_predictions(tmp_path / "display_predictions.json")

    assert found.answers.select("id", "answer", "raw").rows() == [("id0", "blue", "B"), ("id1", "a bus", "a bus")]


@pytest.mark.parametrize("name", ["run_spec", "stats", "instances"])
def test_the_files_beside_the_answers_are_told(name: str, tmp_path: Path) -> None:
    place = run(tmp_path, "quiz", request("id0", "x"))

    with pytest.raises(FileFormatError, match=r"scenario_state\.json"):
        read_predictions(place / f"{name}.json")


def detail(number: int, text: list[str], logprobs: list[float] | None = None, **doc: object) -> Record:
    """Write a detail as lighteval 0.13 does."""
    asked = {"query": "what?", "choices": [" red", " blue"], "gold_index": 0, "specific": None, "id": str(number)} | doc
    said = {"text": text, "text_post_processed": None, "logprobs": logprobs or []}
    return {"doc": asked, "metric": {"acc": 0}, "model_response": said}


def details(folder: Path, task: str, *rows: Record) -> Path:
    path = (
        folder / "details" / "m" / "2026-11-19T21-27-38.303634" / f"details_{task}|0_2026-11-19T21-27-38.303634.parquet"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    return path


def test_what_lighteval_logs_is_read_by_the_number_of_the_row_or_an_id_of_its_own(tmp_path: Path) -> None:
    path = details(tmp_path, "quiz", detail(3, ["A bus."]), detail(1, ["a", "b"]), detail(2, []))

    found = read_predictions(path)

    assert found.answers.select("id", "draw", "answer", "status").rows() == [
        ("3", 0, "A bus.", "ok"),
        ("1", 0, "a", "ok"),
        ("1", 1, "b", "ok"),
        ("2", 0, None, "failed"),
    ]
    named = details(tmp_path, "named", detail(0, ["x"], specific={"question_id": 77}))
    assert read_predictions(named).answers["id"].to_list() == ["77"]


def test_the_likeliest_option_of_lighteval_is_a_text_even_where_letters_were_tried(tmp_path: Path) -> None:
    lettered = detail(1, [], [-2.0, -1.0], query="what?\nA. a cat\nB. a dog\nAnswer:", choices=[" A", " B"])
    path = details(tmp_path, "quiz", detail(0, [], [-1.0, -2.0]), lettered)

    answers = read_predictions(path).answers

    assert answers.select("id", "answer", "score_kind").rows() == [("0", "red", "logprob"), ("1", "a dog", "logprob")]
    assert [one["answer"] for one in answers["scores"][1]] == ["a cat", "a dog"]


def test_the_results_of_lighteval_alone_are_told(tmp_path: Path) -> None:
    results = {"config_general": {}, "results": {"quiz|0": {"acc": 0.5}}, "versions": {}}
    (tmp_path / "results.json").write_text(json.dumps(results))

    with pytest.raises(FileFormatError, match="save-details"):
        read_predictions(tmp_path / "results.json")
