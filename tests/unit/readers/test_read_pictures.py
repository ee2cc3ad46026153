"""Picture files are found under every name that COCO and plain folders give them, and doubts are counted."""

import json
from pathlib import Path

import polars as pl
import pytest

from eyechart.readers.pictures import Illustrated, gather_images


def touch(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def gather(folder: Path, *images: str) -> Illustrated:
    return gather_images(pl.DataFrame({"image": images}), folder, None)


def notes(found: Illustrated) -> dict[str | None, int]:
    return {note.reason: note.n for note in found.notes if note.n}


@pytest.mark.parametrize(
    "file",
    [
        "COCO_val2014_000000000042.jpg",
        "COCO_test2015_000000000042.JPG",
        "VisualDialog_test2018_000000000042.jpg",
        "000000000042.jpg",
        "42.png",
        "42.PNG",
        "42.Jpeg",
        "val/2014/COCO_val2014_000000000042.jpg",
        "a/b/c/42.webp",
    ],
)
@pytest.mark.parametrize("image", ["42", "42.jpg", "COCO_val2014_000000000042.jpg", "000000000042", "000000000042.JPG"])
def test_an_image_is_found_whichever_of_its_names_file_and_table_use(image: str, file: str, tmp_path: Path) -> None:
    found = gather(touch(tmp_path, file, "43.jpg", "142.jpg"), image)

    assert found.images.table["path"].to_list() == [file]
    assert found.images.root == tmp_path
    assert notes(found) == {}


def test_the_surest_name_wins(tmp_path: Path) -> None:
    files = ["000000000042.jpg", "a/42.jpg", "b/42.jpg", "42.png"]

    found = gather(touch(tmp_path, *files), "000000000042", "b/42.jpg", "42.png")

    assert found.images.table["path"].to_list() == ["000000000042.jpg", "b/42.jpg", "42.png"]
    assert notes(found) == {}


def test_images_with_several_files_are_counted_and_take_the_first(tmp_path: Path) -> None:
    touch(
        tmp_path, "train/7.jpg", "val/7.jpg", "8.jpg", "8.png", "9.jpg", "COCO_val2014_000000000010.jpg", "x/0010.jpg"
    )

    found = gather(tmp_path, "7", "8", "9", "10", "11")

    assert found.images.table["path"].to_list() == [
        "train/7.jpg",
        "8.jpg",
        "9.jpg",
        "COCO_val2014_000000000010.jpg",
        None,
    ]
    assert notes(found) == {
        "image without a picture file": 1,
        "image with several picture files, the first by name kept": 3,
    }


@pytest.mark.parametrize(
    ("image", "file"), [("007", "7.jpg"), ("7", "07x.jpg"), ("x", "x.txt"), ("42", "COCO_x_42.gz")]
)
def test_a_like_name_is_not_the_same_name(image: str, file: str, tmp_path: Path) -> None:
    assert gather(touch(tmp_path, file), image).images.table["path"].to_list() == [None]


def test_a_folder_that_is_called_like_a_picture_is_none(tmp_path: Path) -> None:
    (tmp_path / "42.jpg").mkdir()

    assert gather(tmp_path, "42").images.table["path"].to_list() == [None]


def test_objects_are_found_by_the_exact_name_before_the_bare_one(tmp_path: Path) -> None:
    (tmp_path / "objects.json").write_text(json.dumps({"42": ["dog"], "42.jpg": ["cat"], "000000000043": ["cow"]}))
    images = ["42.jpg", "42.png", "COCO_val2014_000000000042.jpg", "42", "000000000043", "043"]

    found = gather_images(pl.DataFrame({"image": images}), None, tmp_path / "objects.json")

    labels = [None if one is None else [thing["label"] for thing in one] for one in found.images.table["objects"]]
    assert labels == [["cat"], ["dog"], ["dog"], ["dog"], ["cow"], None]
    assert found.images.table["image"].to_list() == images
    assert notes(found) == {"image without objects": 1}
