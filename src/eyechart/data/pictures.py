"""Open the pictures of probes on demand, edit them as the probes ask, and keep the latest in memory.

The column `removal` says how boxes are hidden, as in `hidden=blur feather=4`, and `hidden` which ones. `image=blank`,
`image=mean` and `image=noise` hide the whole picture; with any other `image=...` there is none. A hidden box is hidden
entirely, with every pixel that it touches; with `feather` the edit fades out around it. Pixels further away keep their
values exactly. The same input always gives the same output: even the noise is deterministic.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.base.errors import DataError, FileFormatError, SettingError
from eyechart.base.fetching import BYTES
from eyechart.data.images import Images, shown_names, shown_paths
from eyechart.data.web import is_address

Pixels = NDArray[np.uint8]  # height x width x 3
Box = Sequence[float]

GRAY = 128
_BLUR = 8  # the radius is this part of the shorter side, which blurs lettering and the colours of single objects away


def hide(pixels: Pixels, boxes: Sequence[Box], how: str = "mask", feather: int = 0) -> Pixels:
    """Replace the pixels in boxes by `mask` (the mean colour), `blur`, `noise` or `blank` (grey)."""
    if how not in WAYS:
        raise SettingError(f"pixels hidden by one of {', '.join(WAYS)}", repr(how), "choose one of these")
    strength = cover(pixels, boxes, feather)
    edit, edited = WAYS[how](pixels), pixels.copy()
    wholly, partly = strength == 1, (strength > 0) & (strength < 1)
    np.copyto(edited, edit, where=wholly[:, :, None])
    share = strength[partly][:, None]
    edited[partly] = np.round(edit[partly] * share + pixels[partly] * (1 - share))
    return edited


def crop(pixels: Pixels, boxes: Sequence[Box]) -> Pixels:
    """Crop the picture to the smallest rectangle around what is not hidden, and mask the hidden parts inside it."""
    shown = cover(pixels, boxes) == 0
    lines, columns = (np.flatnonzero(shown.any(axis=axis)) for axis in (1, 0))
    masked = hide(pixels, boxes)
    return masked[lines[0] : lines[-1] + 1, columns[0] : columns[-1] + 1] if lines.size else masked


def cover(pixels: Pixels, boxes: Sequence[Box], feather: int = 0) -> NDArray[np.float64]:
    """Compute how strongly each pixel is edited: 1 inside the boxes, falling to 0 over `feather` pixels around them."""
    strength = np.zeros(pixels.shape[:2])
    for away in range(feather, -1, -1):
        for left, top, right, bottom in boxes:
            lines = slice(max(int(np.floor(top)) - away, 0), max(int(np.ceil(bottom)) + away, 0))
            columns = slice(max(int(np.floor(left)) - away, 0), max(int(np.ceil(right)) + away, 0))
            if right > left and bottom > top:
                strength[lines, columns] = 1 - away / (feather + 1)
    return strength


def _mean(pixels: Pixels) -> Pixels:
    channels = np.ascontiguousarray(pixels.reshape(-1, 3).T)  # a mean over the first axes is ten times as slow
    return np.broadcast_to(np.round(channels.mean(axis=1)).astype(np.uint8), pixels.shape)


def _blank(pixels: Pixels) -> Pixels:
    return np.full_like(pixels, GRAY)


def _noise(pixels: Pixels) -> Pixels:
    return np.random.default_rng(0).integers(0, 256, pixels.shape, np.uint8)


def _blurred(pixels: Pixels) -> Pixels:
    from PIL import Image, ImageFilter

    blurred = Image.fromarray(pixels).filter(ImageFilter.GaussianBlur(min(pixels.shape[:2]) / _BLUR))
    return np.asarray(blurred)


WAYS: dict[str, Callable[[Pixels], Pixels]] = {"mask": _mean, "blur": _blurred, "noise": _noise, "blank": _blank}


if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

CROP = "crop"
_KEPT = 64  # pictures in memory
_WHOLE = {"blank": "blank", "mean": "mask", "noise": "noise"}  # way to hide the whole picture -> way to hide a box
_EVERYTHING = ((0.0, 0.0, float("inf"), float("inf")),)
_SIDE = 336  # pixels of the placeholder for a picture that was not provided
PIXELS = 64_000_000  # at most: a small file can hold a very large picture
KINDS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")  # not EPS, which would be run as a program


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


def show_all_pictures(probes: pl.DataFrame, images: Images) -> list[tuple[Picture, ...]]:
    """Open all pictures of each filled probe, in order; boxes are hidden in the first only."""
    if not images.has_several or "image" not in probes.columns:
        return [() if one is None else (one,) for one in show_pictures(probes, images)]
    rows = probes.with_row_index("row").with_columns(shown_names(probes, images).alias("image")).explode("image")
    if "hidden" in rows.columns:
        is_first = pl.int_range(pl.len()).over("row") == 0
        rows = rows.with_columns(pl.when(is_first).then("hidden").alias("hidden"))
    several: list[tuple[Picture, ...]] = [()] * probes.height
    for row, picture in zip(rows["row"], show_pictures(rows, images), strict=True):
        several[row] += () if picture is None else (picture,)
    return several


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
        if file.width * file.height > PIXELS:
            raise OSError(f"{file.width:,} x {file.height:,} pixels, more than the {PIXELS:,} allowed")
        return np.asarray(file.convert("RGB"))


def _begin(path: Path) -> "ImageFile":
    from PIL import Image

    try:
        return Image.open(path, formats=KINDS)
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
