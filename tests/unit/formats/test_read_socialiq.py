"""Social-IQ 2.0: questions about videos, each a row, or each candidate a row of its own."""

import json
from pathlib import Path
from typing import Any

import pytest

from eyechart.base.errors import FileFormatError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.formats import read
from eyechart.formats.socialiq import read_socialiq

Record = dict[str, Any]


def question(number: int, **more: object) -> Record:
    return {
        "qid": f"clip_q{number}",
        "q": f"why {number}?",
        "vid_name": "clip",
        "ts": "0.00-60.0",
        "answer_idx": 1,
        "idx_types": ["matched", "corr", "rewrite", "matched"],
        **{f"a{at}": f"because {number} {at}" for at in range(4)},
    } | more


def write(folder: Path, records: list[Any], name: str = "qa_train.json") -> Path:
    (folder / name).write_text("\n".join(json.dumps(one) for one in records))
    return folder / name


def fates(data: Dataset) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for _, status, reason, n in data.counts.iter_rows()}


def test_a_question_has_its_options_answer_and_video(tmp_path: Path) -> None:
    data = read_socialiq(write(tmp_path, [question(1), question(2, answer_idx="3")]))

    assert data.examples["answer"].to_list() == ["because 1 1", "because 2 3"]
    assert data.examples["choices"].to_list() == [[f"because {n} {at}" for at in range(4)] for n in (1, 2)]
    assert data.examples["idx_types"].to_list() == [["matched", "corr", "rewrite", "matched"]] * 2
    assert (data.modalities, data.cluster) == (("video", "question"), "video")
    assert fates(data) == {("read", None): 2}


def test_a_candidate_is_true_where_the_index_points(tmp_path: Path) -> None:
    data = read_socialiq(write(tmp_path, [question(1), question(2, answer_idx=None)]), form="binary")

    rows = data.examples.select("id", "answer", "candidate", "idx_type", "qid").rows()
    assert rows[:3] == [
        ("clip_q1-0", "false", "because 1 0", "matched", "clip_q1"),
        ("clip_q1-1", "true", "because 1 1", "corr", "clip_q1"),
        ("clip_q1-2", "false", "because 1 2", "rewrite", "clip_q1"),
    ]
    assert data.examples["answer"].to_list()[4:] == [None] * 4
    assert data.modalities == ("video", "question", "candidate")
    assert fates(data) == {("read", None): 8, ("noted", "row without answer"): 4}


def test_questions_that_share_an_id_are_told_apart_but_copies_go(tmp_path: Path) -> None:
    records = [question(1), question(1, q="another?"), question(1), question(1, q="a third?")]

    data = read_socialiq(write(tmp_path, records))

    assert data.examples.select("id", "question").rows() == [
        ("clip_q1", "why 1?"),
        ("clip_q1#2", "another?"),
        ("clip_q1#3", "a third?"),
    ]
    assert fates(data) == {
        ("read", None): 3,
        ("dropped", "row seen before, word for word"): 1,
        ("noted", "question that shares its id with another, marked by #2"): 2,
    }


def test_an_id_that_looks_like_a_numbered_one_is_not_taken_twice(tmp_path: Path) -> None:
    records = [question(1, qid="x"), question(2, qid="x"), question(3, qid="x#2")]

    data = read_socialiq(write(tmp_path, records))

    assert data.examples["id"].to_list() == ["x", "x#2"]
    assert fates(data)["dropped", "row with an id seen before"] == 1


def test_a_missing_option_shifts_no_index(tmp_path: Path) -> None:
    records = [question(1, a0=None, answer_idx=2), question(2, a3=" ", answer_idx=3), question(3, a2="because 3 1")]
    path = write(tmp_path, records)

    data = read_socialiq(path)
    binary = read_socialiq(path, form="binary")

    assert data.examples.select("answer", "choices", "idx_types").rows()[0] == (
        "because 1 2",
        ["because 1 1", "because 1 2", "because 1 3"],
        None,
    )
    reason = "row whose answer is not among its choices (read as index)"
    assert fates(data) == {
        ("read", None): 2,
        ("dropped", reason): 1,
        ("noted", "question with fewer than four options"): 1,
        ("noted", "row with the same option twice"): 1,
    }
    assert binary.examples["id"].to_list() == [f"clip_q1-{at}" for at in (1, 2, 3)] + [f"clip_q3-{a}" for a in range(4)]
    assert fates(binary) == {
        ("read", None): 7,
        ("dropped", reason): 4,
        ("dropped", "candidate without text"): 1,
        ("noted", "candidate marked false with the text of the true one"): 1,
    }


def test_splits_are_named_by_the_files_or_by_the_setting(tmp_path: Path) -> None:
    write(tmp_path, [question(1), question(2)])
    write(tmp_path, [question(3), question(4)], "qa_val.jsonl")

    assert read_socialiq(tmp_path).examples["split"].to_list() == ["train", "train", "val", "val"]
    assert read_socialiq(tmp_path, split="all").splits() == ("all",)


def test_rows_without_a_video_are_clusters_of_their_own(tmp_path: Path) -> None:
    data = read_socialiq(write(tmp_path, [question(1, vid_name=None), question(2, vid_name=None)]))

    assert data.clusters().n_unique() == 2
    assert fates(data)["noted", "row without video"] == 2


def test_another_file_or_form_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="questions with qid and q"):
        read_socialiq(write(tmp_path, [{"question_id": 1}, {"question_id": 2}]))
    with pytest.raises(SettingError, match="form as one of choice, binary; found 'binari'; did you mean 'binary'"):
        read("socialiq", write(tmp_path, [question(1), question(2)]), form="binari")
