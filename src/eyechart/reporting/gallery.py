"""Galleries: examples as cards, with their picture as the model saw it, boxes around things, and what was said.

A gallery view names its columns by what they stand for: `image` the picture, `hidden` and `removal` what was hidden in
it and how, `boxes` a list of boxes, or of {label, box}, to be drawn; `title` the line above, `group` what puts cards
beside each other. Every other name is a line of its own on the card, under that very name.
"""

import base64
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import polars as pl

from eyechart.dataset import Images
from eyechart.errors import EyechartError
from eyechart.pictures import show_pictures
from eyechart.pixels import Pixels
from eyechart.reporting.drawing import Drawing, say_text
from eyechart.reporting.palette import Palette
from eyechart.tables import BOX

SEEN: dict[str, pl.DataType | type[pl.DataType]] = {"image": pl.String, "removal": pl.String, "hidden": pl.List(BOX)}
SHOWN_AS_PICTURE = ("image", "hidden", "removal", "boxes")
SIDE = 240  # of a thumbnail, at most, in pixels
QUALITY = 60


@dataclass(frozen=True)
class Thumbnail:
    """A small picture as a data URL, and the size of the whole one, which boxes are measured in."""

    url: str
    width: int
    height: int


@dataclass(frozen=True)
class Frame:
    """A box over a picture, in hundredths of its sides."""

    label: str
    left: float
    top: float
    width: float
    height: float

    @property
    def side(self) -> tuple[str, float]:
        """Tell where the label begins: at the side of the frame from which there is most room."""
        right = 100 - self.left - self.width
        return ("left", self.left) if self.left <= right else ("right", right)


@dataclass(frozen=True)
class Card:
    """One example as it is shown."""

    title: str
    condition: str | None  # the title, where that is the name of a condition
    lines: tuple[tuple[str, str], ...]
    picture: Thumbnail | None
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class CardGroup:
    """Cards that belong beside each other."""

    name: str
    cards: tuple[Card, ...]


Thumbnails = dict[str, Thumbnail]


def picture_key(record: Mapping[str, Any]) -> str:
    """Name the picture of a record: the image and all that was done to it."""
    return repr([record.get(role) for role in ("image", "removal", "hidden")])


def make_thumbnails(drawings: Iterable[Drawing], images: Images) -> Thumbnails:
    """Make every picture that galleries show once; those that cannot be opened are left out."""
    shown: dict[str, dict[str, Any]] = {}
    for drawing in drawings:
        if drawing.kind == "gallery" and drawing.column("image"):
            shown |= {picture_key(record): record for record in drawing.records() if record["image"] is not None}
    return {key: made for key, record in shown.items() if (made := _make_thumbnail(record, images))}


def arrange_cards(drawing: Drawing, thumbnails: Thumbnails, palette: Palette) -> tuple[CardGroup, ...]:
    """Lay the rows of a gallery out as cards, those of one group together."""
    records = drawing.records()
    groups = groupby(records, key=lambda record: _said(record.get("group")))
    return tuple(
        CardGroup(name, tuple(_card(record, thumbnails, palette) for record in found)) for name, found in groups
    )


def _card(record: Mapping[str, Any], thumbnails: Thumbnails, palette: Palette) -> Card:
    picture = thumbnails.get(picture_key(record))
    lines = tuple(
        (name, _said(value))
        for name, value in record.items()
        if name not in (*SHOWN_AS_PICTURE, "title", "group") and value not in (None, [], "")
    )
    frames = tuple(_frames(record.get("boxes") or (), picture)) if picture else ()
    title = _said(record.get("title"))
    return Card(title, title if palette.are_conditions([title]) else None, lines, picture, frames)


def _frames(boxes: Iterable[Any], picture: Thumbnail) -> Iterator[Frame]:
    for each in boxes:
        label, box = (each.get("label") or "", each.get("box")) if isinstance(each, Mapping) else ("", each)
        if box is not None:
            left, right = (100 * min(max(box[at] / picture.width, 0), 1) for at in (0, 2))
            top, bottom = (100 * min(max(box[at] / picture.height, 0), 1) for at in (1, 3))
            yield Frame(label, left, top, right - left, bottom - top)


def _make_thumbnail(record: Mapping[str, Any], images: Images) -> Thumbnail | None:
    probe = pl.DataFrame([{name: record.get(name) for name in SEEN}], schema=SEEN)
    try:
        picture = next(show_pictures(probe, images))
    except EyechartError:
        return None  # a page about results is written even where the pictures lie elsewhere
    return None if picture is None else _shrink(picture.pixels)


def _shrink(pixels: Pixels) -> Thumbnail:
    from PIL import Image

    small = Image.fromarray(pixels)
    small.thumbnail((SIDE, SIDE))
    file = io.BytesIO()
    small.save(file, "WEBP", quality=QUALITY)
    text = base64.b64encode(file.getvalue()).decode("ascii")
    return Thumbnail(f"data:image/webp;base64,{text}", pixels.shape[1], pixels.shape[0])


def _said(value: object) -> str:
    return "" if value is None else say_text(value)
