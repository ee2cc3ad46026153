"""Boxes stay on what they were drawn on: they turn with their picture only where its size says so, or the user."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from eyechart.base.errors import DataError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.pictures import show_pictures
from eyechart.data.tables import BOX, OBJECT
from eyechart.data.turning import UPRIGHT, turn_boxes
from eyechart.formats import read
from eyechart.formats.orientation import settle_boxes

THING = [3.0, 1.0, 7.0, 4.0]  # a white rectangle on a black picture of 10 x 6, as it is stored


def draw(folder: Path, orientation: int, size: tuple[int, int] = (10, 6)) -> None:
    pixels = np.zeros((size[1], size[0], 3), np.uint8)
    pixels[1:4, 3:7] = 255
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(pixels).save(folder / "it.png", exif=exif)


def dataset(folder: Path, width: int | None, height: int | None, box: list[float] = THING) -> Dataset:
    row = {"image": "i", "path": "it.png", "width": width, "height": height}
    objects = pl.Series("objects", [[{"label": "it", "box": box, "score": 1.0}]], pl.List(OBJECT))
    table = pl.DataFrame(row, schema_overrides={"width": pl.Int64, "height": pl.Int64}).with_columns(objects)
    example = {"id": ["a"], "image": ["i"], "question": ["?"], "answer": ["b"]}
    evidence = pl.Series(
        "evidence", [[{"label": None, "box": box}]], pl.List(pl.Struct({"label": pl.String, "box": BOX}))
    )
    return Dataset("d", pl.DataFrame(example).with_columns(evidence), Images(table, folder))


def left_after_hiding(data: Dataset, box: list[float]) -> int:
    """Hide a box of a picture, and return the brightest value that is left."""
    probe = pl.DataFrame(
        {"image": ["i"], "removal": ["hidden=blank"], "hidden": pl.Series([[box]], dtype=pl.List(BOX))}
    )
    picture = next(show_pictures(probe, data.images))
    assert picture is not None
    return int(picture.pixels.max())


def boxes_of(data: Dataset) -> list[list[float]]:
    columns = (data.images.table["objects"], data.examples["evidence"])
    return [list(column[0][0]["box"]) for column in columns]


@pytest.mark.parametrize("orientation", range(2, 9))
def test_a_turned_box_is_where_its_thing_is(tmp_path: Path, orientation: int) -> None:
    draw(tmp_path, orientation)
    data = settle_boxes(dataset(tmp_path, 10, 6), "stored")

    first, second = boxes_of(data)
    assert first == second
    assert left_after_hiding(data, first) == 128
    assert (data.images.table["width"][0], data.images.table["height"][0]) == ((6, 10) if orientation > 4 else (10, 6))
    assert settle_boxes(data).examples.equals(data.examples), "nothing turns twice"


@pytest.mark.parametrize("orientation", [5, 6, 7, 8])
def test_the_size_that_the_data_state_tells_which_way_boxes_are(tmp_path: Path, orientation: int) -> None:
    draw(tmp_path, orientation)
    stored = settle_boxes(dataset(tmp_path, 10, 6))
    upright = settle_boxes(dataset(tmp_path, 6, 10, boxes_of(stored)[0]))

    assert boxes_of(stored) == boxes_of(upright)
    assert left_after_hiding(stored, boxes_of(stored)[0]) == 128
    assert stored.images.table[UPRIGHT].to_list() == upright.images.table[UPRIGHT].to_list() == [True]
    assert stored.counts["reason"].to_list() == ["image that EXIF turns, whose boxes were turned with it"]


@pytest.mark.parametrize(
    ("orientation", "size", "declared"),
    [(6, (10, 6), (None, None)), (6, (10, 10), (10, 10)), (3, (10, 6), (10, 6)), (6, (10, 6), (20, 12))],
)
def test_where_the_size_does_not_tell_the_user_must(
    tmp_path: Path, orientation: int, size: tuple[int, int], declared: tuple[int | None, int | None]
) -> None:
    draw(tmp_path, orientation, size)
    data = dataset(tmp_path, *declared)

    with pytest.raises(DataError, match=r"boxes=stored if .* else boxes=upright"):
        settle_boxes(data)
    with pytest.raises(DataError, match="boxes=stored"):  # of a folder that an older version wrote, too
        left_after_hiding(data, THING)
    assert left_after_hiding(settle_boxes(data, "stored"), boxes_of(settle_boxes(data, "stored"))[0]) == 128
    assert boxes_of(settle_boxes(data, "upright")) == [THING, THING]


def test_boxes_of_pictures_that_are_not_turned_stay_without_a_word(tmp_path: Path) -> None:
    draw(tmp_path, 1)
    data = dataset(tmp_path, None, None)

    assert settle_boxes(data) is data
    assert left_after_hiding(data, THING) == 128


def test_a_box_that_is_turned_keeps_its_order() -> None:
    boxes = np.array([THING] * 7)
    turned = turn_boxes(boxes, np.arange(2, 9), np.array([[10.0, 6.0]] * 7))

    assert (turned[:, :2] < turned[:, 2:]).all()
    assert np.allclose(np.prod(turned[:, 2:] - turned[:, :2], axis=1), 12)


def test_reading_takes_the_direction_as_a_setting(
    tmp_path: Path, eyechart: Callable[..., tuple[int, str, str]]
) -> None:
    draw(tmp_path, 3)
    (tmp_path / "rows.jsonl").write_text(
        '{"id": 1, "image": "it", "question": "?", "answer": "b", "objects": [{"label": "it", "box": [3, 1, 7, 4]}]}\n'
    )
    words = ("read", "table", tmp_path / "rows.jsonl", "-o", tmp_path / "out", "--set", f"images={tmp_path}")

    code, _, error = eyechart(*words)
    assert (code, error.count("\n")) == (1, 1)
    assert "boxes=stored" in error
    code, out, _ = eyechart(*words, "--set", "boxes=stored")
    assert code == 0
    assert "whose boxes were turned with it" in out
    assert list(read(tmp_path / "out").images.table["objects"][0][0]["box"]) == [3, 2, 7, 5]
