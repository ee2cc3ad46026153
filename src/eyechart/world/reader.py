"""An answerer that sees pixels: it finds the objects of a rendered world by colour and shape, and answers from them.

Every connected patch of pixels in colours of the world is cut out; if it is exactly a known silhouette (outline, one
colour inside, perhaps a mark), that object is recognised, whether the picture is whole or cropped. A partly hidden
object is not recognised.
The reader is given only the picture and the question; it ignores `visible` and `hidden`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.data.images import Images
from eyechart.data.picture_files import Pixels
from eyechart.data.pictures import Picture, show_pictures
from eyechart.data.tables import BOX
from eyechart.world.behaviour import Answerer
from eyechart.world.program import answer_from, find_objects
from eyechart.world.render import BACKGROUND, MARK_DARK, MARK_LIGHT, MARKS, OUTLINE, draw_object
from eyechart.world.sight import read_probes
from eyechart.world.vocabulary import ACTORS, COLORS, HEIGHT, LABELS, SIZES, THERE, UNKNOWN, WIDTH

Codes = NDArray[np.uint8]
Thing = tuple[object, ...]  # an object, as a row of a scene
Form = tuple[str, str, str | None, int, int]  # label, size, action, and the offset of the pattern in its box

FOREIGN, GROUND, LINE, DARK, LIGHT, FILL = range(6)  # codes of pixels; colours start at FILL
SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "image": pl.String,
    "index": pl.Int64,
    "label": pl.String,
    "box": BOX,
    "color": pl.String,
    "size": pl.String,
    "action": pl.String,
}


@dataclass(frozen=True)
class PixelReader(Answerer):
    """Answer from what the picture shows."""

    name: str = "reader"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Recognise the objects of each picture, and run the program on them."""
        keys, recognised = [], {}
        for picture in show_pictures(probes, images):
            keys.append(picture.key if picture else None)
            if picture:
                recognised[picture.key] = _recognise(picture)
        # The key of the picture, which depends on its content, takes the place of the image's name.
        rows = read_probes(probes.with_columns(pl.Series("image", keys, pl.String)))
        objects = [each for things, _ in recognised.values() for each in things]
        answers = answer_from(find_objects(rows, pl.DataFrame(objects, schema=SCHEMA, orient="row")))
        whole = [key for key, (_, is_whole) in recognised.items() if is_whole]
        absent = rows.filter(pl.col("question_type") == THERE, pl.col("image").is_in(whole))
        denied = absent.join(answers, on="row", how="anti").select("row", answer=pl.lit("no"))
        known = pl.concat([answers, denied])
        answered = rows.join(known, on="row", how="left", validate="1:1", maintain_order="left")
        return answered.select("id", pl.col("answer").fill_null(UNKNOWN))


@lru_cache(maxsize=256)
def _recognise(picture: Picture) -> tuple[tuple[Thing, ...], bool]:
    """Recognise objects, as rows of a scene, and return whether the whole picture is from the world."""
    codes = _code(picture.pixels)
    recognised = (_recognise_object(*patch) for patch in _patches(codes))
    objects = tuple((picture.key, index, *each) for index, each in enumerate(filter(None, recognised)))
    return objects, codes.shape == (HEIGHT, WIDTH) and bool((codes != FOREIGN).all())


def _patches(codes: Codes) -> Iterator[tuple[Codes, int, int]]:
    """Cut out connected patches, with their left and top, bridging gaps of a pixel or two in drawn objects."""
    from scipy.ndimage import binary_dilation, find_objects, label

    drawn, around = codes > GROUND, np.ones((3, 3), np.bool_)
    numbers = label(binary_dilation(drawn, around), around)[0] * drawn
    for number, area in enumerate(find_objects(numbers), 1):
        yield np.where(numbers[area] == number, codes[area], GROUND), area[1].start, area[0].start


def _code(pixels: Pixels) -> Codes:
    """Code each pixel by its exact colour."""
    red, green, blue = (pixels[:, :, channel].astype(np.uint32) for channel in range(3))
    codes: Codes = _palette()[red << 16 | green << 8 | blue]
    return codes


@cache
def _palette() -> Codes:
    """Map every possible colour to its code."""
    codes = np.full(1 << 24, FOREIGN, np.uint8)
    for code, (red, green, blue) in enumerate((BACKGROUND, OUTLINE, MARK_DARK, MARK_LIGHT, *COLORS.values()), GROUND):
        codes[red << 16 | green << 8 | blue] = code
    return codes


def _recognise_object(patch: Codes, left: int, top: int) -> Thing | None:
    """Recognise the object of a patch (label, box, color, size, action); None if it is not exactly one."""
    colors = np.unique(patch[patch >= FILL])
    form = _forms().get(_pattern(patch))
    if form is None or len(colors) != 1:
        return None
    label, size, action, form_left, form_top = form
    x, y = float(left - form_left), float(top - form_top)
    side = SIZES[size]
    return label, [x, y, x + side, y + side], list(COLORS)[colors[0] - FILL], size, action


def _pattern(codes: Codes) -> bytes:
    """Encode a pattern with its size but without its colour."""
    plain = np.where(codes <= GROUND, FOREIGN, np.minimum(codes, FILL))
    return repr(plain.shape).encode() + plain.tobytes()


@cache
def _forms() -> dict[bytes, Form]:
    """Draw every label in both sizes, actors also with every mark, and map the patterns to what they show."""
    forms: dict[bytes, Form] = {}
    for label in LABELS:
        for size, side in SIZES.items():
            for action in (None, *(MARKS if label in ACTORS else ())):
                pixels, mask = draw_object(label, next(iter(COLORS)), action, side)
                codes = np.where(mask, _code(pixels), np.uint8(GROUND))
                lines, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
                cut = codes[lines[0] : lines[-1] + 1, columns[0] : columns[-1] + 1]
                forms[_pattern(cut)] = label, size, action, int(columns[0]), int(lines[0])
    return forms
