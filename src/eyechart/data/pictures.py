"""Open the pictures of probes on demand, edit them as the probes ask, and keep the latest in memory.

The column `removal` says how boxes are hidden, as in `hidden=blur feather=4`, and `hidden` which ones. `image=blank`,
`image=mean` and `image=noise` hide the whole picture; with any other `image=...` there is none. A hidden box is hidden
entirely, with every pixel that it touches; with `feather` the edit fades out around it. Pixels further away keep their
values exactly. The same input always gives the same output: even the noise is deterministic.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.base.errors import SettingError
from eyechart.data.images import Images, shown_names, shown_paths
from eyechart.data.picture_files import Pixels, Size, check_file, decode_file, find_picture, stat_picture
from eyechart.data.several import PLACES, boxes_on
from eyechart.data.turning import require_upright
from eyechart.data.web import is_address

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


CROP = "crop"
_KEPT = 64  # pictures in memory
_WHOLE = {"blank": "blank", "mean": "mask", "noise": "noise"}  # way to hide the whole picture -> way to hide a box
_EVERYTHING = ((0.0, 0.0, float("inf"), float("inf")),)
_SIDE = 336  # pixels of the placeholder for a picture that was not provided


@dataclass(frozen=True)
class Picture:
    """A picture that is shown to a model; pictures with the same pixels are equal.

    `former` is the same picture as versions showed it that left out orientation, transparency and deep colours.
    """

    key: str  # SHA-256 of size and pixels, part of the key of cached responses
    pixels: Pixels = field(compare=False, repr=False)
    former: "Picture | None" = field(default=None, repr=False)
    orientation: int = field(default=1, compare=False, repr=False)  # of the file, by its EXIF; the pixels are upright

    @property
    def size(self) -> Size:
        """Return the width and height."""
        height, width = self.pixels.shape[:2]
        return width, height

    @classmethod
    def of(cls, pixels: Pixels, former: "Picture | None" = None, orientation: int = 1) -> Self:
        """Build a picture from pixels."""
        return cls(sha256(repr(pixels.shape).encode() + pixels.tobytes()).hexdigest(), pixels, former, orientation)


class Edit(NamedTuple):
    """An edit of a picture."""

    how: str
    feather: int
    boxes: tuple[tuple[float, ...], ...]


def describe_hiding(how: str, feather: int = 0) -> str:
    """Describe how boxes are hidden, for the column `removal` of a probe."""
    return f"hidden={how}" + (f" feather={feather}" if feather else "")


def show_pictures(probes: pl.DataFrame, images: Images) -> Iterator[Picture | None]:
    """Yield the first picture of each filled probe in order, None for a probe without one."""
    if PLACES["hidden"] in probes.columns:
        probes = probes.with_columns(boxes_on(probes, "hidden"))
    known = dict.fromkeys(("image", "removal", "hidden"))
    paths = shown_paths(probes, images).to_list()
    fetched = fetch(paths, images)
    for row, path in zip(probes.iter_rows(named=True), paths, strict=True):
        image, removal, hidden = (row.get(name) for name in known)
        edit = _read_edit(removal or "", hidden or ())
        if edit is None or (image is None and edit.boxes != _EVERYTHING):
            yield None
        elif image is None:  # a picture that is entirely hidden need not exist
            yield _edited(_canvas(), edit)
        else:
            picture = _open(image, path, fetched, images)
            if edit.boxes not in ((), _EVERYTHING):
                require_upright(image, images, picture.size, picture.orientation)
            yield _edited(picture, edit)


def show_all_pictures(probes: pl.DataFrame, images: Images) -> list[tuple[Picture, ...]]:
    """Open all pictures of each filled probe, in order; boxes are hidden in the one that they are on, or in the first.

    Positions of pictures are those among the ones that the probe shows.
    """
    if not images.has_several or "image" not in probes.columns:
        return [() if one is None else (one,) for one in show_pictures(probes, images)]
    rows = probes.with_row_index("row").with_columns(shown_names(probes, images).alias("image")).explode("image")
    if "hidden" in rows.columns:
        places = rows.select(pl.int_range(pl.len()).over("row")).to_series()
        parts = [_of_place(rows.filter(places == place), place) for place in places.unique().sort()]
        rows = pl.concat(parts).sort("row", maintain_order=True)
    several: list[tuple[Picture, ...]] = [()] * probes.height
    for row, picture in zip(rows["row"], show_pictures(rows, images), strict=True):
        several[row] += () if picture is None else (picture,)
    return several


def _of_place(rows: pl.DataFrame, place: int) -> pl.DataFrame:
    return rows.with_columns(boxes_on(rows, "hidden", place)).drop(PLACES["hidden"], strict=False)


def fetch(paths: Iterable[str | None], images: Images) -> dict[str, Path]:
    """Find the files of paths that are addresses, fetching those that are not cached if that is allowed."""
    addresses = dict.fromkeys(path for path in paths if path is not None and is_address(path))
    return images.web.fetch(addresses, check_file) if addresses else {}


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
    former = None if picture.former is None else _edited(picture.former, edit)
    height, width = picture.pixels.shape[:2]
    edge = (width, height, width, height)
    boxes = [tuple(map(min, box, edge)) for box in edit.boxes]
    if edit.how == CROP:
        return Picture.of(crop(picture.pixels, boxes), former)
    return Picture.of(hide(picture.pixels, boxes, edit.how, edit.feather), former)


@lru_cache(maxsize=1)
def _canvas() -> Picture:
    return Picture.of(np.full((_SIDE, _SIDE, 3), GRAY, np.uint8))


def _open(image: str, path: str | None, fetched: Mapping[str, Path], images: Images) -> Picture:
    file = fetched.get(path or "") or find_picture(image, path, images.root, images.web.links)
    return _opened(file, stat_picture(image, file))


@lru_cache(maxsize=_KEPT)
def _opened(path: Path, stamp: tuple[int, int]) -> Picture:
    decoded = decode_file(path, stamp[1])
    former = None if decoded.former is None else Picture.of(decoded.former)
    return Picture.of(decoded.pixels, former, decoded.orientation)
