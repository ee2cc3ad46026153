"""Lay the pictures of a question side by side, so that boxes on several pictures are handled like those on one.

This is done where the evidence says on which pictures it is. Else boxes are on the first picture, and any others stay
as they are.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.data.boxes import BoxLists, Floats, Ints, areas, as_column, gather, within
from eyechart.data.images import Images
from eyechart.data.several import PLACES

FAR = float(2**20)  # where a picture of unknown size ends; an edit stops at the true edge anyway
_GAP = 4096.0  # pixels between pictures: more than boxes are ever widened by


class Plane(NamedTuple):
    """The pictures of each question, from left to right, and which questions have several."""

    pictures: BoxLists
    sizes: Floats  # of each picture, NaN where unknown
    is_several: NDArray[np.bool_]

    @property
    def frames(self) -> Floats:
        """Return the smallest box around all pictures of each question."""
        if not self.is_several.any():
            return self.pictures.boxes
        starts = self.pictures.starts[:-1]
        return np.concatenate([np.zeros((len(starts), 2)), np.maximum.reduceat(self.pictures.boxes[:, 2:], starts)], 1)

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Return for which questions the sizes of all pictures are known."""
        unknown = np.isnan(self.sizes).any(axis=1)
        return np.asarray(np.bincount(self.pictures.rows[unknown], minlength=len(self.is_several)) == 0)

    def find(self, rows: Ints, places: Ints) -> Ints:
        """Return the picture at each question's position, -1 where it has none."""
        exists = places < self.pictures.sizes[rows]
        return np.where(exists, self.pictures.starts[rows] + np.where(exists, places, 0), -1)

    def homes(self, lists: BoxLists) -> BoxLists:
        """Return the picture that each box of the lists is on."""
        rows = lists.rows
        home = self.pictures.starts[rows]
        for nth in range(1, int(self.pictures.sizes.max(initial=0))):
            further = self.pictures.starts[rows] + nth
            is_there = nth < self.pictures.sizes[rows]
            left = self.pictures.boxes[np.where(is_there, further, 0), 0]
            home = np.where(is_there & (left <= lists.boxes[:, 0]), further, home)
        return lists._replace(boxes=self.pictures.boxes[home])

    def place(self, boxes: Floats, pictures: Ints) -> Floats:
        """Move boxes, given in pixels of their pictures, to where the pictures are; cut where there are several."""
        homes = self.pictures.boxes[pictures]
        moved = boxes + np.tile(homes[:, :2], 2)
        is_several = self.is_several[self.pictures.rows[pictures]]
        return np.where(is_several[:, None], np.clip(moved, np.tile(homes[:, :2], 2), np.tile(homes[:, 2:], 2)), moved)

    def split(self, lists: BoxLists) -> pl.DataFrame:
        """Write boxes to hide as columns of probes: those of several pictures with the position of each one's."""
        if not self.is_several.any():
            return pl.DataFrame({"hidden": as_column(lists)})
        alone = ~self.is_several[lists.rows]
        pairs = [(lists.rows[alone], lists.boxes[alone], np.zeros(int(alone.sum()), np.int64))]
        for nth in range(int(self.pictures.sizes[self.is_several].max())):
            is_there = ~alone & (nth < self.pictures.sizes[lists.rows])
            rows = lists.rows[is_there]
            homes = self.pictures.boxes[self.pictures.starts[rows] + nth]
            cut = within(lists.boxes[is_there], homes)
            shown = areas(cut) > 0
            own = cut[shown] - np.tile(homes[shown, :2], 2)
            pairs.append((rows[shown], own, np.full(len(own), nth)))
        rows, boxes, places = (np.concatenate(part) for part in zip(*pairs, strict=True))
        order = np.argsort(rows, kind="stable")
        hidden = gather(rows[order], boxes[order], len(self.is_several))
        listed = (
            pl.DataFrame({"row": rows[order], "place": places[order]}).group_by("row", maintain_order=True).agg("place")
        )
        every = pl.DataFrame({"row": np.arange(len(self.is_several)), "several": self.is_several})
        known = every.join(listed, on="row", how="left", validate="1:1", maintain_order="left")
        named = pl.when("several").then(pl.col("place").fill_null(pl.lit([], pl.List(pl.Int64))))
        return known.select(as_column(hidden).alias("hidden"), named.alias(PLACES["hidden"]))


def lay_out(questions: pl.DataFrame, images: Images, sizes: Floats) -> Plane:
    """Lay out the pictures of questions, given the size of the first one of each."""
    n = questions.height
    alone = Plane(BoxLists(np.arange(n + 1), _frames(sizes)), sizes, np.zeros(n, np.bool_))
    if PLACES["evidence"] not in questions.columns or not images.has_several:
        return alone
    lists = questions.select(
        pl.int_range(pl.len()).alias("row"),
        images.list_pictures(questions["image"]).alias("image"),
        is_told=pl.col(PLACES["evidence"]).is_not_null(),
    )
    several = lists.select((pl.col("is_told") & (pl.col("image").list.len() > 1)).fill_null(value=False)).to_series()
    if not several.any():
        return alone
    each = lists.filter(several).explode("image").select("row", "image")
    known = [name for name in ("width", "height") if name in images.table.columns]
    sides = each.join(images.table.select("image", *known), on="image", how="left", maintain_order="left")
    sides = sides.with_columns(pl.lit(None).alias(name) for name in ("width", "height") if name not in known)
    own = sides.select(pl.col("width", "height").cast(pl.Float64).fill_null(np.nan)).to_numpy()
    return _insert(alone, each["row"].to_numpy(), own, several.to_numpy())


def _insert(alone: Plane, rows: Ints, sizes: Floats, is_several: NDArray[np.bool_]) -> Plane:
    """Replace the only picture of some questions by several, given by their rows and sizes."""
    frames = _frames(sizes)
    steps = frames[:, 2] + _GAP
    before = np.cumsum(steps) - steps
    left = before - before[np.searchsorted(rows, rows)]
    frames[:, [0, 2]] += left[:, None]
    kept = np.flatnonzero(~is_several)
    all_rows = np.concatenate([kept, rows])
    order = np.argsort(all_rows, kind="stable")
    boxes = np.concatenate([alone.pictures.boxes[kept], frames])[order]
    both = np.concatenate([alone.sizes[kept], sizes])[order]
    return Plane(gather(all_rows[order], boxes, len(is_several)), both, is_several)


def _frames(sizes: Floats) -> Floats:
    return np.column_stack([np.zeros((len(sizes), 2)), np.nan_to_num(sizes, nan=FAR)])
