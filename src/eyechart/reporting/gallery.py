"""Galleries: examples as cards, with their picture as the model saw it, boxes around objects, and the answers.

A gallery view names its columns by their roles: `image` is the picture, `hidden` and `removal` are what was hidden in
it and how, `boxes` is a list of boxes, or of {label, box}, to draw, `title` is the line at the top, and cards with the
same `group` are shown next to each other. Every other column is a line on the card, labelled with its name.
"""

import base64
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Self

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

SHOWN_AS_PICTURE = ("image", "hidden", "removal", "boxes")
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

    @classmethod
    def of(cls, pixels: Pixels, side: int) -> Self:
        """Make the thumbnail of a picture."""
        text = base64.b64encode(shrink(pixels, side, QUALITY)).decode("ascii")
        return cls(f"data:image/webp;base64,{text}", pixels.shape[1], pixels.shape[0])

    def frame(self, label: str, box: Sequence[float]) -> "Frame":
        """Convert a box from pixels of the original to a frame over the thumbnail, clipped to the picture."""
        left, right = (100 * min(max(box[side] / self.width, 0), 1) for side in (0, 2))
        top, bottom = (100 * min(max(box[side] / self.height, 0), 1) for side in (1, 3))
        return Frame(label, left, top, right - left, bottom - top)


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
        frames = tuple(_frames(record.get("boxes") or (), picture)) if picture else ()
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
    return repr([record.get(role) for role in ("image", "removal", "hidden")])


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


def _frames(boxes: Iterable[Any], picture: Thumbnail) -> Iterator[Frame]:
    for each in boxes:
        label, box = (each.get("label") or "", each.get("box")) if isinstance(each, Mapping) else ("", each)
        if box is not None:
            yield picture.frame(label, box)


def _make_thumbnail(record: Mapping[str, Any], images: Images, side: int) -> Thumbnail | None:
    probe = pl.DataFrame([{name: record.get(name) for name in PICTURE_COLUMNS}], schema=PICTURE_COLUMNS)
    try:
        (pictures,) = show_all_pictures(probe, images)
        if record.get("boxes") and pictures:
            first = images.list_pictures(probe["image"]).list.first()[0]
            require_upright(first, images, pictures[0].size, pictures[0].orientation)
    except EyechartError:
        return None  # the page is written even if the pictures are elsewhere
    return Thumbnail.of(_arrange([each.pixels for each in pictures]), side) if pictures else None


def _arrange(pictures: Sequence[Pixels]) -> Pixels:
    """Arrange several pictures, at most four evenly chosen ones, in two columns of the first one's size."""
    if len(pictures) == 1:
        return pictures[0]
    from PIL import Image, ImageOps

    chosen = pictures if len(pictures) <= CELLS else [pictures[len(pictures) * cell // CELLS] for cell in range(CELLS)]
    height, width = chosen[0].shape[:2]
    sheet = Image.new("RGB", (2 * width, (len(chosen) + 1) // 2 * height), "white")
    for cell, pixels in enumerate(chosen):
        fitted = ImageOps.pad(Image.fromarray(pixels), (width, height), color="white")
        sheet.paste(fitted, (cell % 2 * width, cell // 2 * height))
    return np.asarray(sheet)


def _text(value: object) -> str:
    return "" if value is None else format_name(value)
