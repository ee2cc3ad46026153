"""NExT-QA: questions about videos with five options, or open-ended."""

import csv
from pathlib import Path

import pytest

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats.nextqa import read_nextqa

HEAD = ["video", "frame_count", "width", "height", "question", "answer", "qid", "type"]
OPTIONS = ["a0", "a1", "a2", "a3", "a4"]
TEXTS = ["sing", "dance, slowly", "run", "sit", "jump"]


def row(answer: object, qid: object = 3, video: str = "0042", question: str = "what next?") -> list[object]:
    return [video, 369, 640, 480, question, answer, qid, "TN"]


def write(folder: Path, rows: list[list[object]], name: str = "val.csv", head: list[str] | None = None) -> Path:
    with (folder / name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEAD + OPTIONS if head is None else head, *rows])
    return folder / name


def fates(data: Dataset) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for _, status, reason, n in data.counts.iter_rows()}


def test_an_index_names_its_option(tmp_path: Path) -> None:
    data = read_nextqa(write(tmp_path, [[*row(1), *TEXTS]]))

    assert data.examples.to_dicts() == [
        {
            "id": "0042-3",
            "image": None,
            "video": "0042",
            "question": "what next?",
            "answer": "dance, slowly",
            "choices": TEXTS,
            "question_type": "TN",
            "frame_count": 369,
            "width": 640,
            "height": 480,
            "split": "val",
        }
    ]
    assert (data.modalities, data.cluster) == (("video", "question"), "video")
    assert fates(data) == {("read", None): 1}


def test_a_qid_counts_within_its_video(tmp_path: Path) -> None:
    rows = [[*row(0, qid, video), *TEXTS] for video in ("1", "01") for qid in (0, 1)]

    assert read_nextqa(write(tmp_path, rows)).examples["id"].to_list() == ["1-0", "1-1", "01-0", "01-1"]


def test_open_ended_answers_are_their_own_text(tmp_path: Path) -> None:
    data = read_nextqa(write(tmp_path, [row("two", 1), row("3", 2), row("", 4)], head=HEAD))

    assert data.examples["answer"].to_list() == ["two", "3", None]
    assert "choices" not in data.examples.columns
    assert fates(data) == {("read", None): 3, ("noted", "row without an answer"): 1}


def test_both_forms_may_lie_in_one_folder(tmp_path: Path) -> None:
    write(tmp_path, [[*row(4), *TEXTS]], "train.csv")
    write(tmp_path, [row("two", 9)], "test.csv", HEAD)

    data = read_nextqa(tmp_path)

    assert data.examples.select("answer", "choices", "split").rows() == [
        ("two", None, "test"),
        ("jump", TEXTS, "train"),
    ]
    assert read_nextqa(tmp_path, split="all").splits() == ("all",)


def test_answers_given_as_text_are_found_among_the_options(tmp_path: Path) -> None:
    numbers = ["1", "2", "3", "4", "0"]

    texts = read_nextqa(write(tmp_path, [[*row(text, at), *TEXTS] for at, text in enumerate(TEXTS)]))
    indices = read_nextqa(write(tmp_path, [[*row(at, at), *numbers] for at in range(5)]))

    assert texts.examples["answer"].to_list() == TEXTS
    assert indices.examples["answer"].to_list() == numbers


def test_every_row_is_read_or_dropped_with_its_reason(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        [*row(0, 0), *TEXTS],
        [*row(5, 1), *TEXTS],
        [*row(0, 0), *TEXTS],
        [*row(0, ""), *TEXTS],
        [*row(0, 2, video=" "), *TEXTS],
        [*row(0, 3, question=" "), *TEXTS],
        [*row(2, 4), "sing", "", "run", "", ""],
        [*row(1, 5), "sing", "", "run", "", ""],
        [*row("by foot", 6), "", "", "", "", ""],
        [*row(0, 7), "sing", "sing", "run", "sit", "jump"],
    ]

    data = read_nextqa(write(tmp_path, rows))

    assert data.examples.select("id", "answer", "choices").rows() == [
        ("0042-0", "sing", TEXTS),
        ("0042-4", "run", ["sing", "run"]),
        ("0042-6", "by foot", None),
        ("0042-7", "sing", ["sing", "sing", "run", "sit", "jump"]),
    ]
    assert fates(data) == {
        ("read", None): 4,
        ("dropped", "row whose answer is not among its choices (read as index or text)"): 2,
        ("dropped", "row without an id"): 2,
        ("dropped", "row without a question"): 1,
        ("dropped", "row with an id seen before"): 1,
        ("noted", "row with the same option twice"): 1,
    }


def test_a_table_of_another_kind_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="a column 'qid'"):
        read_nextqa(write(tmp_path, [["1", "?"]], head=["video", "question"]))
