"""An answerer that sees pixels: it finds the objects of a rendered world by colour and shape, and answers from them.

Every patch of pixels that hang together and have a colour of the world is cut out; where they are exactly a known
silhouette (outline, one colour inside, perhaps a mark), that object is there, be the picture whole or cut to a part. An
object that is hidden in part is not recognised.
The reader is handed nothing but the picture and the question: `visible` and `hidden` mean nothing to it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.dataset import Images
from eyechart.pictures import Picture, show_pictures
from eyechart.pixels import Pixels
from eyechart.tables import BOX
from eyechart.world.cells import HEIGHT, WIDTH
from eyechart.world.program import answer_from, find_objects
from eyechart.world.shapes import MARKS
from eyechart.world.sight import read_probes
from eyechart.world.vocabulary import ACTORS, COLORS, LABELS, SIZES, THERE, UNKNOWN

Codes = NDArray[np.uint8]
Thing = tuple[object, ...]

FOREIGN, GROUND, LINE, DARK, LIGHT, FILL = range(6)  # what a pixel is; colours count from FILL on
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
class Reader:
    """Answer from what the picture shows."""

    name: str = "reader"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Recognise the objects of each picture, and run the program on them."""
        seen = [_look(picture) if picture else None for picture in show_pictures(probes, images)]
        # The picture itself, by its content, stands in the place of the image's name.
        keys = pl.Series("image", [look.key if look else None for look in seen], pl.String)
        rows = read_probes(probes.with_columns(keys))
        looks = {look.key: look for look in seen if look}
        scene = pl.DataFrame([thing for look in looks.values() for thing in look.things], schema=SCHEMA, orient="row")
        said = answer_from(find_objects(rows, scene))
        whole = [look.key for look in looks.values() if look.whole]
        absent = rows.filter(pl.col("question_type") == THERE, pl.col("image").is_in(whole))
        denied = absent.join(said, on="row", how="anti").select("row", answer=pl.lit("no"))
        answers = rows.join(pl.concat([said, denied]), on="row", how="left", validate="1:1", maintain_order="left")
        return answers.select("id", pl.col("answer").fill_null(UNKNOWN))


class Look(NamedTuple):
    """What was recognised in a picture, as rows of a scene, and whether all of it is of the world."""

    key: str
    things: tuple[Thing, ...]
    whole: bool


class Patch(NamedTuple):
    """A part of a picture, and where it begins."""

    codes: Codes
    left: int
    top: int


class Form(NamedTuple):
    """What a pattern of pixels is, and where in its box it begins."""

    label: str
    size: str
    action: str | None
    left: int
    top: int


@lru_cache(maxsize=256)
def _look(picture: Picture) -> Look:
    codes = _code(picture.pixels)
    found = (_recognise(patch) for patch in _patches(codes))
    things = tuple((picture.key, index, *thing) for index, thing in enumerate(filter(None, found)))
    return Look(picture.key, things, whole=codes.shape == (HEIGHT, WIDTH) and bool((codes != FOREIGN).all()))


def _patches(codes: Codes) -> Iterator[Patch]:
    """Cut out what hangs together; some objects are drawn with gaps of a pixel or two."""
    from scipy.ndimage import binary_dilation, find_objects, label

    drawn, around = codes > GROUND, np.ones((3, 3), np.bool_)
    numbers = label(binary_dilation(drawn, around), around)[0] * drawn
    for number, at in enumerate(find_objects(numbers), 1):
        yield Patch(np.where(numbers[at] == number, codes[at], GROUND), at[1].start, at[0].start)


def _code(pixels: Pixels) -> Codes:
    """Say of each pixel what it is by its exact colour."""
    red, green, blue = (pixels[:, :, at].astype(np.uint32) for at in range(3))
    codes: Codes = _palette()[red << 16 | green << 8 | blue]
    return codes


@cache
def _palette() -> Codes:
    """Give every colour there is its code."""
    from eyechart.world.render import BACKGROUND, MARK_DARK, MARK_LIGHT, OUTLINE

    codes = np.full(1 << 24, FOREIGN, np.uint8)
    for code, (red, green, blue) in enumerate((BACKGROUND, OUTLINE, MARK_DARK, MARK_LIGHT, *COLORS.values()), GROUND):
        codes[red << 16 | green << 8 | blue] = code
    return codes


def _recognise(patch: Patch) -> Thing | None:
    """Find the object of a patch: label, box, color, size, action."""
    colors = np.unique(patch.codes[patch.codes >= FILL])
    form = _forms().get(_pattern(patch.codes))
    if form is None or len(colors) != 1:
        return None
    x, y = float(patch.left - form.left), float(patch.top - form.top)
    side = SIZES[form.size]
    return form.label, [x, y, x + side, y + side], list(COLORS)[colors[0] - FILL], form.size, form.action


def _pattern(codes: Codes) -> bytes:
    """Write a pattern without its colour, and with its size."""
    plain = np.where(codes <= GROUND, FOREIGN, np.minimum(codes, FILL))
    return repr(plain.shape).encode() + plain.tobytes()


@cache
def _forms() -> dict[bytes, Form]:
    """Draw every label in both sizes, actors with every mark too, and remember how they look."""
    from eyechart.world.render import draw_object

    forms = {}
    for label in LABELS:
        for size, side in SIZES.items():
            for action in (None, *(MARKS if label in ACTORS else ())):
                pixels, mask = draw_object(label, next(iter(COLORS)), action, side)
                codes = np.where(mask, _code(pixels), np.uint8(GROUND))
                lines, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
                cut = codes[lines[0] : lines[-1] + 1, columns[0] : columns[-1] + 1]
                forms[_pattern(cut)] = Form(label, size, action, int(columns[0]), int(lines[0]))
    return forms
