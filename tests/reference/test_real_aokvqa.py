"""A-OKVQA's published validation split is read row by row as the standard library sees it, with COCO's objects."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from eyechart.data.dataset import Dataset
from eyechart.formats.aokvqa import read_aokvqa


def load(path: Path) -> Any:  # noqa: ANN401 - any JSON
    with gzip.open(path) as file:
        return json.load(file)


@pytest.fixture(scope="module")
def aokvqa(real_data: Path) -> Dataset:
    return read_aokvqa(
        real_data / "aokvqa" / "aokvqa_v1p0_val.json.gz",
        detections=real_data / "vqa2" / "coco2014_objects.json.gz",
    )


def test_every_question_is_read_as_it_was_published(aokvqa: Dataset, real_data: Path) -> None:
    published = {one["question_id"]: one for one in load(real_data / "aokvqa" / "aokvqa_v1p0_val.json.gz")}

    assert aokvqa.examples.height == len(published) == 1_145
    for row in aokvqa.examples.iter_rows(named=True):
        one = published[row["id"]]
        assert row == {
            "id": one["question_id"],
            "image": str(one["image_id"]),
            "question": one["question"],
            "answer": one["choices"][one["correct_choice_idx"]],
            "answers": one["direct_answers"],
            "choices": one["choices"],
            "split": "val",
            "difficult_direct_answer": one["difficult_direct_answer"],
            "rationales": one["rationales"],
        }


def test_nothing_is_dropped_and_repeated_options_are_noted(aokvqa: Dataset, real_data: Path) -> None:
    published = load(real_data / "aokvqa" / "aokvqa_v1p0_val.json.gz")
    repeated = sum(len(set(one["choices"])) < len(one["choices"]) for one in published)

    assert aokvqa.counts.select("status", "reason", "n").rows() == [
        ("read", None, 1_145),
        ("noted", "row with the same option twice", repeated),
    ]


def test_every_image_has_its_own_objects(aokvqa: Dataset, real_data: Path) -> None:
    published = load(real_data / "vqa2" / "coco2014_objects.json.gz")

    assert aokvqa.images.table["objects"].null_count() == 0
    for image, objects in aokvqa.images.table.select("image", "objects").iter_rows():
        assert [one["label"] for one in objects] == published[image]
