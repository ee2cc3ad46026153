"""A picture is shown as people see it or refused in one line, by one function for every part of eyechart."""

import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image, ImageOps

from eyechart.base.errors import DataError, EyechartError, FileFormatError
from eyechart.data.images import Images
from eyechart.data.picture_files import Pixels, decode_file, inspect_file, read_header
from eyechart.data.picture_survey import survey_pictures
from eyechart.data.pictures import Picture, show_pictures
from eyechart.data.web import Web

COLORS = np.random.default_rng(0).integers(0, 256, (6, 8, 3), np.uint8)
RAMP = np.linspace(0, 65535, 48).reshape(6, 8).astype(np.uint16)
HALF = np.dstack([COLORS, np.where(np.arange(8) < 4, 255, 0).astype(np.uint8) * np.ones((6, 1), np.uint8)])
ON_WHITE = np.where(np.arange(8)[:, None] < 4, COLORS, 255)


def gray(values: np.ndarray) -> Pixels:
    return np.repeat(values.astype(np.uint8)[:, :, None], 3, axis=2)


def show(path: Path, links: tuple[Path, ...] = (), root: Path | None = None) -> Picture:
    images = Images(pl.DataFrame({"image": ["it"], "path": [path.name]}), root or path.parent, web=Web(links=links))
    picture = next(show_pictures(pl.DataFrame({"image": ["it"]}), images))
    assert picture is not None
    return picture


def save_palette(path: Path) -> None:
    picture = Image.fromarray(np.array([[0, 1, 2], [2, 1, 0]], np.uint8), "P")
    picture.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    picture.save(path, transparency=1)


def save_inverted(path: Path) -> None:
    Image.fromarray(RAMP).save(path, tiffinfo={262: 0})


KINDS: dict[str, tuple[Callable[[Path], object], Pixels]] = {
    "deep.png": (Image.fromarray(RAMP).save, gray(RAMP >> 8)),
    "deep.tiff": (Image.fromarray(RAMP).save, gray(RAMP >> 8)),
    "white is zero.tiff": (save_inverted, gray(255 - (RAMP >> 8))),
    "float.tiff": (Image.fromarray((RAMP / 65535).astype(np.float32)).save, gray(np.round(RAMP / 65535 * 255))),
    "alpha.png": (Image.fromarray(HALF).save, ON_WHITE),
    "alpha.webp": (lambda path: Image.fromarray(HALF).save(path, lossless=True), ON_WHITE),
    "gray alpha.png": (
        Image.fromarray(np.dstack([COLORS[..., 0], HALF[..., 3]]), "LA").save,
        np.where(np.arange(8)[:, None] < 4, gray(COLORS[..., 0]), 255),
    ),
    "one transparent colour.png": (
        lambda path: Image.fromarray(COLORS).save(path, transparency=tuple(map(int, COLORS[0, 0]))),
        np.where((np.arange(48) == 0).reshape(6, 8, 1), 255, COLORS),
    ),
    "palette.png": (
        save_palette,
        np.array([[[255, 0, 0], [255, 255, 255], [0, 0, 255]], [[0, 0, 255], [255, 255, 255], [255, 0, 0]]], np.uint8),
    ),
    "cmyk.tiff": (
        Image.fromarray(np.array([[[0, 0, 0, 0], [255, 0, 0, 0], [0, 0, 0, 255]]], np.uint8), "CMYK").save,
        np.array([[[255, 255, 255], [0, 255, 255], [0, 0, 0]]], np.uint8),
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_pictures_of_every_kind_have_the_colours_that_people_see(tmp_path: Path, name: str) -> None:
    save, expected = KINDS[name]
    save(tmp_path / name)

    assert np.array_equal(show(tmp_path / name).pixels, expected)


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "tiff"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_is_turned_upright_in_every_way(tmp_path: Path, suffix: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"it.{suffix}"
    Image.fromarray(COLORS).save(path, exif=exif, **({"lossless": True} if suffix == "webp" else {}))
    with Image.open(path) as file:
        expected = np.asarray(ImageOps.exif_transpose(file).convert("RGB"))

    picture, header = show(path), read_header(path)
    assert np.array_equal(picture.pixels, expected)
    assert (picture.orientation, header.orientation) == (orientation, orientation)
    assert header.stored == (8, 6)
    assert header.upright == picture.size == expected.shape[1::-1]


@pytest.mark.parametrize("mode", ["RGB", "L", "P", "1"])
@pytest.mark.parametrize("suffix", ["png", "gif", "bmp"])
def test_the_key_of_an_ordinary_picture_is_that_of_its_plain_colours(tmp_path: Path, mode: str, suffix: str) -> None:
    """Keys decide whether paid answers are found again."""
    path = tmp_path / f"it.{suffix}"
    Image.fromarray(COLORS).convert(mode).save(path)
    with Image.open(path) as file:
        plain = np.asarray(file.convert("RGB"))

    assert show(path) == Picture.of(plain)
    assert not inspect_file(path).changed


def test_a_wholly_opaque_channel_of_transparency_changes_nothing(tmp_path: Path) -> None:
    Image.fromarray(np.dstack([COLORS, np.full((6, 8), 255, np.uint8)])).save(tmp_path / "it.png")

    assert show(tmp_path / "it.png") == Picture.of(COLORS)
    assert inspect_file(tmp_path / "it.png") == ((8, 6), 1, (), False)


def damaged_png(width: int, height: int) -> bytes:
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(b"\0" * 99))]
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "range.tiff": (Image.fromarray((RAMP / 7).astype(np.float32)).save, "fractions from 0 to 9362.14"),
    "nan.tiff": (Image.fromarray(np.full((2, 2), np.nan, np.float32)).save, "fractions from nan"),
    "labels.png": (Image.fromarray((RAMP >> 8).astype(np.uint16)).save, "none is above 255"),
    "whole.tiff": (Image.fromarray(RAMP.astype(np.int32)).save, "black and white are not known"),
    "cut.png": (lambda path: path.write_bytes(damaged_png(50, 40)), "truncated"),
    "thin.png": (lambda path: path.write_bytes(damaged_png(63_999_999, 1)), "truncated"),
    "bomb.png": (lambda path: path.write_bytes(damaged_png(100_000, 100_000)), "pixels"),
    "empty.png": (lambda path: path.write_bytes(b""), "cannot identify"),
    "fifo.png": (os.mkfifo, "a pipe or device"),
    "device.png": (lambda path: path.symlink_to("/dev/zero"), "a link to /dev/zero"),
    "loop.png": (lambda path: path.symlink_to(path), "symbolic links"),
    "nul\0.png": (lambda _: None, "with a NUL"),
    f"{'x' * 300}.png": (lambda _: None, "name too long"),
    "folder.png": (Path.mkdir, "a folder"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_certain_meaning_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    make, reason = REFUSED[name]
    make(tmp_path / name)

    with pytest.raises(EyechartError, match=f"(?i){reason}") as error:
        show(tmp_path / name)
    assert "\n" not in str(error.value)


def test_a_very_wide_picture_is_shown(tmp_path: Path) -> None:
    Image.new("RGB", (50_000, 2), "red").save(tmp_path / "it.png")

    assert show(tmp_path / "it.png").pixels.shape == (2, 50_000, 3)


def test_links_must_lead_into_the_folder_or_one_that_is_allowed(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    Image.fromarray(COLORS).save(elsewhere / "it.png")
    (root / "link.png").symlink_to(elsewhere / "it.png")
    (root / "folder").symlink_to(elsewhere)
    (tmp_path / "other root").symlink_to(root)

    with pytest.raises(DataError, match=f"--allow-links {elsewhere}"):
        show(root / "link.png")
    assert show(root / "link.png", (elsewhere,)) == Picture.of(COLORS)
    Image.fromarray(COLORS).save(root / "own.png")
    assert show(tmp_path / "other root" / "own.png") == Picture.of(COLORS)


def test_what_is_special_is_said_and_what_cannot_be_shown_is_counted(tmp_path: Path) -> None:
    for name, (save, _) in KINDS.items():
        save(tmp_path / name)
    frames = [Image.fromarray(np.full((9, 9, 3), shade, np.uint8)) for shade in (10, 200)]
    frames[0].save(tmp_path / "film.gif", save_all=True, append_images=frames[1:])
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(COLORS).save(tmp_path / "turned.jpg", exif=exif)
    names = sorted(path.name for path in tmp_path.iterdir())
    images = Images(pl.DataFrame({"image": names, "path": names}), tmp_path)

    survey = survey_pictures(pl.Series(names), images)
    assert survey.remarks == {
        "of more than 8 bits a channel, shown with 8": 4,
        "partly transparent, shown over white": 5,
        "of several frames or pages, the first shown": 1,
        "turned upright, as its EXIF orientation says": 1,
    }
    assert survey.changed == [name for name in names if name not in {"film.gif", "cmyk.tiff"}]
    (tmp_path / "cmyk.tiff").write_bytes(b"II*\0")
    (tmp_path / "turned.jpg").write_bytes((tmp_path / "turned.jpg").read_bytes()[:-100])
    with pytest.raises(FileFormatError, match=r"cmyk\.tiff.*, and 1 more pictures that cannot be shown"):
        survey_pictures(pl.Series(names), images)


def test_former_pixels_are_those_of_the_plain_conversion(tmp_path: Path) -> None:
    Image.fromarray(HALF).save(tmp_path / "it.png")

    decoded = decode_file(tmp_path / "it.png", 1)
    assert decoded.former is not None
    assert np.array_equal(decoded.former, COLORS)
