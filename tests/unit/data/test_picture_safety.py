"""Pictures come from data nobody vouches for: what they may cost and where they may lie is limited."""

import struct
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from eyechart.base.errors import DataError, FileFormatError
from eyechart.data import picture_files, pictures
from eyechart.data.images import Images
from eyechart.data.pictures import Picture, show_pictures


def show(path: str, root: Path | None) -> Picture | None:
    images = Images(pl.DataFrame({"image": ["it"], "path": [path]}), root)
    return next(show_pictures(pl.DataFrame({"image": ["it"]}), images))


def write_header(path: Path, width: int, height: int) -> None:
    """Write a PNG of a few bytes that says it is very large."""
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(b"\0" * 99))]
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


@pytest.mark.parametrize("side", [8_001, 10_000, 60_000])
def test_a_decompression_bomb_is_refused_before_it_is_decoded(tmp_path: Path, side: int) -> None:
    write_header(tmp_path / "it.png", side, side)

    with pytest.raises(FileFormatError, match="pixels"):
        show("it.png", tmp_path)


def test_a_file_of_too_many_bytes_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.fromarray(np.zeros((50, 50, 3), np.uint8)).save(tmp_path / "it.bmp")
    assert show("it.bmp", tmp_path) is not None

    monkeypatch.setattr(picture_files, "BYTES", 1000)
    pictures._opened.cache_clear()
    with pytest.raises(FileFormatError, match="bytes, more than the 1,000 allowed"):
        show("it.bmp", tmp_path)


@pytest.mark.parametrize("path", ["../it.png", "sub/../../it.png"])
def test_a_path_cannot_leave_the_root(tmp_path: Path, path: str) -> None:
    (tmp_path / "root" / "sub").mkdir(parents=True)
    Image.fromarray(np.zeros((5, 5, 3), np.uint8)).save(tmp_path / "it.png")

    with pytest.raises(DataError, match="the picture of image 'it' under"):
        show(path, tmp_path / "root")


def test_an_absolute_path_is_taken_below_the_root(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="no such file"):
        show("/etc/hostname", tmp_path)


def test_a_path_may_wander_inside_the_root(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    Image.fromarray(np.zeros((5, 5, 3), np.uint8)).save(tmp_path / "it.png")

    assert show("sub/../it.png", tmp_path) is not None


@pytest.mark.parametrize("root", [None, Path("pictures")])
def test_addresses_are_refused(root: Path | None) -> None:
    with pytest.raises(DataError, match="download it first"):
        show("https://example.org/it.png", root)


def test_postscript_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "it.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n")

    with pytest.raises(FileFormatError, match="cannot identify"):
        show("it.png", tmp_path)


@pytest.mark.parametrize(("how", "colors"), [("blank", 1), ("mean", 1), ("noise", 100_000)])
def test_a_picture_that_is_hidden_wholly_need_not_be_handed_over(how: str, colors: int) -> None:
    probes = pl.DataFrame(
        {"image": [None], "removal": [f"image={how}"]}, schema={"image": pl.String, "removal": pl.String}
    )
    found = next(show_pictures(probes, Images(pl.DataFrame({"image": ["it"]}))))

    assert found is not None
    assert len(np.unique(found.pixels.reshape(-1, 3), axis=0)) >= colors
