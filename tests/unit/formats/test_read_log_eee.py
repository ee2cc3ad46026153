"""Samples in the Every Eval Ever form become answers, those of other writers too."""

import json
from pathlib import Path

import pytest

from eyechart.base.errors import FileFormatError
from eyechart.formats.predictions import PredictionFile, read_predictions

Record = dict[str, object]


def line(key: object, raw: list[str], **more: object) -> Record:
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "e",
        "model_id": "m",
        "evaluation_name": "vqa",
        "sample_id": key,
        "interaction_type": "single_turn",
        "input": {"raw": "what?", "reference": ["dog"]},
        "output": {"raw": raw},
        "answer_attribution": [],
        "evaluation": {"score": 1.0, "is_correct": True},
    } | more


def extracted(*values: str, final: bool = True) -> list[Record]:
    common = {"turn_idx": 0, "source": "output.raw", "extraction_method": "regex"}
    return [common | {"extracted_value": value, "is_terminal": final} for value in values]


def read_eee(folder: Path, *records: object) -> PredictionFile:
    (folder / "x_samples.jsonl").write_text("\n".join(map(json.dumps, records)))
    return read_predictions(folder / "x_samples.jsonl")


def fates(found: PredictionFile) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for status, reason, n in found.counts.select("status", "reason", "n").iter_rows()}


def test_the_answer_is_what_was_extracted_last_as_final(tmp_path: Path) -> None:
    attribution = [*extracted("a", "b"), *extracted("c", final=False)]

    found = read_eee(tmp_path, line("01", ["It is b"], answer_attribution=attribution), line("02", ["It is c"]))

    assert found.answers.select("id", "answer", "raw", "status").rows() == [
        ("01", "b", "It is b", "ok"),
        ("02", "It is c", "It is c", "ok"),
    ]


def test_epochs_of_another_converter_are_draws(tmp_path: Path) -> None:
    lines = [line("1", [text], metadata={"epoch": epoch}) for text, epoch in (("b", "2"), ("a", "1"), ("c", "10"))]

    found = read_eee(tmp_path, *lines)

    assert dict(found.answers.select("draw", "answer").rows()) == {0: "a", 1: "b", 2: "c"}


def test_a_line_for_each_metric_is_one_answer(tmp_path: Path) -> None:
    found = read_eee(tmp_path, *(line("1", ["a"], evaluation_result_id=name) for name in ("acc", "f1")))

    assert found.answers.height == 1
    assert fates(found) == {("read", None): 1, ("dropped", "id answered before, same answer"): 1}


def test_errors_and_empty_outputs_are_failures(tmp_path: Path) -> None:
    found = read_eee(tmp_path, line("1", ["half an ans"], error="timeout"), line("2", []), line("3", [""]))

    assert found.answers.select("answer", "raw", "status").rows() == [
        (None, "half an ans", "failed"),
        (None, None, "failed"),
        ("", "", "ok"),
    ]


def test_a_conversation_is_answered_by_its_last_turn(tmp_path: Path) -> None:
    turns = [{"turn_idx": n, "role": role, "content": role} for n, role in enumerate(("user", "assistant", "tool"))]
    last = {"turn_idx": 3, "role": "assistant", "content": "cat"}

    found = read_eee(tmp_path, line("1", [], interaction_type="agentic", output=None, messages=[*turns, last]))

    assert found.answers["answer"].to_list() == ["cat"]


def test_several_responses_are_noted(tmp_path: Path) -> None:
    found = read_eee(tmp_path, line("1", ["a", "b"], answer_attribution=extracted("a")))

    assert found.answers.select("answer", "raw").rows() == [("a", "a")]
    assert fates(found)["noted", "sample with several responses, the first kept as raw"] == 1


def test_conditions_stand_in_the_metadata(tmp_path: Path) -> None:
    found = read_eee(tmp_path, line("1", ["a"], metadata={"condition": "image#1"}), line("1", ["b"], metadata=None))

    assert found.answers.select("condition", "answer").rows() == [("image#1", "a"), ("plain", "b")]


def test_a_draw_that_is_no_number_is_dropped(tmp_path: Path) -> None:
    found = read_eee(tmp_path, *(line("1", ["a"], metadata={"draw": draw}) for draw in ("0", "x", "-1")))

    assert fates(found) == {("read", None): 1, ("dropped", "answer whose draw is not a whole number"): 2}


def test_several_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="answers of m, n"):
        read_eee(tmp_path, line("1", ["a"]), line("1", ["b"], model_id="n"))


def test_the_aggregate_beside_the_samples_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(
        json.dumps({"schema_version": "0.3.0", "evaluation_id": "e", "evaluation_results": [{}]})
    )

    with pytest.raises(FileFormatError, match=r"give the \.\.\._samples\.jsonl next to it"):
        read_predictions(tmp_path / "x.json")
    read_eee(tmp_path, line("1", ["a"]))
    assert read_predictions(tmp_path).answers.height == 1
