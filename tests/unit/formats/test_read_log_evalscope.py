"""The reviews and predictions of EvalScope become answers by sample, with letters as the prompt meant them."""

import json
from pathlib import Path

import pytest

from eyechart.base.errors import FileFormatError
from eyechart.formats.predictions import PredictionFile, read_predictions

Record = dict[str, object]
PICTURE = {"type": "image", "image": "data:image/png;base64,AAAA"}


def asked(options: str, question: str = "what?") -> list[Record]:
    parts = [{"type": "text", "text": "Answer with 'ANSWER: [LETTER]'."}, PICTURE]
    return [{"role": "user", "content": [*parts, {"type": "text", "text": f"{question}\n\n{options}"}]}]


def review(index: int, extracted: str | None, options: str = "", **more: object) -> Record:
    """Write a line of `reviews`, as version 1.14 does."""
    said = None if extracted is None else f"ANSWER: {extracted}"
    score = {"value": {"accuracy": 0.0}, "status": "success", "extracted_prediction": extracted, "prediction": said}
    return {
        "index": index,
        "target": ["A"],
        "messages": [*asked(options, f"what {index}?"), {"role": "assistant", "content": said, "model": "m"}],
        "sample_score": {"score": score, "sample_id": index, "group_id": index} | more,
    }


def prediction(index: int, said: str | None, question: str | None = None, **more: object) -> Record:
    """Write a line of `predictions`."""
    choices = [] if said is None else [{"message": {"role": "assistant", "content": said}, "stop_reason": "stop"}]
    output = {"model": "m", "choices": choices} | more
    return {"index": index, "model": "m", "model_output": output, "messages": asked("", question or f"what {index}?")}


def write(folder: Path, name: str, *lines: Record) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def fates(found: PredictionFile) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for status, reason, n in found.counts.select("status", "reason", "n").iter_rows()}


def test_letters_are_the_options_that_the_prompt_showed(tmp_path: Path) -> None:
    """With shuffle_choices the options of each question stand in an order of their own."""
    path = write(tmp_path, "a.jsonl", review(0, "B", "A) red\nB) blue"), review(1, "B", "A) blue\nB) red"))

    found = read_predictions(path)

    assert found.answers.select("id", "answer", "raw", "options").rows() == [
        ("0", "blue", "ANSWER: B", ["red", "blue"]),
        ("1", "red", "ANSWER: B", ["blue", "red"]),
    ]
    assert fates(found)["noted", "letter replaced by the option that the log lists for it"] == 2


def test_an_answer_that_was_not_found_is_unparsed_and_no_answer_failed(tmp_path: Path) -> None:
    empty = review(0, "")
    refused = prediction(3, "no", choices=[{"message": {"content": "no"}, "stop_reason": "content_filter"}])
    path = write(tmp_path, "a.jsonl", empty, review(1, None), prediction(2, "x", error="timeout"), refused)

    found = read_predictions(path)

    assert found.answers.select("id", "answer", "status").rows() == [
        ("0", None, "unparsed"),
        ("1", None, "failed"),
        ("2", None, "failed"),
        ("3", "no", "refused"),
    ]


def test_repeats_are_draws_and_the_id_is_that_of_the_metadata(tmp_path: Path) -> None:
    lines = [
        review(at, letter, group_id=at // 2, generation_index=at % 2, sample_metadata={"id": f"q{at // 2}"})
        for at, letter in enumerate("abcd")
    ]

    found = read_predictions(write(tmp_path, "a.jsonl", *lines))

    assert found.answers.select("id", "draw", "answer").rows() == [
        ("q0", 0, "a"), ("q0", 1, "b"), ("q1", 0, "c"), ("q1", 1, "d"),
    ]  # fmt: skip


def test_a_prediction_counts_only_where_it_was_not_reviewed(tmp_path: Path) -> None:
    write(tmp_path, "run/reviews/m/b_s.jsonl", review(0, "B"))
    write(tmp_path, "run/predictions/m/b_s.jsonl", prediction(0, "ANSWER: B"), prediction(1, "it is red"))
    report = {"name": "m@b", "dataset_name": "b", "model_name": "m", "metrics": []}
    (tmp_path / "run" / "report.json").write_text(json.dumps(report))

    found = read_predictions(tmp_path / "run")

    assert found.answers.select("id", "answer").rows() == [("1", "it is red"), ("0", "B")]
    assert fates(found)["noted", "prediction whose review is read"] == 1
    with pytest.raises(FileFormatError, match="report of EvalScope"):
        read_predictions(tmp_path / "run" / "report.json")


def test_predictions_of_repeats_that_nothing_numbers_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", *(prediction(at, "x", f"question {at // 2}") for at in range(4)))

    with pytest.raises(FileFormatError, match="predictions that repeat questions"):
        read_predictions(path)


def test_rows_of_two_subsets_are_told_apart(tmp_path: Path) -> None:
    """The rows of each are counted from 0."""
    for subset in ("b_easy", "b_hard"):
        write(tmp_path, f"reviews/m/{subset}.jsonl", review(0, subset))

    found = read_predictions(tmp_path)

    assert found.answers.select("id", "answer").rows() == [("b_easy-0", "b_easy"), ("b_hard-0", "b_hard")]
    assert fates(found)["noted", "id begins with the name of its file: the ids of the files overlap"] == 2
