"""POPE: yes/no questions about objects, in files that number them alike."""

import json
from pathlib import Path
from typing import Any

import pytest

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats.pope import read_pope

IMAGE = "COCO_val2014_000000310196.jpg"


def question(number: int, **more: object) -> dict[str, Any]:
    return {"question_id": number, "image": IMAGE, "text": f"Is there a {number} in the image?", "label": "yes"} | more


def write(folder: Path, name: str, *records: object) -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join(json.dumps(one) for one in records))
    return folder / name


def fates(data: Dataset) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for _, status, reason, n in data.counts.iter_rows()}


def test_one_file_keeps_its_numbers(tmp_path: Path) -> None:
    data = read_pope(write(tmp_path, "coco_pope_random.json", question(1), question(2, label=" No ")))

    assert data.examples.to_dicts() == [
        {"id": "1", "image": IMAGE, "question": "Is there a 1 in the image?", "answer": "yes", "category": "random"},
        {"id": "2", "image": IMAGE, "question": "Is there a 2 in the image?", "answer": "no", "category": "random"},
    ]
    assert fates(data) == {("read", None): 2}


def test_several_files_are_told_apart_by_their_categories(tmp_path: Path) -> None:
    for name in ("random", "popular", "adversarial"):
        write(tmp_path, f"coco_pope_{name}.json", question(1), question(2))

    data = read_pope(tmp_path, split="test")

    found = data.examples.select("id", "category").rows()
    assert found == [(f"{name}-{n}", name) for name in ("adversarial", "popular", "random") for n in (1, 2)]
    assert data.splits() == ("test",)


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        (["coco_pope_random.json", "gqa_pope_random.json"], ["coco_pope_random-1", "gqa_pope_random-1"]),
        (["x.jsonl", "y.jsonl"], ["x-1", "y-1"]),
    ],
)
def test_files_of_one_category_are_told_apart_by_their_names(names: list[str], ids: list[str], tmp_path: Path) -> None:
    for name in names:
        write(tmp_path, name, question(1), question(2))

    assert read_pope(tmp_path).examples["id"].to_list()[::2] == ids


def test_files_of_one_name_lose_no_question(tmp_path: Path) -> None:
    for folder in ("coco", "gqa"):
        write(tmp_path, f"{folder}/pope_random.json", question(1), question(2))

    data = read_pope(tmp_path)

    assert data.examples["id"].to_list()[::2] == ["coco/pope_random.json-1", "gqa/pope_random.json-1"]
    assert set(data.examples["category"]) == {"random"}


def test_every_record_has_a_fate(tmp_path: Path) -> None:
    records = [
        question(1),
        question(1),
        question(2, text=""),
        question(3, question_id=None),
        5,
        question(4, label=None),
    ]

    data = read_pope(write(tmp_path, "popular.jsonl", *records, question(5, image=None)))

    assert data.examples["id"].to_list() == ["1", "4", "5"]
    assert fates(data) == {
        ("read", None): 3,
        ("dropped", "entry that is not a record"): 1,
        ("dropped", "row with an id seen before"): 1,
        ("dropped", "row without a question"): 1,
        ("dropped", "row without an id"): 1,
        ("noted", "row without an image"): 1,
        ("noted", "row without an answer"): 1,
    }


def test_objects_and_pictures_are_found_whatever_coco_puts_around_the_number(tmp_path: Path) -> None:
    path = write(tmp_path, "coco_pope_random.json", question(1), question(2, image="77.jpg"))
    (tmp_path / "objects.json").write_text(json.dumps({"310196": ["snowboard"], "77": ["dog"]}))
    for name in ("000000310196.jpg", "77.PNG"):
        (tmp_path / "pictures" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "pictures" / name).touch()

    data = read_pope(path, detections=tmp_path / "objects.json", images=tmp_path / "pictures")

    labels = {row["image"]: [one["label"] for one in row["objects"]] for row in data.images.table.to_dicts()}
    assert labels == {IMAGE: ["snowboard"], "77.jpg": ["dog"]}
    assert dict(data.images.table.select("image", "path").iter_rows()) == {
        IMAGE: "000000310196.jpg",
        "77.jpg": "77.PNG",
    }


def test_another_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="question_id, image, text and label"):
        read_pope(write(tmp_path, "x.jsonl", {"question": "?"}))
