"""Prepare the judged questions with the boxes of their evidence and objects, and find the relevant objects.

Boxes between 0 and 1 are taken as shares of the picture and scaled. Boxes that fit only when read as left, top, width
and height are rejected. The relevance of objects to a question follows appendix A:

relevant     IoU > 0.5 with any annotated object
irrelevant   covers at most 25 % of every annotated object:  intersection / area of the annotated object <= 0.25
fpvg         (their code) intersection / area of the *detection* <= 0.25, with coordinates cut to whole numbers

Both thresholds are strict. The two sets never overlap: IoU > 0.5 is more than half of either box, and whatever the
thresholds, a relevant object is not irrelevant. An object without an area shows nothing and is in neither set; in the
authors' code it is irrelevant.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.audits.grounding.plane import Plane, lay_out
from eyechart.audits.grounding.settings import GroundingSettings
from eyechart.base.errors import DataError
from eyechart.data.boxes import (
    BoxLists,
    Floats,
    Ints,
    ShareOf,
    areas,
    from_sizes,
    gather,
    on_pixels,
    overlaps,
    within,
)
from eyechart.data.dataset import Dataset
from eyechart.data.several import PLACES
from eyechart.data.tables import OBJECT

Flags = NDArray[np.bool_]
_SAMPLE = 500  # questions on which the form of the boxes is tested
_FEWEST = 5  # boxes needed to recognise their form


class BoxedObjects(NamedTuple):
    """The objects with a box, image by image, and each one's position among all objects of its image."""

    lists: BoxLists
    position: Ints
    listed: Ints  # objects of each image, with a box or not

    @classmethod
    def from_images(cls, table: pl.DataFrame) -> "BoxedObjects":
        """Take the objects that have a box; the last list, of no image, is empty."""
        known = "objects" in table.columns
        column = table["objects"] if known else pl.Series("objects", [None] * table.height, pl.List(OBJECT))
        listed = column.list.len().fill_null(0).to_numpy().astype(np.int64)
        rows = pl.DataFrame({"row": np.arange(table.height), "objects": column})
        rows = rows.with_columns(index=pl.int_ranges(pl.col("objects").list.len().fill_null(0)))
        flat = rows.explode("objects", "index", empty_as_null=False, keep_nulls=False)
        boxed = flat.with_columns(pl.col("objects").struct.field("box")).drop_nulls("box")
        lists = gather(boxed["row"].to_numpy(), _array(boxed["box"]), table.height + 1)
        return cls(lists, boxed["index"].to_numpy(), np.append(listed, 0))


class Scene(NamedTuple):
    """Questions sorted by id (id, cluster, image, ...), their evidence, and the objects of image `of[i]`."""

    questions: pl.DataFrame
    evidence: BoxLists
    objects: BoxedObjects
    of: Ints
    plane: Plane  # the pictures of each question
    strays: int  # boxes of the evidence on pictures that there are not
    notes: tuple[str, ...]

    @property
    def frames(self) -> Floats:
        """Return the box around the picture of each question, or around all that its evidence may be on."""
        return self.plane.frames

    @property
    def n_objects(self) -> Ints:
        """Count the objects in the image of each question, with a box or not."""
        return self.objects.listed[self.of]

    def flaws(self) -> list[str]:
        """Describe what is wrong with the boxes, with counts."""
        evidence = self.questions["evidence"].list.len().fill_null(0).sum()
        counts = {
            "boxes of the evidence have no area": int((areas(self.evidence.boxes) == 0).sum()),
            "boxes of the evidence reach beyond their picture": self._beyond(),
            "objects have a box without an area": int((areas(self.objects.lists.boxes) == 0).sum()),
            "parts of the evidence have no box (right must not be less than left, nor bottom than top)": int(evidence)
            - len(self.evidence.boxes)
            - self.strays,
            "boxes of the evidence are on pictures that their question does not have": self.strays,
            "objects have no box": int(self.objects.listed.sum() - len(self.objects.position)),
        }
        return [f"{n:,} {text}" for text, n in counts.items() if n]

    def _beyond(self) -> int:
        boxes, frames = self.evidence.boxes, self.frames[self.evidence.rows]
        return int(((boxes[:, :2] < 0) | (boxes[:, 2:] > frames[:, 2:])).any(axis=1).sum())


def make_scene(questions: pl.DataFrame, data: Dataset) -> Scene:
    """Prepare the boxes of the evidence and objects of questions (id, cluster, image, evidence)."""
    ordered = questions.sort("id")
    names = ordered.select(pl.col("image").drop_nulls().unique().sort())
    table = names.join(data.images.table, on="image", how="left", validate="1:1", maintain_order="left")
    # A question without an image has the empty list behind the last image.
    numbers = names.with_row_index("number").cast({"number": pl.Int64})
    numbered = ordered.join(numbers, on="image", how="left", validate="m:1", maintain_order="left")
    of = numbered["number"].fill_null(names.height).to_numpy()
    sizes = _sizes(table)
    plane = lay_out(ordered, data.images, sizes[of])
    evidence, evidence_note, strays = _place_evidence(ordered, plane)
    objects = BoxedObjects.from_images(table)
    boxes, objects_note = _in_pixels(objects.lists, sizes[objects.lists.rows], "objects")
    scene = Scene(ordered, evidence, objects._replace(lists=boxes), of, plane, strays, ())
    return scene._replace(notes=(*evidence_note, *objects_note, *scene.flaws()))


def _sizes(table: pl.DataFrame) -> Floats:
    """Return width and height of each image, NaN where unknown, and a row of NaN for no image."""
    known = table.with_columns(pl.lit(None).alias(name) for name in ("width", "height") if name not in table.columns)
    sizes = known.select(pl.col("width", "height").cast(pl.Float64).fill_null(np.nan)).to_numpy()
    return np.concatenate([sizes, np.full((1, 2), np.nan)])


def _place_evidence(questions: pl.DataFrame, plane: Plane) -> tuple[BoxLists, list[str], int]:
    """Place the boxes of the evidence on their pictures; count those whose picture there is not."""
    first = pl.int_ranges(pl.col("evidence").list.len()).list.eval(pl.element() * 0)
    told = [pl.col(PLACES["evidence"])] if PLACES["evidence"] in questions.columns else []
    boxes = questions.select(
        pl.int_range(pl.len()).alias("row"),
        pl.col("evidence").list.eval(pl.element().struct.field("box")),
        place=pl.coalesce(*told, first),
    )
    flat = boxes.explode("evidence", "place", empty_as_null=False, keep_nulls=False).drop_nulls("evidence")
    rows = flat["row"].to_numpy().astype(np.int64)
    pictures = plane.find(rows, flat["place"].fill_null(0).to_numpy())
    exists = pictures >= 0
    pictures, lists = pictures[exists], gather(rows[exists], _array(flat["evidence"])[exists], questions.height)
    scaled, note = _in_pixels(lists, plane.sizes[pictures], "evidence")
    return scaled._replace(boxes=plane.place(scaled.boxes, pictures)), note, int((~exists).sum())


def _array(boxes: pl.Series) -> Floats:
    return np.asarray(boxes.to_numpy(), np.float64).reshape(-1, 4)


def _in_pixels(lists: BoxLists, sizes: Floats, name: str) -> tuple[BoxLists, list[str]]:
    """Scale boxes that are shares of their pictures, whose sizes are given, with a note if they are."""
    if not lists.boxes.size or lists.boxes.max() > 1:
        return lists, []
    scale = np.tile(sizes, 2)
    if np.isnan(scale).any():
        advice = "give the images their width and height, or the boxes in pixels"
        raise DataError(f"boxes of the {name} in pixels", "shares from 0 to 1 of pictures of unknown size", advice)
    note = f"the boxes of the {name} are shares of the picture: scaled to pixels"
    return lists._replace(boxes=lists.boxes * scale), [note]


def refuse_sizes(scene: Scene) -> None:
    """Reject boxes if most of them fit an object (or its evidence) only as left, top, width and height."""
    tried = scene.evidence.boxes[: scene.evidence.starts[min(_SAMPLE, scene.questions.height)]]
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


def _fit(boxes: Floats, objects: BoxLists, of: Ints) -> float:
    """Compute the share of boxes that have an IoU above one half with some object of their image."""
    alone = BoxLists(np.arange(len(boxes) + 1), boxes)
    found = overlaps(alone, objects, of)
    return len(np.unique(found.rows[found.iou > 0.5])) / len(boxes)


class Relevance(NamedTuple):
    """Each question (by its row) with each boxed object of its image: its position there, its best IoU, and its set."""

    rows: Ints
    position: Ints
    box: Ints  # its position among the boxes of all images
    iou: Floats
    relevant: Flags
    irrelevant: Flags

    def listed(self, chosen: Flags, n: int) -> pl.Series:
        """List the positions of the chosen objects of each of `n` questions."""
        flat = pl.DataFrame({"row": self.rows[chosen], "visible": self.position[chosen]})
        packed = flat.group_by("row", maintain_order=True).agg("visible")
        rows = pl.DataFrame({"row": np.arange(n)})
        joined = rows.join(packed, on="row", how="left", validate="1:1", maintain_order="left")
        return joined["visible"].fill_null([])

    def top(self, percent: int, n_objects: Ints) -> Flags:
        """Choose the given percentage of the objects by IoU, rounded up; never objects with IoU 0."""
        wanted = np.ceil(n_objects * percent / 100)
        order = np.lexsort((self.position, -self.iou, self.rows))
        rows = self.rows[order]
        rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
        chosen = np.zeros(len(rows), np.bool_)
        chosen[order] = rank < wanted[rows]
        return chosen & (self.iou > 0)


def find_relevance(settings: GroundingSettings, scene: Scene) -> Relevance:
    """Compare every object with the evidence of every question on its image."""
    published = settings.published == "fpvg"
    evidence, seen = (_whole(each) if published else each for each in (scene.evidence, scene.objects.lists))
    share_of: ShareOf = "seen" if published else "marked"
    found = overlaps(evidence, seen, scene.of, share_of)
    relevant = found.iou > settings.iou
    # A question without evidence has no irrelevant objects either: there is nothing they could be irrelevant to.
    has_evidence = evidence.sizes[found.rows] > 0
    visible = (areas(seen.boxes)[found.seen] > 0) | published
    irrelevant = (found.share <= settings.overlap) & ~relevant & has_evidence & visible
    return Relevance(found.rows, scene.objects.position[found.seen], found.seen, found.iou, relevant, irrelevant)


def with_area(lists: BoxLists) -> BoxLists:
    """Drop the boxes without an area."""
    flags = areas(lists.boxes) > 0
    return gather(lists.rows[flags], lists.boxes[flags], len(lists.starts) - 1)


def to_pixels(settings: GroundingSettings, frames: Floats, lists: BoxLists) -> BoxLists:
    """Move boxes onto whole pixels inside their pictures, none smaller than `min_size`."""
    return lists._replace(boxes=within(on_pixels(lists.boxes, settings.min_size), frames[lists.rows]))


def _whole(lists: BoxLists) -> BoxLists:
    return lists._replace(boxes=np.trunc(lists.boxes))


def count_sets(relevance: Relevance, scene: Scene) -> pl.DataFrame:
    """Count the objects, relevant ones and irrelevant ones of each question."""
    n = scene.questions.height
    counts = {
        name: np.bincount(relevance.rows[flags], minlength=n)
        for name, flags in (("relevant", relevance.relevant), ("irrelevant", relevance.irrelevant))
    }
    return pl.DataFrame({"objects": scene.n_objects, **counts})
