"""Pictures of probes: opened when asked for, edited as told, the same object for the same content."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from eyechart.base.errors import DataError, FileFormatError
from eyechart.data import pictures
from eyechart.data.images import Images
from eyechart.data.pictures import describe_hiding, hide, show_pictures
from eyechart.data.tables import BOX

PHOTO = np.random.default_rng(2).integers(0, 256, (30, 50, 3), np.uint8)
BOXES = [[10.0, 5.0, 20.0, 15.0]]


@pytest.fixture
def images(tmp_path: Path) -> Images:
    for name in ("a", "same"):
        Image.fromarray(PHOTO).save(tmp_path / f"{name}.png")
    (tmp_path / "broken.png").write_bytes(b"no picture")
    paths = {"a": "a.png", "same": "same.png", "lost": "lost.png", "broken": "broken.png", "pathless": None}
    table = pl.DataFrame({"image": list(paths), "path": list(paths.values())})
    return Images(table, tmp_path)


def probe(*rows: tuple[str | None, str | None, list[list[float]] | None]) -> pl.DataFrame:
    schema = {"image": pl.String, "removal": pl.String, "hidden": pl.List(BOX)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def shown(images: Images, *rows: tuple[str | None, str | None, list[list[float]] | None]) -> list:
    return list(show_pictures(probe(*rows), images))


def test_a_plain_probe_shows_the_picture_and_none_shows_none(images: Images) -> None:
    plain, none = shown(images, ("a", None, None), (None, None, None))

    assert np.array_equal(plain.pixels, PHOTO)
    assert none is None


@pytest.mark.parametrize("how", ["mask", "blur", "noise"])
def test_boxes_are_hidden_as_the_removal_says(images: Images, how: str) -> None:
    (found,) = shown(images, ("a", describe_hiding(how, 2), BOXES))

    assert np.array_equal(found.pixels, hide(PHOTO, BOXES, how, 2))


def test_a_box_that_reaches_beyond_the_picture_ends_at_its_edge(images: Images) -> None:
    (found,) = shown(images, ("a", "hidden=mask", [[25.0, 0.0, 1e6, 1e6]]))

    assert np.array_equal(found.pixels[:, :25], PHOTO[:, :25])
    assert len(np.unique(found.pixels[:, 25:].reshape(-1, 3), axis=0)) == 1


def test_a_crop_has_its_own_size(images: Images) -> None:
    around = [[0.0, 0.0, 50.0, 5.0], [0.0, 15.0, 50.0, 30.0], [0.0, 5.0, 10.0, 15.0], [20.0, 5.0, 50.0, 15.0]]
    (found,) = shown(images, ("a", "hidden=crop", around))

    assert np.array_equal(found.pixels, PHOTO[5:15, 10:20])


@pytest.mark.parametrize(("how", "colors"), [("blank", 1), ("mean", 1), ("noise", 1500)])
def test_a_whole_picture_is_replaced(images: Images, how: str, colors: int) -> None:
    (found,) = shown(images, ("a", f"image={how}", None))

    assert found.pixels.shape == PHOTO.shape
    assert len(np.unique(found.pixels.reshape(-1, 3), axis=0)) >= 0.99 * colors


def test_a_picture_that_is_taken_away_is_not_shown(images: Images) -> None:
    assert shown(images, ("a", "image=none", None), ("a", "image=guess", None)) == [None, None]


def test_equal_content_is_edited_once_and_other_content_has_another_key(
    images: Images, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    monkeypatch.setattr(pictures, "hide", lambda *given: calls.append(given) or hide(*given))
    unseen = [[1.0, 2.0, 3.0, 4.0 + len(images.table)]]
    first, again, plain = shown(
        images, ("a", "hidden=mask", unseen), ("same", "hidden=mask", unseen), ("a", None, None)
    )

    assert len(calls) == 1
    assert first.key == again.key != plain.key


def test_pictures_are_opened_only_when_they_are_reached(images: Images) -> None:
    found = show_pictures(probe(("a", None, None), ("lost", None, None)), images)

    assert next(found) is not None
    with pytest.raises(FileFormatError, match=r"lost\.png"):
        next(found)


def test_a_changed_file_is_opened_again(images: Images) -> None:
    (before,) = shown(images, ("a", None, None))
    Image.fromarray(255 - PHOTO[:, ::-1]).resize((49, 30)).save(Path(str(images.root)) / "a.png")
    (after,) = shown(images, ("a", None, None))

    assert before.key != after.key


def test_what_cannot_be_opened_is_said(images: Images) -> None:
    with pytest.raises(FileFormatError, match=r"a picture in .*broken\.png"):
        shown(images, ("broken", None, None))
    with pytest.raises(DataError, match="path of a picture for image 'pathless'"):
        shown(images, ("pathless", None, None))
    with pytest.raises(DataError, match="images=FOLDER"):
        shown(Images(images.table.drop("path")), ("a", None, None))
