"""Picture files are found under every name that COCO and plain folders give them, and doubts are counted."""

import json
from pathlib import Path

import polars as pl
import pytest

from eyechart.data.images import Images
from eyechart.formats.images import gather_images
from eyechart.formats.rows import RowCount


def touch(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def gather(folder: Path, *images: str) -> tuple[Images, list[RowCount]]:
    return gather_images(pl.DataFrame({"image": images}), folder, None)


def notes(counts: list[RowCount]) -> dict[str | None, int]:
    return {count.reason: count.n for count in counts if count.n}


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
    images, counts = gather(touch(tmp_path, file, "43.jpg", "142.jpg"), image)

    assert images.table["path"].to_list() == [file]
    assert images.root == tmp_path
    assert notes(counts) == {}


def test_the_surest_name_wins(tmp_path: Path) -> None:
    files = ["000000000042.jpg", "a/42.jpg", "b/42.jpg", "42.png"]

    images, counts = gather(touch(tmp_path, *files), "000000000042", "b/42.jpg", "42.png")

    assert images.table["path"].to_list() == ["000000000042.jpg", "b/42.jpg", "42.png"]
    assert notes(counts) == {}


def test_images_with_several_files_are_counted_and_take_the_first(tmp_path: Path) -> None:
    touch(
        tmp_path, "train/7.jpg", "val/7.jpg", "8.jpg", "8.png", "9.jpg", "COCO_val2014_000000000010.jpg", "x/0010.jpg"
    )

    images, counts = gather(tmp_path, "7", "8", "9", "10", "11")

    assert images.table["path"].to_list() == [
        "train/7.jpg",
        "8.jpg",
        "9.jpg",
        "COCO_val2014_000000000010.jpg",
        None,
    ]
    assert notes(counts) == {
        "image without a picture file": 1,
        "image with several picture files, the first by name kept": 3,
    }


@pytest.mark.parametrize(
    ("image", "file"), [("007", "7.jpg"), ("7", "07x.jpg"), ("x", "x.txt"), ("42", "COCO_x_42.gz")]
)
def test_a_like_name_is_not_the_same_name(image: str, file: str, tmp_path: Path) -> None:
    assert gather(touch(tmp_path, file), image)[0].table["path"].to_list() == [None]


def test_a_folder_that_is_called_like_a_picture_is_none(tmp_path: Path) -> None:
    (tmp_path / "42.jpg").mkdir()

    assert gather(tmp_path, "42")[0].table["path"].to_list() == [None]


def test_objects_are_found_by_the_exact_name_before_the_bare_one(tmp_path: Path) -> None:
    (tmp_path / "objects.json").write_text(json.dumps({"42": ["dog"], "42.jpg": ["cat"], "000000000043": ["cow"]}))
    names = ["42.jpg", "42.png", "COCO_val2014_000000000042.jpg", "42", "000000000043", "043"]

    images, counts = gather_images(pl.DataFrame({"image": names}), None, tmp_path / "objects.json")

    labels = [None if one is None else [thing["label"] for thing in one] for one in images.table["objects"]]
    assert labels == [["cat"], ["dog"], ["dog"], ["dog"], ["cow"], None]
    assert images.table["image"].to_list() == names
    assert notes(counts) == {"image without objects": 1}
