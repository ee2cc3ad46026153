"""Draw scenes as pictures, with exact colours and no blending, so that they can be read back pixel by pixel.

An object fills its box: a silhouette by its label, filled with its colour, with a dark outline; an action is a mark in
the lower right corner of the box. Equal scenes give equal files.
"""

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from eyechart.files import replacing
from eyechart.world.cells import HEIGHT, WIDTH
from eyechart.world.program import scene_of
from eyechart.world.shapes import MARKS, SHAPES
from eyechart.world.vocabulary import COLORS, RGB

Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]

BACKGROUND: RGB = (236, 232, 222)
OUTLINE: RGB = (58, 52, 64)
MARK_DARK: RGB = (16, 62, 84)
MARK_LIGHT: RGB = (255, 250, 214)
MARK_SIDE = 12  # five points of 2 x 2 pixels and a frame of 1


def draw_pictures(images: pl.DataFrame, folder: Path) -> pl.DataFrame:
    """Draw every image of a world into a folder as PNG and fill in the paths, relative to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in images.iter_slices(1000):
        _draw_part(part, folder)
    return images.with_columns(path=pl.col("image") + ".png")


def _draw_part(images: pl.DataFrame, folder: Path) -> None:
    scenes = scene_of(images).partition_by("image", as_dict=True, include_key=False)
    for name in images["image"]:
        picture = Image.fromarray(draw_scene(scenes.get((name,))))
        with replacing(folder / f"{name}.png") as draft:
            picture.save(draft, "PNG", compress_level=6)


def draw_scene(objects: pl.DataFrame | None) -> Pixels:
    """Draw the objects of one scene (label, box, color, size, action); None is an empty scene."""
    canvas = np.full((HEIGHT, WIDTH, 3), BACKGROUND, np.uint8)
    if objects is None:
        return canvas
    for label, box, color, action in objects.select("label", "box", "color", "action").iter_rows():
        left, top, right, bottom = map(round, box)
        pixels, mask = draw_object(label, color, action, right - left)
        canvas[top:bottom, left:right][mask] = pixels[mask]
    return canvas


@cache
def draw_object(label: str, color: str, action: str | None, side: int) -> tuple[Pixels, Mask]:
    """Draw one object: its pixels, and which of them belong to it."""
    body, top = silhouette(label, side)
    pixels = np.full((side, side, 3), OUTLINE, np.uint8)
    pixels[_inner(body) & ~top] = COLORS[color]
    mask = body | top
    if action is not None:
        pixels[-MARK_SIDE:, -MARK_SIDE:] = draw_mark(action)
        mask = mask.copy()
        mask[-MARK_SIDE:, -MARK_SIDE:] = True
    return pixels, mask


def draw_mark(action: str) -> Pixels:
    """Draw the mark of an action."""
    points = np.array([[point == "#" for point in line] for line in MARKS[action]])
    light = np.pad(points.repeat(2, axis=0).repeat(2, axis=1), 1)
    return np.where(light[:, :, None], MARK_LIGHT, MARK_DARK).astype(np.uint8)


@cache
def silhouette(label: str, side: int) -> tuple[Mask, Mask]:
    """Draw the steps of a shape: the body, and what lies on it in the colour of the outline."""
    body, top = (Image.new("1", (side, side)) for _ in range(2))
    on_body, on_top = ImageDraw.Draw(body), ImageDraw.Draw(top)
    for step in SHAPES[label].split("; "):
        kind, *numbers = step.split()
        points = [float(number) / 100 * (side - 1) for number in numbers]
        match kind:
            case "poly":
                on_body.polygon(points, fill=1)
            case "oval":
                on_body.ellipse(points, fill=1)
            case "hole":
                on_body.ellipse(points, fill=0)
            case "dark":
                on_top.polygon(points, fill=1)
            case "spot":
                on_top.ellipse(points, fill=1)
            case _:
                on_top.line(points, fill=1, width=2 if side > 40 else 1)
    return np.array(body), np.array(top)


def _inner(body: Mask) -> Mask:
    """Take the outermost pixels away: those that touch something else above, below, left or right."""
    wide = np.pad(body, 1)
    return body & wide[:-2, 1:-1] & wide[2:, 1:-1] & wide[1:-1, :-2] & wide[1:-1, 2:]
