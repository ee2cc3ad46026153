"""Draw scenes as pictures, with exact colours and no blending, so that they can be read back pixel by pixel.

An object fills its box: the silhouette of its label, filled with its colour, with a dark outline; an action is a mark
in the lower right corner of the box. Equal scenes give equal files.

A silhouette fits in a square of 100 x 100 and is drawn step by step: `poly` and `oval` (left top right bottom) add to
it, `hole` removes an oval; `dark` (a polygon), `spot` (an oval) and `line` are drawn on top in the colour of the
outline. Each reaches, or nearly reaches, the edges of its square, and no two are alike: a reader of pixels must be able
to distinguish them at both sizes.
"""

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.base.files import replacing
from eyechart.base.progress import Advance, tracked
from eyechart.world.program import scene_of
from eyechart.world.vocabulary import COLORS, HEIGHT, RGB, WIDTH

Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]

BACKGROUND: RGB = (236, 232, 222)
OUTLINE: RGB = (58, 52, 64)
MARK_DARK: RGB = (16, 62, 84)
MARK_LIGHT: RGB = (255, 250, 214)
MARK_SIDE = 12  # five points of 2 x 2 pixels and a frame of 1


def draw_pictures(images: pl.DataFrame, folder: Path) -> pl.DataFrame:
    """Draw every image of a world into a folder as PNG, and fill in the paths relative to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tracked("drawing pictures", images.height) as advance:
        for part in images.iter_slices(1000):
            _draw_part(part, folder, advance)
    return images.with_columns(path=pl.col("image") + ".png")


def _draw_part(images: pl.DataFrame, folder: Path, advance: Advance) -> None:
    from PIL import Image

    scenes = scene_of(images).partition_by("image", as_dict=True, include_key=False)
    for name in images["image"]:
        picture = Image.fromarray(draw_scene(scenes.get((name,))))
        with replacing(folder / f"{name}.png") as draft:
            picture.save(draft, "PNG", compress_level=6)
        advance(1)


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
    """Draw one object, and return its pixels and the mask of those that belong to it."""
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
    """Draw the steps of a shape, and return its body and the details on top in the colour of the outline."""
    from PIL import Image, ImageDraw

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
    """Remove the outermost pixels: those with a neighbour outside the body above, below, left or right."""
    wide = np.pad(body, 1)
    return body & wide[:-2, 1:-1] & wide[2:, 1:-1] & wide[1:-1, :-2] & wide[1:-1, 2:]


SHAPES = {
    "apple": "oval 4 22 96 98; poly 54 20 64 3 88 3 76 20; dark 46 6 54 6 54 30 46 30",
    "banana": "poly 6 18 17 12 24 40 44 62 72 70 93 62 98 72 80 90 50 95 24 81 9 52",
    "ball": "oval 2 2 98 98; line 4 40 30 50 70 50 96 40; line 50 50 50 98",
    "book": (
        "poly 10 3 90 3 90 97 10 97; dark 22 3 28 3 28 97 22 97; dark 42 24 78 24 78 32 42 32; "
        "dark 42 44 78 44 78 52 42 52"
    ),
    "bottle": (
        "poly 38 2 62 2 62 30 78 46 78 98 22 98 22 46 38 30; dark 38 12 62 12 62 20 38 20; dark 22 62 78 62 78 70 22 70"
    ),
    "boat": "poly 2 68 98 68 80 97 20 97; dark 45 3 52 3 52 68 45 68; poly 56 8 94 60 56 60; poly 41 22 41 60 10 60",
    "car": (
        "poly 2 56 16 52 30 24 70 24 84 50 98 56 98 80 2 80; spot 14 64 40 92; spot 60 64 86 92; "
        "dark 36 32 48 32 48 50 28 50; dark 54 32 66 32 74 50 54 50"
    ),
    "cup": "oval 52 28 98 76; hole 62 40 88 64; poly 6 14 72 14 64 97 14 97; line 6 24 72 24",
    "drum": (
        "poly 4 20 96 20 96 82 4 82; oval 4 4 96 36; oval 4 66 96 98; line 5 26 28 86 50 34 72 86 95 26; "
        "line 5 22 50 34 95 22"
    ),
    "fish": "oval 2 18 76 82; poly 64 50 98 16 90 50 98 84; spot 14 38 26 50; line 44 26 36 50 44 74",
    "flower": (
        "oval 30 2 70 40; oval 30 60 70 98; oval 2 30 40 70; oval 60 30 98 70; oval 12 12 48 48; "
        "oval 52 12 88 48; oval 12 52 48 88; oval 52 52 88 88; spot 34 34 66 66"
    ),
    "hat": "poly 26 10 74 10 80 74 20 74; oval 1 62 99 92; dark 22 52 78 52 80 64 20 64",
    "heart": "poly 50 26 42 12 28 5 12 10 3 26 6 46 20 66 50 97 80 66 94 46 97 26 88 10 72 5 58 12",
    "house": "poly 50 2 98 46 86 46 86 97 14 97 14 46 2 46; dark 42 64 60 64 60 97 42 97; line 14 46 86 46",
    "key": "oval 2 24 50 76; hole 14 38 36 62; poly 46 42 98 42 98 76 86 76 86 58 76 58 76 72 64 72 64 58 46 58",
    "leaf": (
        "poly 50 2 76 20 90 50 78 78 50 92 22 78 10 50 24 20; line 50 14 50 99; line 50 46 74 30; "
        "line 50 46 26 30; line 50 74 76 56; line 50 74 24 56"
    ),
    "shirt": "poly 28 6 40 6 50 16 60 6 72 6 99 28 84 50 74 42 74 97 26 97 26 42 16 50 1 28",
    "shoe": (
        "poly 4 18 40 18 48 42 76 54 97 66 97 86 4 86; dark 3 84 98 84 98 94 3 94; line 44 44 56 36; line 56 50 66 42"
    ),
    "star": "poly 50 2 62 37 99 37 69 59 80 96 50 74 20 96 31 59 1 37 38 37",
    "tree": "poly 50 2 78 38 66 38 94 78 6 78 34 38 22 38; dark 42 78 58 78 58 98 42 98",
    "chair": "poly 14 2 28 2 28 50 86 50 86 98 74 98 74 64 28 64 28 98 14 98",
    "table": "poly 1 22 99 22 99 38 90 38 90 97 78 97 78 38 22 38 22 97 10 97 10 38 1 38",
    "bench": (
        "poly 2 12 98 12 98 32 88 32 88 52 12 52 12 32 2 32; hole 22 34 78 50; "
        "poly 2 52 98 52 98 66 90 66 90 97 78 97 78 66 22 66 22 97 10 97 10 66 2 66"
    ),
    "mirror": "oval 16 2 84 82; poly 43 80 57 80 68 98 32 98; line 34 46 54 18; line 46 58 66 30",
    "bed": "poly 2 14 14 14 14 48 98 48 98 94 86 94 86 78 14 78 14 94 2 94; oval 16 30 46 54; line 46 50 46 78",
    "shelf": (
        "poly 6 2 94 2 94 98 6 98; dark 16 12 84 12 84 36 16 36; dark 16 46 84 46 84 64 16 64; "
        "dark 16 74 84 74 84 90 16 90"
    ),
    "pot": (
        "poly 16 40 84 40 76 95 24 95; poly 2 44 98 44 98 54 2 54; poly 10 28 90 28 90 40 10 40; "
        "oval 40 10 60 30; line 10 40 90 40"
    ),
    "lamp": "poly 32 3 68 3 92 50 8 50; dark 45 50 55 50 55 88 45 88; poly 24 86 76 86 76 97 24 97",
    "basket": (
        "oval 14 4 86 84; hole 26 16 74 72; poly 2 44 98 44 84 97 16 97; line 8 62 92 62; line 12 80 88 80; "
        "line 34 44 38 97; line 66 44 62 97"
    ),
    "vase": (
        "poly 32 3 68 3 60 24 84 54 70 97 30 97 16 54 40 24; line 22 46 34 38 46 46 58 38 70 46 78 42; line 20 66 80 66"
    ),
    "cat": (
        "poly 6 2 44 28 8 56; poly 94 2 56 28 92 56; oval 4 18 96 97; spot 24 42 38 58; spot 62 42 76 58; "
        "dark 43 64 57 64 50 74"
    ),
    "dog": (
        "oval 16 4 84 97; oval 1 8 30 72; oval 70 8 99 72; spot 32 34 44 48; spot 56 34 68 48; spot 38 58 62 76; "
        "line 30 14 30 62; line 70 14 70 62"
    ),
    "bird": (
        "oval 18 14 84 92; poly 80 40 99 52 80 64; poly 34 22 38 2 50 12 58 2 62 22; poly 1 54 26 44 26 76; "
        "spot 56 32 70 46; line 26 56 42 74 60 60"
    ),
    "rabbit": (
        "oval 20 1 44 60; oval 56 1 80 60; oval 12 36 88 98; spot 28 56 40 70; spot 60 56 72 70; dark 44 76 56 76 50 84"
    ),
    "bear": (
        "oval 2 4 38 40; oval 62 4 98 40; oval 6 14 94 98; spot 28 40 40 54; spot 60 40 72 54; spot 40 62 60 76; "
        "line 50 74 50 86"
    ),
    "robot": (
        "spot 42 1 58 15; dark 47 12 53 12 53 24 47 24; poly 14 22 86 22 86 96 14 96; poly 2 46 98 46 98 70 2 70; "
        "dark 26 38 44 38 44 56 26 56; dark 56 38 74 38 74 56 56 56; line 30 78 70 78"
    ),
    "hammer": "poly 8 8 74 4 94 26 88 30 74 24 74 34 8 34; poly 34 30 52 30 52 98 34 98",
    "pen": "poly 76 3 97 24 32 88 12 68; poly 12 68 32 88 2 98; line 12 68 32 88; line 64 16 84 36",
    "broom": (
        "poly 45 2 55 2 55 50 45 50; poly 32 48 68 48 92 98 8 98; line 41 62 28 98; line 50 62 50 98; line 59 62 72 98"
    ),
    "can": (
        "oval 54 40 99 92; hole 64 52 88 80; poly 26 38 74 38 74 97 26 97; poly 26 84 2 36 0 22 16 28 26 56; "
        "line 2 36 16 28"
    ),
    "ladder": (
        "poly 16 2 30 2 30 14 70 14 70 2 84 2 84 98 70 98 70 90 30 90 30 98 16 98; dark 30 24 70 24 70 38 30 38; "
        "dark 30 48 70 48 70 60 30 60; dark 30 70 70 70 70 80 30 80"
    ),
    "scissors": (
        "oval 4 60 44 99; hole 14 70 34 89; oval 56 60 96 99; hole 66 70 86 89; poly 26 66 42 74 84 4 74 1; "
        "poly 74 66 58 74 16 4 26 1; spot 44 48 56 60"
    ),
    "shovel": (
        "poly 44 10 56 10 56 56 44 56; poly 30 2 70 2 70 14 30 14; poly 24 52 76 52 76 74 50 99 24 74; line 50 60 50 80"
    ),
    "brush": (
        "poly 43 1 57 1 60 46 40 46; poly 30 44 70 44 70 62 30 62; poly 30 62 70 62 68 82 50 99 32 82; "
        "line 30 56 70 56; dark 42 76 58 76 50 97"
    ),
    "umbrella": (
        "poly 50 3 76 11 94 30 99 56 83 46 66 56 50 46 34 56 17 46 1 56 6 30 24 11; dark 46 46 54 46 54 90 46 90; "
        "line 50 90 58 97 68 94 70 86"
    ),
    "clock": (
        "oval 2 2 98 98; line 50 50 50 18; line 50 50 74 62; spot 45 6 55 16; spot 45 84 55 94; spot 6 45 16 55; "
        "spot 84 45 94 55"
    ),
    "kite": "poly 50 1 90 36 50 80 10 36; line 50 1 50 80; line 10 36 90 36; line 50 80 62 86 46 92 58 99",
    "balloon": "oval 16 1 84 74; poly 50 70 60 86 40 86; line 50 86 44 91 54 95 48 99; line 32 32 38 20 48 14",
    "candle": (
        "poly 32 38 68 38 68 98 32 98; poly 50 2 62 20 58 32 42 32 38 20; dark 47 26 53 26 53 40 47 40; "
        "line 58 40 58 58; poly 16 90 84 90 84 98 16 98"
    ),
    "flag": "dark 8 1 18 1 18 99 8 99; poly 18 5 98 5 80 30 98 55 18 55",
    "bell": "poly 50 3 64 10 73 32 77 60 96 82 4 82 23 60 27 32 36 10; spot 38 76 62 98; line 14 72 86 72",
    "anchor": (
        "oval 34 1 66 33; hole 43 10 57 24; poly 43 30 57 30 57 84 43 84; poly 24 38 76 38 76 50 24 50; "
        "poly 1 62 14 52 26 72 44 82 56 82 74 72 86 52 99 62 84 88 50 99 16 88"
    ),
    "crown": "poly 3 14 28 54 50 6 72 54 97 14 90 92 10 92; line 10 76 90 76; spot 44 80 56 90",
    "moon": "poly 62 2 36 6 14 26 7 52 17 80 42 97 70 96 93 76 66 78 47 65 41 44 47 20",
    "cloud": "oval 1 38 46 88; oval 22 10 74 78; oval 54 34 99 88; poly 22 60 78 60 78 88 22 88",
}

MARKS = {  # 5 x 5 points, light on dark
    "running": ("#..#.", ".#..#", "..#..", ".#..#", "#..#."),
    "jumping": ("..#..", ".###.", "#.#.#", "..#..", "..#.."),
    "eating": ("#.#.#", "#.#.#", ".###.", "..#..", "..#.."),
    "swimming": (".....", ".#...", "#.#.#", "...#.", "#####"),
    "playing": ("##...", "####.", "#####", "####.", "##..."),
    "sleeping": ("#####", "...#.", "..#..", ".#...", "#####"),
    "reading": ("##.##", "#.#.#", "#.#.#", "#.#.#", "##.##"),
    "dancing": ("..###", "..#.#", "..#..", "###..", "###.."),
}
