"""Galleries: examples as cards, with their picture as the model saw it, boxes around objects, and the answers.

A gallery view names its columns by their roles: `image` is the picture, `hidden` and `removal` are what was hidden in
it and how, `boxes` is a list of boxes, or of {label, box}, to draw, `title` is the line at the top, and cards with the
same `group` are shown next to each other. `hidden_pictures` and `box_pictures` are the positions of the pictures that
these boxes are on, where there are several. Every other column is a line on the card, labelled with its name.
"""

import base64
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl

from eyechart.base.errors import EyechartError
from eyechart.data.images import Images
from eyechart.data.picture_files import Pixels
from eyechart.data.pictures import show_all_pictures
from eyechart.data.tables import PICTURE_COLUMNS
from eyechart.data.turning import require_upright
from eyechart.reporting.drawing import Drawing, format_name
from eyechart.reporting.palette import Palette
from eyechart.reporting.showcase import Showcase

SHOWN_AS_PICTURE = (*PICTURE_COLUMNS, "boxes", "box_pictures")
CELLS = 4  # of the thumbnail of several pictures, at most
SIDE = 240  # of a thumbnail, at most, in pixels
LARGE_SIDE = 480  # of a picture of the showcase
QUALITY = 60


@dataclass(frozen=True)
class Thumbnail:
    """A small picture as a data URL, and the size of the original, which the coordinates of boxes refer to."""

    url: str
    width: int
    height: int
    cells: Mapping[int, "Cell"] = field(default_factory=dict)  # of several pictures, by position; empty for one

    @classmethod
    def of(cls, pixels: Pixels, side: int, cells: Mapping[int, "Cell"] | None = None) -> Self:
        """Make the thumbnail of a picture, or of several that were arranged in one."""
        text = base64.b64encode(shrink(pixels, side, QUALITY)).decode("ascii")
        return cls(f"data:image/webp;base64,{text}", pixels.shape[1], pixels.shape[0], cells or {})

    def frame(self, label: str, box: Sequence[float], place: int = 0) -> "Frame | None":
        """Convert a box from pixels of a picture to a frame over the thumbnail; None if that is not in it."""
        cell = self.cells.get(place) if self.cells else Cell(0, 0, 1, self.width, self.height) if place == 0 else None
        if cell is None:
            return None
        sides = cell.left + min(cell.width, self.width), cell.top + min(cell.height, self.height)
        left, right = (
            100 * min(max(cell.left + box[side] * cell.scale, cell.left), sides[0]) / self.width for side in (0, 2)
        )
        top, bottom = (
            100 * min(max(cell.top + box[side] * cell.scale, cell.top), sides[1]) / self.height for side in (1, 3)
        )
        return Frame(label, left, top, right - left, bottom - top)


class Cell(NamedTuple):
    """Where a picture stands among several, how much it was scaled, and its size there, in pixels."""

    left: float
    top: float
    scale: float
    width: float
    height: float


@dataclass(frozen=True)
class Frame:
    """A box over a picture, in percent of its width and height."""

    label: str
    left: float
    top: float
    width: float
    height: float

    @property
    def side(self) -> tuple[str, float]:
        """Return the side and offset where the label begins: the side of the frame with more room."""
        right = 100 - self.left - self.width
        return ("left", self.left) if self.left <= right else ("right", right)


@dataclass(frozen=True)
class Card:
    """One example, laid out for display."""

    title: str
    condition: str | None  # the title, if it names a condition
    lines: tuple[tuple[str, str], ...]
    picture: Thumbnail | None
    frames: tuple[Frame, ...]

    @classmethod
    def of(cls, record: Mapping[str, Any], thumbnails: "Thumbnails", palette: Palette) -> Self:
        """Build a card from one row of a gallery."""
        picture = thumbnails.get(picture_key(record))
        lines = tuple(
            (name, _text(value))
            for name, value in record.items()
            if name not in (*SHOWN_AS_PICTURE, "title", "group") and value not in (None, [], "")
        )
        places = record.get("box_pictures")
        frames = tuple(_frames(record.get("boxes") or (), places, picture)) if picture else ()
        title = _text(record.get("title"))
        return cls(title, title if palette.are_conditions([title]) else None, lines, picture, frames)


CardGroup = tuple[str, tuple[Card, ...]]  # a name, and cards that belong together
Thumbnails = dict[str, Thumbnail]


def shrink(pixels: Pixels, side: int, quality: int) -> bytes:
    """Encode a picture as WebP, with at most this many pixels on a side."""
    from PIL import Image

    small = Image.fromarray(pixels)
    small.thumbnail((side, side))
    file = io.BytesIO()
    small.save(file, "WEBP", quality=quality)
    return file.getvalue()


def picture_key(record: Mapping[str, Any]) -> str:
    """Return a key for the picture of a record: the image and its edits."""
    return repr([record.get(role) for role in PICTURE_COLUMNS])


def make_thumbnails(drawings: Iterable[Drawing], showcase: Showcase | None, images: Images) -> Thumbnails:
    """Make one thumbnail of each distinct picture in galleries, and a larger one of each picture of the showcase.

    Pictures that cannot be opened are skipped.
    """
    shown: dict[str, tuple[Mapping[str, Any], int]] = {}
    for drawing in drawings:
        if drawing.kind == "gallery" and drawing.column("image"):
            records = (record for record in drawing.records() if record["image"] is not None)
            shown |= {picture_key(record): (record, SIDE) for record in records}
    pictures = (scene.picture for scene in (showcase.scenes if showcase else ()) if scene.picture)
    shown |= {picture_key(picture): (picture, LARGE_SIDE) for picture in pictures}
    made = ((key, _make_thumbnail(record, images, side)) for key, (record, side) in shown.items())
    return {key: thumbnail for key, thumbnail in made if thumbnail}


def scene_pictures(showcase: Showcase | None, thumbnails: Thumbnails) -> dict[str, Thumbnail]:
    """Find the picture of each scene of the showcase, by condition."""
    scenes = showcase.scenes if showcase else ()
    found = ((scene.condition, thumbnails.get(picture_key(scene.picture))) for scene in scenes if scene.picture)
    return {condition: thumbnail for condition, thumbnail in found if thumbnail}


def arrange_cards(drawing: Drawing, thumbnails: Thumbnails, palette: Palette) -> tuple[CardGroup, ...]:
    """Build cards from the rows of a gallery, by group."""
    records = drawing.records()
    groups = groupby(records, key=lambda record: _text(record.get("group")))
    return tuple((name, tuple(Card.of(record, thumbnails, palette) for record in group)) for name, group in groups)


def _frames(boxes: Sequence[Any], places: Sequence[int | None] | None, picture: Thumbnail) -> Iterator[Frame]:
    for each, place in zip(boxes, places or [0] * len(boxes), strict=True):
        label, box = (each.get("label") or "", each.get("box")) if isinstance(each, Mapping) else ("", each)
        frame = None if box is None else picture.frame(label, box, place or 0)
        if frame is not None:
            yield frame


def _make_thumbnail(record: Mapping[str, Any], images: Images, side: int) -> Thumbnail | None:
    probe = pl.DataFrame([{name: record.get(name) for name in PICTURE_COLUMNS}], schema=PICTURE_COLUMNS)
    try:
        (pictures,) = show_all_pictures(probe, images)
        if record.get("boxes") and pictures:
            first = images.list_pictures(probe["image"]).list.first()[0]
            require_upright(first, images, pictures[0].size, pictures[0].orientation)
    except EyechartError:
        return None  # the page is written even if the pictures are elsewhere
    return _arrange([each.pixels for each in pictures], side) if pictures else None


def _arrange(pictures: Sequence[Pixels], side: int) -> Thumbnail:
    """Arrange several pictures, at most four evenly chosen ones, in two columns of the first one's size."""
    if len(pictures) == 1:
        return Thumbnail.of(pictures[0], side)
    from PIL import Image, ImageOps

    n = min(len(pictures), CELLS)
    height, width = pictures[0].shape[:2]
    sheet, cells = Image.new("RGB", (2 * width, (n + 1) // 2 * height), "white"), dict[int, Cell]()
    for number in range(n):
        place = len(pictures) * number // n
        original, corner = Image.fromarray(pictures[place]), (number % 2 * width, number // 2 * height)
        fitted = ImageOps.pad(original, (width, height), color="white")
        sheet.paste(fitted, corner)
        scale = min(width / original.width, height / original.height)
        sides = original.width * scale, original.height * scale
        left, top = (at + (room - side) / 2 for at, room, side in zip(corner, (width, height), sides, strict=True))
        cells[place] = Cell(left, top, scale, *sides)
    return Thumbnail.of(np.asarray(sheet), side, cells)


def _text(value: object) -> str:
    return "" if value is None else format_name(value)
