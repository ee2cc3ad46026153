"""Boxes (left, top, right, bottom): how far they overlap, and what part of a picture surrounds them.

A box has an area if right > left and bottom > top; a box without one overlaps nothing.
Lists of boxes are concatenated in one array, so a hundred thousand questions are one calculation.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.data.tables import BOX

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ShareOf = Literal["marked", "seen"]

_BLOCK = 1 << 14  # pairs at once: as many as fit the processor's cache


class BoxLists(NamedTuple):
    """Lists of boxes: those of list i are `boxes[starts[i] : starts[i + 1]]`."""

    starts: Ints
    boxes: Floats

    @property
    def sizes(self) -> Ints:
        """Count the boxes of each list."""
        return np.diff(self.starts)

    @property
    def rows(self) -> Ints:
        """Return the list of each box."""
        return np.repeat(np.arange(len(self.starts) - 1), self.sizes)


class Overlaps(NamedTuple):
    """Each pair of a list of marked boxes and a seen box, with the largest overlap of any box of the list with it.

    `seen` is the index of the seen box; `iou` intersection over union; `share` the intersection over one box's area.
    """

    rows: Ints
    seen: Ints
    iou: Floats
    share: Floats


def gather(rows: Ints, boxes: Floats, n: int) -> BoxLists:
    """Build n lists from boxes whose row numbers ascend."""
    return BoxLists(np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64), boxes)


def as_column(lists: BoxLists) -> pl.Series:
    """Convert lists to a column; a list without boxes is empty."""
    flat = pl.DataFrame({"row": lists.rows, "boxes": pl.Series(lists.boxes.reshape(-1, 4), dtype=BOX)})
    packed = flat.group_by("row", maintain_order=True).agg("boxes")
    rows = pl.DataFrame({"row": np.arange(len(lists.starts) - 1)})
    joined = rows.join(packed, on="row", how="left", validate="1:1", maintain_order="left")
    return joined["boxes"].fill_null(pl.lit([], pl.List(BOX)))


def areas(boxes: Floats) -> Floats:
    """Compute the areas; 0 where a side is not positive."""
    left, top, right, bottom = boxes.T
    return np.asarray(np.maximum(right - left, 0) * np.maximum(bottom - top, 0), np.float64)


def overlaps(marked: BoxLists, seen: BoxLists, of: Ints, share_of: ShareOf = "marked") -> Overlaps:
    """Compare the boxes of each marked list i with every box of the seen list `of[i]`."""
    sizes = seen.sizes[of]
    rows = np.repeat(np.arange(len(of)), sizes)
    seen_rows = np.arange(len(rows)) + np.repeat(seen.starts[of] - (np.cumsum(sizes) - sizes), sizes)
    iou, share = np.zeros(len(rows)), np.zeros(len(rows))
    columns = _columns(marked.boxes), _columns(seen.boxes)
    for start in range(0, len(rows), _BLOCK):
        span = slice(start, start + _BLOCK)
        block = columns[1][:, seen_rows[span]]
        for marks in _marks(marked, rows[span]):
            own_iou, own_share = _compare(columns[0][:, marks], block, share_of)
            np.maximum(iou[span], own_iou, out=iou[span])
            np.maximum(share[span], own_share, out=share[span])
    return Overlaps(rows, seen_rows, iou, share)


def _columns(boxes: Floats) -> Floats:
    """Lay boxes out by column, followed by their areas, with an empty box at the end (5 x n + 1)."""
    return np.concatenate([np.vstack([boxes.T, areas(boxes)]), np.zeros((5, 1))], axis=1)


def _marks(marked: BoxLists, rows: Ints) -> Iterator[Ints]:
    """Yield the first marked box of each row, then the second, ...; rows without more get the empty box."""
    sizes, starts = marked.sizes[rows], marked.starts[rows]
    for nth in range(int(sizes.max(initial=0))):
        yield np.where(nth < sizes, starts + nth, len(marked.boxes))


def _compare(a: Floats, b: Floats, share_of: ShareOf) -> tuple[Floats, Floats]:
    """Return the IoU and the share of columns of boxes; a box without an area intersects no other."""
    wide = np.minimum(a[2], b[2]) - np.maximum(a[0], b[0])
    high = np.minimum(a[3], b[3]) - np.maximum(a[1], b[1])
    common = np.maximum(wide, 0) * np.maximum(high, 0)
    below = a[4] if share_of == "marked" else b[4]
    # Where the denominator is 0 the numerator is, too.
    tiny = np.finfo(np.float64).tiny
    return common / np.maximum(a[4] + b[4] - common, tiny), common / np.maximum(below, tiny)


def around(kept: BoxLists, frames: Floats) -> BoxLists:
    """Cover each frame, except for the kept boxes, with boxes that do not overlap each other."""
    rows, rest = np.arange(len(frames)), frames
    for nth in range(int(kept.sizes.max(initial=0))):
        cut = kept.sizes[rows] > nth
        hole = kept.boxes[kept.starts[rows[cut]] + nth]
        pieces = _cut(rest[cut], hole)
        rows = np.concatenate([rows[~cut], np.repeat(rows[cut], 4)])
        rest = np.concatenate([rest[~cut], pieces.reshape(-1, 4)])
        rows, rest = rows[areas(rest) > 0], rest[areas(rest) > 0]
    order = np.lexsort((rest[:, 0], rest[:, 1], rows))
    return gather(rows[order], rest[order], len(frames))


def _cut(boxes: Floats, holes: Floats) -> Floats:
    """Cut a hole out of each box, leaving the parts above, below, to the left and to the right of it (n x 4 x 4)."""
    left, top, right, bottom = boxes.T
    # A hole outside the box is moved to its edge and loses its area, so that the four parts are the whole box.
    x1, y1 = np.clip(holes[:, 0], left, right), np.clip(holes[:, 1], top, bottom)
    x2, y2 = np.clip(holes[:, 2], x1, right), np.clip(holes[:, 3], y1, bottom)
    pieces = ((left, top, right, y1), (left, y2, right, bottom), (left, y1, x1, y2), (x2, y1, right, y2))
    return np.stack([np.stack(piece, axis=1) for piece in pieces], axis=1)


def on_pixels(boxes: Floats, least: float = 0, margin: float = 0) -> Floats:
    """Round boxes outwards to whole pixels, widen sides shorter than `least` about their middle, and add a margin."""
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2
    half = np.maximum(boxes[:, 2:] - boxes[:, :2], least) / 2
    corners = (np.floor(middle - half) - margin, np.ceil(middle + half) + margin)
    return np.concatenate(corners, axis=1)


def within(boxes: Floats, frames: Floats) -> Floats:
    """Cut boxes at the edges of their frames."""
    low, high = np.tile(frames[:, :2], 2), np.tile(frames[:, 2:], 2)
    return np.clip(boxes, low, high)


def from_sizes(boxes: Floats) -> Floats:
    """Convert (left, top, width, height) to corners."""
    return np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1)
