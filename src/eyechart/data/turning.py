"""Turn boxes with pictures that their EXIF orientation turns.

A picture is shown upright, but boxes may have been drawn on it as it is stored. Which of both is told by the width and
height that the data state, unless the picture is square or turned by 180 degrees.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.base.errors import DataError
from eyechart.data.images import Images
from eyechart.data.picture_files import SIDEWAYS

Direction = Literal["stored", "upright"]
UPRIGHT = "boxes_upright"  # column of the images: true where boxes are known to be on the picture as it is shown

_Floats = NDArray[np.float64]


def direction_of(declared: Sequence[int | None], stored: Sequence[int], orientation: int) -> Direction | None:
    """Tell what boxes are drawn on by the width and height that the data state; None if these do not tell."""
    width, height = stored
    if orientation < SIDEWAYS or width == height:
        return None
    if tuple(declared) == (width, height):
        return "stored"
    return "upright" if tuple(declared) == (height, width) else None


def turn_boxes(boxes: _Floats, orientation: NDArray[np.int64], stored: _Floats) -> _Floats:
    """Turn boxes (left, top, right, bottom) on stored pictures, given the orientation and the size of each."""
    left, top, right, bottom = boxes.T
    width, height = stored.T
    mirrored_x, mirrored_y = (width - right, width - left), (height - bottom, height - top)
    sides = {  # the new left and right, top and bottom
        2: (mirrored_x, (top, bottom)),
        3: (mirrored_x, mirrored_y),
        4: ((left, right), mirrored_y),
        5: ((top, bottom), (left, right)),
        6: (mirrored_y, (left, right)),
        7: (mirrored_y, mirrored_x),
        8: ((top, bottom), mirrored_x),
    }
    turned = boxes.copy()
    for value, ((new_left, new_right), (new_top, new_bottom)) in sides.items():
        rows = orientation == value
        turned[rows] = np.stack([new_left, new_top, new_right, new_bottom], axis=1)[rows]
    return turned


def require_upright(image: str, images: Images, shown: Sequence[int], orientation: int) -> None:
    """Raise an error if a picture, `shown` in this size, is turned and its boxes are not known to be on it as shown."""
    if orientation == 1:
        return
    (row,) = images.find(pl.Series([image]))
    facts = images.table.row(row, named=True)
    declared = (facts.get("width"), facts.get("height"))
    if not facts.get(UPRIGHT) and direction_of(declared, shown[::-1], orientation) != "upright":
        raise undecided(image, 1)


def undecided(image: str, n: int) -> DataError:
    """Build the error for boxes on pictures that are turned, where nobody knows which way the boxes are."""
    found = f"{n:,} whose width and height do not tell, such as image {image!r}"
    advice = "read the data again with boxes=stored if boxes are on the picture as it is stored, else boxes=upright"
    return DataError("boxes on pictures that EXIF turns, drawn in a known direction", found, advice)
