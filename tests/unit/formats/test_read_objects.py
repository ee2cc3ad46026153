"""Objects of images come in one form out of every file that names them."""

import json
from pathlib import Path

import polars as pl
import pytest

from eyechart.base.errors import FileFormatError
from eyechart.formats.images import gather_images
from eyechart.formats.objects import as_objects, pool_objects, read_detections
from eyechart.formats.rows import CountedTable

NOTHING = {"box": None, "score": None}
COCO = {
    "images": [
        {"id": 7, "file_name": "COCO_7.jpg", "width": 640, "height": 480},
        {"id": 8, "file_name": "elsewhere/b.jpg", "width": 10, "height": 20},
    ],
    "annotations": [
        {
            "id": 1,
            "image_id": 7,
            "category_id": 18,
            "bbox": [1.5, 2, 10, 20],
            "segmentation": [[1, 2, 3]],
            "iscrowd": 0,
        },
        {"id": 2, "image_id": 7, "category_id": 1, "bbox": [0, 0, -5, 3]},
        {"id": 3, "image_id": 99, "category_id": 1, "bbox": [0, 0, 5, 3]},
        {"id": 4, "image_id": 7, "category_id": 1},
    ],
    "categories": [{"id": 1, "name": "person", "supercategory": "person"}, {"id": 18, "name": "dog"}],
}


def detections(folder: Path, content: object) -> CountedTable:
    path = folder / "objects.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_detections(path)


def test_coco_boxes_become_corners_and_images_without_objects_have_none(tmp_path: Path) -> None:
    found = detections(tmp_path, COCO)

    dog = {"label": "dog", "box": [1.5, 2.0, 11.5, 22.0], "score": None}
    person = {"label": "person"} | NOTHING
    assert found.table.to_dicts() == [
        {"image": "7", "file_name": "COCO_7.jpg", "width": 640, "height": 480, "objects": [dog, person, person]},
        {"image": "8", "file_name": "elsewhere/b.jpg", "width": 10, "height": 20, "objects": []},
    ]
    assert [note.n for note in found.counts] == [2]


def test_classes_with_scores_are_read(tmp_path: Path) -> None:
    content = {
        "1": {"classes": ["cat", "cat"], "scores": [0.5, 1]},
        "2": {"classes": [], "scores": []},
        "3": {"classes": ["dog"]},
    }

    found = detections(tmp_path, content).table

    assert found.to_dicts() == [
        {"image": "1", "objects": [{"label": "cat", "box": None, "score": s} for s in (0.5, 1.0)]},
        {"image": "2", "objects": []},
        {"image": "3", "objects": [{"label": "dog"} | NOTHING]},
    ]


@pytest.mark.parametrize(
    "content",
    [
        "",
        '{"1": ["cat"',
        [1],
        {},
        {"1": 5},
        {"1": ["cat"], "2": {"classes": ["dog"]}},
        {"1": [["cat"]]},
        {"1": {"classes": ["a", "b"], "scores": [1]}},
        {"1": {"classes": "a", "scores": 1}},
    ],
)
def test_a_file_of_another_form_is_one_clear_error(content: object, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"objects\.json"):
        detections(tmp_path, content)


def test_objects_with_boxes_keep_them_and_lose_only_unsound_ones() -> None:
    objects = [
        [{"label": "a", "box": [0, 0, 2, 2], "score": 0.5}, {"label": "b", "box": [3, 0, 2, 2], "score": None}],
        [],
        None,
        [{"label": None, "box": None, "score": None}, {"label": "c", "box": [1, 2, 3], "score": None}],
    ]

    found = as_objects(pl.Series("objects", objects), "x")

    assert found.column.to_list() == [
        [{"label": "a", "box": [0.0, 0.0, 2.0, 2.0], "score": 0.5}, {"label": "b"} | NOTHING],
        [],
        None,
        [{"label": "c"} | NOTHING],
    ]
    assert [note.n for note in found.counts] == [2]


def test_objects_without_a_label_or_with_text_for_boxes_are_an_error() -> None:
    with pytest.raises(FileFormatError, match="objects with a 'label'"):
        as_objects(pl.Series("objects", [[{"name": "a"}]]), "x")
    with pytest.raises(FileFormatError, match="numeric boxes and scores"):
        as_objects(pl.Series("objects", [[{"label": "a", "box": "left"}]]), "x")


def test_what_rows_of_one_image_say_is_put_together() -> None:
    labels = [["a", "a"], ["a", "a"], ["b"], ["c", "b"], None, ["d"], []]
    images = ["1", "1", "2", "2", "3", None, "4"]
    table = pl.DataFrame({"image": images, "objects": as_objects(pl.Series(labels), "x").column})

    pooled = pool_objects(table)

    found = {row["image"]: [one["label"] for one in row["objects"]] for row in pooled.table.to_dicts()}
    assert found == {"1": ["a", "a"], "2": ["b", "c"], "4": []}
    assert {note.reason: note.n for note in pooled.counts} == {
        "objects of a question without an image, left out": 1,
        "image whose rows name different objects, combined": 1,
    }


def test_pictures_are_found_by_the_name_the_detections_give(tmp_path: Path) -> None:
    (tmp_path / "objects.json").write_text(json.dumps(COCO))
    for name in ("COCO_7.jpg", "b.jpg"):
        (tmp_path / name).touch()
    table = pl.DataFrame({"image": ["7", "8"]})

    images, _ = gather_images(table, tmp_path, tmp_path / "objects.json")

    assert images.table["path"].to_list() == ["COCO_7.jpg", None]
    assert images.table["width"].to_list() == [640, 10]


def test_a_missing_picture_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="a folder of pictures"):
        gather_images(pl.DataFrame({"image": ["7"]}), tmp_path / "nowhere", None)
