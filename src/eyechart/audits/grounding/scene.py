"""The judged questions with the boxes of their evidence and of the objects in their images, as arrays.

Boxes between 0 and 1 are taken for shares of the picture and scaled. Boxes that fit only when they are read as left,
top, width and height are refused.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.boxes import Floats, Ints, Lists, areas, from_sizes, gather, overlaps
from eyechart.dataset import Dataset
from eyechart.errors import DataError
from eyechart.tables import OBJECT

FAR = float(2**20)  # where a picture of unknown size ends; an edit stops at the true edge anyway
_TRIED = 500  # questions on which the form of the boxes is tried
_FEWEST = 5  # boxes that tell something


class Objects(NamedTuple):
    """The objects with a box, image by image, and the place of each among all objects of its image."""

    lists: Lists
    place: Ints
    listed: Ints  # objects of each image, with a box or not


class Scene(NamedTuple):
    """Questions sorted by id (id, cluster, image, ...), their evidence, and the objects of image `of[i]`."""

    questions: pl.DataFrame
    evidence: Lists
    objects: Objects
    of: Ints
    frames: Floats  # of each question's picture
    notes: tuple[str, ...]


class _Boxes(NamedTuple):
    lists: Lists
    note: str | None


def lay_out(questions: pl.DataFrame, data: Dataset) -> Scene:
    """Lay out the evidence and objects of questions (id, cluster, image, evidence)."""
    asked = questions.sort("id")
    names = asked.select(pl.col("image").drop_nulls().unique().sort())
    table = names.join(data.images.table, on="image", how="left", validate="1:1", maintain_order="left")
    # A question without an image looks at the empty place behind the last one.
    at = names.with_row_index("at").cast({"at": pl.Int64})
    of = asked.join(at, on="image", how="left", validate="m:1", maintain_order="left")["at"].fill_null(names.height)
    sizes = _sizes(table)
    evidence = _in_pixels(_evidence(asked), sizes[of.to_numpy()], "evidence")
    found = _objects(table)
    seen = _in_pixels(found.lists, sizes, "objects")
    objects = found._replace(lists=seen.lists)
    frames = np.column_stack([np.zeros((asked.height, 2)), np.nan_to_num(sizes[of.to_numpy()], nan=FAR)])
    scene = Scene(asked, evidence.lists, objects, of.to_numpy(), frames, ())
    told = [note for note in (evidence.note, seen.note) if note]
    return scene._replace(notes=(*told, *_notes(scene)))


def _sizes(table: pl.DataFrame) -> Floats:
    """Give width and height of each image, NaN where unknown, and a row of NaN for no image."""
    known = table.with_columns(pl.lit(None).alias(name) for name in ("width", "height") if name not in table.columns)
    sizes = known.select(pl.col("width", "height").cast(pl.Float64).fill_null(np.nan)).to_numpy()
    return np.concatenate([sizes, np.full((1, 2), np.nan)])


def _evidence(asked: pl.DataFrame) -> Lists:
    boxes = asked.select(pl.col("evidence").list.eval(pl.element().struct.field("box"))).with_row_index("row")
    flat = boxes.explode("evidence", empty_as_null=False, keep_nulls=False).drop_nulls()
    return gather(flat["row"].to_numpy().astype(np.int64), _array(flat["evidence"]), asked.height)


def _objects(table: pl.DataFrame) -> Objects:
    """List the objects that have a box; the last list, of no image, is empty."""
    known = "objects" in table.columns
    column = table["objects"] if known else pl.Series("objects", [None] * table.height, pl.List(OBJECT))
    listed = column.list.len().fill_null(0).to_numpy().astype(np.int64)
    rows = pl.DataFrame({"row": np.arange(table.height), "objects": column})
    rows = rows.with_columns(index=pl.int_ranges(pl.col("objects").list.len().fill_null(0)))
    flat = rows.explode("objects", "index", empty_as_null=False, keep_nulls=False)
    boxed = flat.with_columns(pl.col("objects").struct.field("box")).drop_nulls("box")
    lists = gather(boxed["row"].to_numpy(), _array(boxed["box"]), table.height + 1)
    return Objects(lists, boxed["index"].to_numpy(), np.append(listed, 0))


def _array(boxes: pl.Series) -> Floats:
    return np.asarray(boxes.to_numpy(), np.float64).reshape(-1, 4)


def _in_pixels(lists: Lists, sizes: Floats, name: str) -> _Boxes:
    """Scale boxes that are shares of the picture."""
    if not lists.boxes.size or lists.boxes.max() > 1:
        return _Boxes(lists, None)
    scale = np.tile(sizes[lists.rows], 2)
    if np.isnan(scale).any():
        advice = "give the images their width and height, or the boxes in pixels"
        raise DataError(f"boxes of the {name} in pixels", "shares from 0 to 1 of pictures of unknown size", advice)
    return _Boxes(
        lists._replace(boxes=lists.boxes * scale), f"the boxes of the {name} are shares of the picture: scaled"
    )


def refuse_sizes(scene: Scene) -> None:
    """Refuse boxes of which most fit an object (or its evidence) only as left, top, width and height."""
    tried = scene.evidence.boxes[: scene.evidence.starts[min(_TRIED, scene.questions.height)]]
    if len(tried) < _FEWEST or not len(scene.objects.lists.boxes):
        return
    of = scene.of[scene.evidence.rows[: len(tried)]]
    forms = {
        "": (tried, scene.objects.lists.boxes),
        "evidence": (from_sizes(tried), scene.objects.lists.boxes),
        "objects": (tried, from_sizes(scene.objects.lists.boxes)),
    }
    fits = {name: _fit(a, scene.objects.lists._replace(boxes=b), of) for name, (a, b) in forms.items()}
    best = max(fits, key=lambda name: fits[name])
    if best and fits[best] >= 0.5 and fits[""] < fits[best] / 2:
        found = f"{fits[best]:.0%} of the evidence fits an object only as left, top, width, height"
        advice = f"write right = left + width and bottom = top + height of the {best}"
        raise DataError(f"boxes of the {best} as left, top, right, bottom", found, advice)


def _fit(boxes: Floats, objects: Lists, of: Ints) -> float:
    """Give the share of boxes that have an IoU above a half with some object of their image."""
    alone = Lists(np.arange(len(boxes) + 1), boxes)
    found = overlaps(alone, objects, of)
    return len(np.unique(found.rows[found.iou > 0.5])) / len(boxes)


def _notes(scene: Scene) -> list[str]:
    counted = {
        "boxes of the evidence have no area": int((areas(scene.evidence.boxes) == 0).sum()),
        "boxes of the evidence reach beyond their picture": _beyond(scene),
        "objects have a box without an area": int((areas(scene.objects.lists.boxes) == 0).sum()),
        "parts of the evidence have no box (right must not be less than left, nor bottom than top)": _boxless(scene),
        "objects have no box": int(scene.objects.listed.sum() - len(scene.objects.place)),
    }
    return [f"{n:,} {text}" for text, n in counted.items() if n]


def _boxless(scene: Scene) -> int:
    listed = scene.questions["evidence"].list.len().fill_null(0).sum()
    return int(listed) - len(scene.evidence.boxes)


def _beyond(scene: Scene) -> int:
    frames = scene.frames[scene.evidence.rows]
    return int(((scene.evidence.boxes[:, :2] < 0) | (scene.evidence.boxes[:, 2:] > frames[:, 2:])).any(axis=1).sum())
