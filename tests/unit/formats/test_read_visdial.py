"""VisDial: every round is a row that remembers what was said before it."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats.visdial import read_visdial

QUESTIONS = ["is it sunny", "any people", "what color", "is it old"]
ANSWERS = ["yes", "no", "red", "2", "i think so", "yes"]  # one text stands twice
Round = dict[str, Any]


def one_round(question: int, options: list[int], right: int, **more: object) -> Round:
    return {"question": question, "answer": options[right], "answer_options": options, "gt_index": right} | more


def dialog(image: object, *rounds: object) -> dict[str, object]:
    return {"image_id": image, "caption": f"a picture of {image}", "dialog": list(rounds)}


def write(folder: Path, dialogs: object, name: str = "visdial_1.0_val.json", split: str | None = None) -> Path:
    data = {"questions": QUESTIONS, "answers": ANSWERS, "dialogs": dialogs}
    (folder / name).write_text(json.dumps({"version": "1.0", "split": split, "data": data}))
    return folder / name


def fates(data: Dataset) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for _, status, reason, n in data.counts.iter_rows()}


def test_numbers_become_texts_and_repeated_candidates_stay(tmp_path: Path) -> None:
    rounds = [one_round(0, [1, 0, 5], 1), one_round(2, [2, 3], 0)]

    data = read_visdial(write(tmp_path, [dialog(42, *rounds)], split="val2018"))

    assert data.examples.to_dicts() == [
        {
            "id": "42-1",
            "image": "42",
            "question": "is it sunny",
            "answer": "yes",
            "caption": "a picture of 42",
            "history": "",
            "choices": ["no", "yes", "yes"],
            "split": "val",
        },
        {
            "id": "42-2",
            "image": "42",
            "question": "what color",
            "answer": "red",
            "caption": "a picture of 42",
            "history": "Q: is it sunny A: yes",
            "choices": ["red", "2"],
            "split": "val",
        },
    ]
    assert data.modalities == ("image", "question", "caption", "history")
    assert data.cluster == "image"
    assert fates(data) == {("read", None): 2}


def test_history_is_what_a_loop_over_the_dialog_remembers(tmp_path: Path) -> None:
    draw = random.Random(3)  # noqa: S311 - dialogs to compare, no secrets
    dialogs = [
        dialog(image, *(one_round(draw.randrange(4), draw.sample(range(6), 3), draw.randrange(3)) for _ in range(size)))
        for image, size in enumerate([10, 1, 4, 7])
    ]
    expected = {}
    for one in dialogs:
        lines: list[str] = []
        for number, said in enumerate(one["dialog"], start=1):  # type: ignore[arg-type, var-annotated]
            expected[f"{one['image_id']}-{number}"] = "\n".join(lines)
            lines.append(f"Q: {QUESTIONS[said['question']]} A: {ANSWERS[said['answer']]}")

    data = read_visdial(write(tmp_path, dialogs))

    assert dict(data.examples.select("id", "history").iter_rows()) == expected


def test_rounds_of_a_test_set_lack_candidates_or_the_answer(tmp_path: Path) -> None:
    last = {"question": 1, "answer_options": [0, 1]}

    data = read_visdial(write(tmp_path, [dialog(7, {"question": 0, "answer": 4}, last)], "visdial_1.0_test.json"))

    assert data.examples.select("answer", "choices", "history").rows() == [
        ("i think so", None, ""),
        (None, ["yes", "no"], "Q: is it sunny A: i think so"),
    ]
    assert data.splits() == ("test",)
    assert fates(data) == {("read", None): 2, ("noted", "round without an answer"): 1}


def test_the_index_gives_the_answer_where_nothing_else_does_and_is_checked_where_it_does_not(tmp_path: Path) -> None:
    rounds = [
        one_round(0, [0, 1], 1, answer=None),
        one_round(0, [0, 1], 1, answer=0),
        one_round(0, [0, 1], 1, answer=2),
        one_round(0, [0, 1], 1, gt_index=-1),
    ]

    data = read_visdial(write(tmp_path, [dialog(7, *rounds)]))

    assert data.examples["answer"].to_list() == ["no", "yes", "red", "no"]
    assert data.examples["choices"].to_list() == [["yes", "no"], ["yes", "no"], None, ["yes", "no"]]
    assert fates(data) == {
        ("read", None): 4,
        ("noted", "round whose gt_index is of another answer"): 2,
        ("noted", "choices left out: the answer is not among them"): 1,
    }


def test_relevance_lies_on_the_annotated_round_only(tmp_path: Path) -> None:
    path = write(tmp_path, [dialog(n, one_round(0, [0, 1], 0), one_round(1, [2, 3], 0)) for n in (7, 8, 9)])
    dense = [
        {"image_id": 8, "round_id": 2, "gt_relevance": [1, 0.5]},
        {"image_id": 7, "round_id": 1, "relevance": [0.25, 0.0]},
        {"image_id": 9, "round_id": 1, "relevance": [0.25]},
        {"image_id": 9, "round_id": 2, "relevance": [0.25, None]},
        {"image_id": 9, "round_id": 3, "relevance": [0.25, 1]},
        {"image_id": 8, "round_id": 2, "gt_relevance": [0, 0]},
        "no record",
    ]
    (tmp_path / "dense.json").write_text(json.dumps(dense))

    data = read_visdial(path, dense=tmp_path / "dense.json")

    found = {key: marks for key, marks in data.examples.select("id", "relevance").iter_rows() if marks is not None}
    assert found == {"8-2": [1.0, 0.5], "7-1": [0.25, 0.0]}
    assert fates(data) == {
        ("read", None): 6,
        ("noted", "dense annotation: entry that is not a record"): 1,
        ("noted", "dense annotation that matches no round with as many candidates"): 4,
    }


def test_every_damaged_round_is_counted_and_costs_no_other(tmp_path: Path) -> None:
    fine = one_round(0, [0, 1], 0)
    dialogs = [
        dialog(
            1, fine, "no record", None, one_round(99, [0, 1], 0), one_round(1, [0, 99], 0), fine | {"question": "x"}
        ),
        dialog(None, fine, fine),
        dialog(1, fine),
        dialog(2),
        {"image_id": 3},
        "no dialog",
        dialog("007", fine),
    ]

    data = read_visdial(write(tmp_path, dialogs))

    assert data.examples["id"].to_list() == ["1-1", "1-5", "007-1"]
    assert data.examples["history"][1] == "Q: is it sunny A: yes\nA: yes"
    assert data.examples["choices"][1] is None
    assert fates(data) == {
        ("read", None): 3,
        ("dropped", "round that is not a record"): 2,
        ("dropped", "round without an image"): 2,
        ("dropped", "round without a question"): 2,
        ("dropped", "round with an id seen before"): 1,
        ("noted", "candidates that cannot all be read, left out"): 1,
        ("noted", "dialog without rounds"): 3,
    }


def test_several_splits_and_pictures_in_one_folder(tmp_path: Path) -> None:
    write(tmp_path, [dialog(1, one_round(0, [0, 1], 0))], "visdial_1.0_train.json")
    write(tmp_path, [dialog(2, one_round(0, [0, 1], 0))], "visdial_1.0_val.json")
    (tmp_path / "visdial_1.0_val_dense_annotations.json").write_text(json.dumps([{"image_id": 2}, {"image_id": 3}]))
    for name in ("COCO_train2014_000000000001.jpg", "VisualDialog_val2018_000000000002.jpg"):
        (tmp_path / name).touch()

    data = read_visdial(tmp_path, images=tmp_path)

    assert data.examples["split"].to_list() == ["train", "val"]
    assert data.images.table["path"].to_list() == [
        "COCO_train2014_000000000001.jpg",
        "VisualDialog_val2018_000000000002.jpg",
    ]
    assert fates(data)["noted", "file without dialogs, skipped (dense annotations: see dense)"] == 1
    assert read_visdial(tmp_path, split="all").splits() == ("all",)


@pytest.mark.parametrize("content", ["[]", "{}", '{"data": {}}', '{"data": 3}', "[1, 2]", '"text"'])
def test_a_file_without_dialogs_is_one_clear_error(content: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(content)

    with pytest.raises(FileFormatError, match=r"data\.dialogs"):
        read_visdial(tmp_path)


@pytest.mark.parametrize("questions", [[], None])
def test_rounds_whose_questions_are_not_there_are_dropped(questions: object, tmp_path: Path) -> None:
    data = {"questions": questions, "answers": ANSWERS, "dialogs": [dialog(1, one_round(0, [0, 1], 0))]}
    (tmp_path / "x.json").write_text(json.dumps({"data": data}))

    assert fates(read_visdial(tmp_path)) == {("read", None): 0, ("dropped", "round without a question"): 1}


def test_a_blank_answer_is_none_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ANSWERS", [" ", "no"])

    data = read_visdial(write(tmp_path, [dialog(7, {"question": 0, "answer": 0}, {"question": 1, "answer": 1})]))

    assert data.examples["answer"].to_list() == [None, "no"]
    assert fates(data)["noted", "round without an answer"] == 1
