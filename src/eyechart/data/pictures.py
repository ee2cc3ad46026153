"""Open the pictures of probes on demand, edit them as the probes ask, and keep the latest in memory.

The column `removal` says how boxes are hidden, as in `hidden=blur feather=4`, and `hidden` which ones. `image=blank`,
`image=mean` and `image=noise` hide the whole picture; with any other `image=...` there is none.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import polars as pl

from eyechart.base.errors import DataError, FileFormatError
from eyechart.base.fetching import BYTES
from eyechart.data.images import Images, shown_paths
from eyechart.data.pixels import GRAY, Pixels, crop, hide
from eyechart.data.web import is_address

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

CROP = "crop"
_KEPT = 64  # pictures in memory
_WHOLE = {"blank": "blank", "mean": "mask", "noise": "noise"}  # way to hide the whole picture -> way to hide a box
_EVERYTHING = ((0.0, 0.0, float("inf"), float("inf")),)
_SIDE = 336  # pixels of the placeholder for a picture that was not provided
_PIXELS = 64_000_000  # at most: a small file can hold a very large picture
_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")  # not EPS, which would be run as a program


@dataclass(frozen=True)
class Picture:
    """A picture that is shown to a model; pictures with the same pixels are equal."""

    key: str  # SHA-256 of size and pixels, part of the key of cached responses
    pixels: Pixels = field(compare=False, repr=False)

    @classmethod
    def of(cls, pixels: Pixels) -> Self:
        """Build a picture from pixels."""
        return cls(sha256(repr(pixels.shape).encode() + pixels.tobytes()).hexdigest(), pixels)


class Edit(NamedTuple):
    """An edit of a picture."""

    how: str
    feather: int
    boxes: tuple[tuple[float, ...], ...]


def describe_hiding(how: str, feather: int = 0) -> str:
    """Describe how boxes are hidden, for the column `removal` of a probe."""
    return f"hidden={how}" + (f" feather={feather}" if feather else "")


def show_pictures(probes: pl.DataFrame, images: Images) -> Iterator[Picture | None]:
    """Yield the picture of each filled probe in order, None for a probe without one."""
    known = dict.fromkeys(("image", "removal", "hidden"))
    paths = shown_paths(probes, images).to_list()
    fetched = fetch(paths, images)
    for row, path in zip(probes.iter_rows(named=True), paths, strict=True):
        image, removal, hidden = (row.get(name) for name in known)
        edit = _read_edit(removal or "", hidden or ())
        if edit is None or (image is None and edit.boxes != _EVERYTHING):
            yield None
        else:  # a picture that is entirely hidden need not exist
            yield _edited(_canvas() if image is None else _open(image, path, fetched, images.root), edit)


def fetch(paths: Iterable[str | None], images: Images) -> dict[str, Path]:
    """Find the files of paths that are addresses, fetching those that are not cached if that is allowed."""
    addresses = dict.fromkeys(path for path in paths if path is not None and is_address(path))
    return images.web.fetch(addresses, lambda draft: _decoded(draft, draft.stat().st_size)) if addresses else {}


def _read_edit(removal: str, hidden: Sequence[Sequence[float]]) -> Edit | None:
    """Parse an edit; return None if the whole picture is removed."""
    words = dict(item.partition("=")[::2] for item in removal.split())
    feather = int(words.get("feather") or 0)
    if "image" not in words:
        return Edit(words.get("hidden") or "mask", feather, tuple(map(tuple, hidden)))
    return Edit(_WHOLE[words["image"]], 0, _EVERYTHING) if words["image"] in _WHOLE else None


@lru_cache(maxsize=_KEPT)
def _edited(picture: Picture, edit: Edit) -> Picture:
    if not edit.boxes:
        return picture
    height, width = picture.pixels.shape[:2]
    edge = (width, height, width, height)
    boxes = [tuple(map(min, box, edge)) for box in edit.boxes]
    if edit.how == CROP:
        return Picture.of(crop(picture.pixels, boxes))
    return Picture.of(hide(picture.pixels, boxes, edit.how, edit.feather))


@lru_cache(maxsize=1)
def _canvas() -> Picture:
    return Picture.of(np.full((_SIDE, _SIDE, 3), GRAY, np.uint8))


def _open(image: str, path: str | None, fetched: Mapping[str, Path], root: Path | None) -> Picture:
    file = fetched.get(path or "")
    return _opened(*(_find(image, path, root) if file is None else _stamp(image, file)))


@lru_cache(maxsize=_KEPT)
def _opened(path: Path, stamp: tuple[int, int]) -> Picture:
    try:
        return Picture.of(_decoded(path, stamp[1]))
    except (OSError, ValueError, SyntaxError) as error:
        found = str(error).partition("\n")[0]
        raise FileFormatError(f"a picture in {path}", found, "restore the file, or leave out its examples") from None


def _decoded(path: Path, size: int) -> Pixels:
    """Open a picture after checking its size."""
    from PIL import Image

    if size > BYTES:
        raise OSError(f"{size:,} bytes, more than the {BYTES:,} allowed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # our own limit is lower
        file = _begin(path)
    with file:
        if file.width * file.height > _PIXELS:
            raise OSError(f"{file.width:,} x {file.height:,} pixels, more than the {_PIXELS:,} allowed")
        return np.asarray(file.convert("RGB"))


def _begin(path: Path) -> "ImageFile":
    from PIL import Image

    try:
        return Image.open(path, formats=_FORMATS)
    except Image.DecompressionBombError as error:
        raise OSError(str(error)) from None


_Stamp = tuple[int, int]  # when a file was changed, and its size


def _find(image: str, path: str | None, root: Path | None) -> tuple[Path, _Stamp]:
    if path is None:
        advice = "read the data with the folder of its pictures: images=FOLDER"
        raise DataError(f"the path of a picture for image {image!r}", "none in the images table", advice)
    if "://" in path:
        raise DataError(f"a file as the picture of image {image!r}", f"the address {path}", "download it first")
    if root is not None and not Path(normpath(path)).is_relative_to(normpath(root)):
        found = f"the path {path}"
        raise DataError(f"the picture of image {image!r} under {root}", found, "give the folder that contains them all")
    return _stamp(image, Path(path))


def _stamp(image: str, path: Path) -> tuple[Path, _Stamp]:
    try:
        status = path.stat()
    except OSError:
        advice = "add the file, or leave out its examples"
        raise FileFormatError(f"the picture of image {image!r} at {path}", "no such file", advice) from None
    return path, (status.st_mtime_ns, status.st_size)
