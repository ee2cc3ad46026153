"""Several pictures of a row, named by lists or by a column each, are read wherever they stand."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image

import eyechart
from eyechart.base.errors import SettingError
from eyechart.data.dataset import Dataset
from eyechart.formats import streaming

ASKED = {"question": "Which is red?", "answer": "the first"}
TWO, ONE = ["a.png", "b.png"], ["c.png"]
LAYOUTS: dict[str, list[dict[str, Any]]] = {
    "a list under images": [{"images": TWO}, {"images": ONE}, {"images": []}],
    "a list under image": [{"image": TWO}, {"image": ONE}, {"image": None}],
    "a list of paths": [{"image_path": TWO}, {"image_path": ONE}, {"image_path": None}],
    "the text of a list": [{"images": str(TWO)}, {"images": json.dumps(ONE)}, {"images": "[]"}],
    "records with a path": [{"images": [{"path": one} for one in each]} for each in (TWO, ONE, [])],
    "a column each": [
        {"image_1": "a.png", "image_2": "b.png"},
        {"image_1": "c.png", "image_2": None},
        {"image_1": None, "image_2": ""},
    ],
    "a column each, from 0": [
        {"Image 0": "a.png", "Image 1": "b.png"},
        {"Image 0": "c.png", "Image 1": None},
        {"Image 0": None, "Image 1": None},
    ],
    "more beside image": [
        {"image": "a.png", "image_2": "b.png"},
        {"image": "c.png", "image_2": None},
        {"image": None, "image_2": None},
    ],
    "beside an id of its own": [
        {"image_id": "x", "images": TWO},
        {"image_id": "y", "images": ONE},
        {"image_id": "z", "images": None},
    ],
    "frames": [{"frames": TWO}, {"frames": ONE}, {"frames": []}],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, color in {"a": "red", "b": "green", "c": "blue"}.items():
        Image.new("RGB", (8, 6), color).save(tmp_path / f"{name}.png")
    return tmp_path


def write(folder: Path, rows: list[dict[str, Any]]) -> Path:
    file = folder / "quiz.jsonl"
    file.write_text("\n".join(json.dumps(ASKED | row) for row in rows), encoding="utf-8")
    return file


def pictures_of(data: Dataset) -> list[list[str] | None]:
    return data.images.list_pictures(data.examples["image"]).to_list()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_pictures_of_a_row_are_all_read_in_order(layout: str, folder: Path) -> None:
    data = eyechart.read(write(folder, LAYOUTS[layout]))

    assert pictures_of(data) == [TWO, ONE, None]
    assert data.images.root == folder
    assert dict(data.images.table.select("image", "path").iter_rows()) == {each: each for each in (*TWO, *ONE)}


def test_pictures_of_lists_are_found_in_their_folder_by_name(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "quiz").mkdir()
    file = write(tmp_path / "quiz", [{"images": ["a", "b"]}, {"images": ["c"]}])

    data = eyechart.read(file, images=folder)

    assert data.images.table["path"].to_list() == ["a.png", "b.png", "c.png"]
    assert "image without a picture file" not in data.counts["reason"].to_list()


def test_a_map_names_the_columns_of_pictures(folder: Path) -> None:
    rows = [{"left": "a.png", "right": "b.png"}, {"left": "c.png", "right": None}]

    data = eyechart.read(write(folder, rows), map={"image": "left,right"})

    assert pictures_of(data) == [TWO, ONE]


@pytest.mark.parametrize(
    "rows",
    [
        [{"frames": [0, 30, 60]}, {"frames": [0, 40, 80]}],
        [{"photos": ["beach", "sunset"]}, {"photos": ["hill"]}],
        [{"images": 3}, {"images": 1}],
        [{"picture_1": "the red one", "picture_2": "the blue one"}] * 2,
    ],
)
def test_what_names_no_pictures_stays_a_column(rows: list[dict[str, Any]], folder: Path) -> None:
    data = eyechart.read(write(folder, rows))

    assert data.examples["image"].null_count() == 2
    assert set(rows[0]) <= set(data.examples.columns)


def test_a_plain_image_beside_other_forms_of_it_counts(folder: Path) -> None:
    data = eyechart.read(write(folder, [{"image": "a.png", "image_urls": ["https://x.org/a.png"]}]))

    assert data.examples["image"].to_list() == ["a.png"]


def test_two_lists_of_pictures_are_a_question(folder: Path) -> None:
    file = write(folder, [{"image_paths": TWO, "image_urls": ["https://x.org/1.png", "https://x.org/2.png"]}])

    with pytest.raises(SettingError, match="image_paths and image_urls; say which with map, such as image=image_paths"):
        eyechart.read(file)


def test_lists_that_name_one_picture_each_leave_no_lists(folder: Path) -> None:
    data = eyechart.read(write(folder, [{"images": ["a.png"]}, {"images": ONE}]))

    assert data.examples["image"].to_list() == ["a.png", "c.png"]
    assert "images" not in data.examples.columns


def test_large_files_list_their_pictures_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "LARGE", 0)

    data = eyechart.read(write(folder, [{"images": TWO}, {"images": ONE}]))

    assert pictures_of(data) == [TWO, ONE]


def test_marks_among_the_words_of_a_conversation_name_their_pictures(folder: Path) -> None:
    turns = ["<image>\n<image>\nAre they alike?", "Is <image> darker than <image>?", "<image> What is it?"]
    rows = [
        {
            "messages": [{"role": "user", "content": turn}, {"role": "assistant", "content": "yes"}],
            "images": TWO,
            "id": str(n),
        }
        for n, turn in enumerate(turns)
    ]
    file = folder / "chat.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    data = eyechart.read(file)

    assert data.examples["question"].to_list() == [
        "Are they alike?",
        "Is <image 1> darker than <image 2>?",
        "What is it?",
    ]
    assert data.count_pictures().to_list() == [2, 2, 2]


def test_the_folder_of_the_table_is_where_paths_begin(folder: Path) -> None:
    write(folder, [{"images": TWO}, {"images": ONE}])

    data = eyechart.read(folder)

    assert data.images.root == folder
    assert (folder / data.images.table.filter(pl.col("image") == "a.png")["path"][0]).is_file()
