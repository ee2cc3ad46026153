"""Draw a placebo for the evidence of each question: other boxes of the same picture, about as large.

Any answer that depends on what is shown changes now and then when boxes are hidden, so FPVG+ alone does not say that
these boxes matter. A placebo is drawn as evidence could be, but it is none:

- together its boxes cover at most 25 % of any box of the evidence;
- the area that they cover is within 25 % of the area that the evidence covers.

Models that see objects need objects to look at: the placebo is a set of irrelevant objects. For pixels alone it is the
boxes of the evidence, moved to other places. Boxes are compared as they are shown: those of objects as they are, those
of pixels on whole pixels, with both forms both ways.

Which boxes are drawn depends only on the question's id, its objects and the number of the attempt, so it is the same
in any order, batch and machine. Each object is tried first once, and the others follow by hash until the area is
reached. A question for which no attempt succeeds has no placebo.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.grounding.scene import Flags, Relevance, Scene, find_relevance, to_pixels, with_area
from eyechart.audits.grounding.settings import GroundingSettings
from eyechart.base.hashing import Hashes, combine, hash_text, uniform
from eyechart.data.boxes import BoxLists, Floats, Ints, areas, around, gather, within

COVERED = 0.25  # at most, of any box of the evidence
APART = 0.25  # at most, from the area of the evidence
ATTEMPTS = 64
_SEED = 30  # of the hashes of ids: the placebo shares no hash with any other draw


class Form(NamedTuple):
    """A way of showing boxes: as they are, or on whole pixels; with the evidence as it is shown."""

    evidence: BoxLists
    area: Floats  # of the evidence of each question
    on_pixels: bool

    @classmethod
    def of(cls, evidence: BoxLists, frames: Floats, *, on_pixels: bool) -> "Form":
        """Measure the evidence as it is shown."""
        shown = with_area(evidence)
        return cls(shown, covered_areas(shown, frames), on_pixels)

    def take(self, rows: Ints) -> "Form":
        """Take the evidence of some questions."""
        return self._replace(evidence=take(self.evidence, rows), area=self.area[rows])

    def fits(self, settings: GroundingSettings, drawn: BoxLists, frames: Floats) -> Flags:
        """Check the boxes drawn for each question against its evidence."""
        shown = to_pixels(settings, frames, drawn) if self.on_pixels else _inside(drawn, frames)
        size = covered_areas(shown, frames)
        fits = (size > 0) & (size >= (1 - APART) * self.area) & (size <= (1 + APART) * self.area)
        rows = np.flatnonzero(fits)
        fits[rows] = ~covers_any(take(self.evidence, rows), take(shown, rows))
        return fits


def draw_placebo(settings: GroundingSettings, scene: Scene, relevance: Relevance, forms: tuple[str, ...]) -> BoxLists:
    """Draw the placebo boxes of every question; a question without a placebo has none."""
    frames = scene.frames
    exact = Form.of(_inside(scene.evidence, frames), frames, on_pixels=False)
    on_pixels = Form.of(to_pixels(settings, frames, with_area(scene.evidence)), frames, on_pixels=True)
    shown = [form for form, name in ((exact, "objects"), (on_pixels, "pixels")) if name in forms]
    ids = hash_text(scene.questions["id"], _SEED)
    if "objects" in forms:
        drawer: ObjectSets | MovedBoxes = ObjectSets.of(scene, relevance, exact.area, ids)
    else:
        evidence = on_pixels.evidence
        drawer = MovedBoxes(evidence, scene.plane.homes(evidence), scene.plane.is_known, ids)
    found: list[tuple[Ints, BoxLists]] = []
    left = drawer.questions()
    for attempt in range(ATTEMPTS):
        if not len(left):
            break
        drawn = drawer.draw(left, attempt)
        fits = np.all([form.take(left).fits(settings, drawn, frames[left]) for form in shown], axis=0)
        found.append((left[fits], take(drawn, np.flatnonzero(fits))))
        left = left[~fits]
    return _unite(found, scene.questions.height)


def covers_any(evidence: BoxLists, drawn: BoxLists) -> Flags:
    """Check whether boxes cover too much of any box of the evidence."""
    free = around(take(drawn, evidence.rows), evidence.boxes)
    bare = np.bincount(free.rows, areas(free.boxes), minlength=len(evidence.boxes))
    hit = bare < (1 - COVERED) * areas(evidence.boxes)
    return np.bincount(evidence.rows[hit], minlength=len(evidence.starts) - 1) > 0


def covered_areas(lists: BoxLists, frames: Floats) -> Floats:
    """Compute the area that the boxes of each list cover together."""
    free = around(lists, frames)
    return areas(frames) - np.bincount(free.rows, areas(free.boxes), minlength=len(frames))


def take(lists: BoxLists, rows: Ints) -> BoxLists:
    """Take the lists with the given numbers, in that order."""
    sizes = lists.sizes[rows]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    indices = np.arange(starts[-1]) + np.repeat(lists.starts[rows] - starts[:-1], sizes)
    return BoxLists(starts, lists.boxes[indices])


def _inside(lists: BoxLists, frames: Floats) -> BoxLists:
    return lists._replace(boxes=within(lists.boxes, frames[lists.rows]))


def _unite(found: list[tuple[Ints, BoxLists]], n: int) -> BoxLists:
    """Put the boxes of each attempt back to their questions."""
    if not found:
        return gather(np.empty(0, np.int64), np.empty((0, 4)), n)
    rows = np.concatenate([questions[lists.rows] for questions, lists in found])
    order = np.argsort(rows, kind="stable")
    return gather(rows[order], np.concatenate([lists.boxes for _, lists in found])[order], n)


class ObjectSets(NamedTuple):
    """The irrelevant objects that a placebo may consist of, by question and then by hash."""

    rows: Ints
    boxes: Floats
    areas: Floats
    hashes: Hashes
    ranks: Ints
    least: Floats  # area at which the set of each question is complete

    @classmethod
    def of(cls, scene: Scene, relevance: Relevance, wanted: Floats, ids: Hashes) -> "ObjectSets":
        """Find the objects that are not too large for the evidence."""
        chosen = np.flatnonzero(relevance.irrelevant)
        rows, boxes = relevance.rows[chosen], scene.objects.lists.boxes[relevance.box[chosen]]
        sizes = areas(within(boxes, scene.frames[rows]))
        usable = (sizes > 0) & (sizes <= (1 + APART) * wanted[rows])
        rows, boxes, sizes, chosen = rows[usable], boxes[usable], sizes[usable], chosen[usable]
        hashes = combine(ids[rows], relevance.position[chosen].astype(np.uint64))
        order = np.lexsort((hashes, rows))
        ranks = np.arange(len(rows)) - np.searchsorted(rows, rows)  # the rows ascend
        return cls(rows, boxes[order], sizes[order], hashes[order], ranks, (1 - APART) * wanted)

    def questions(self) -> Ints:
        """List the questions that have any such object."""
        return np.unique(self.rows)

    def draw(self, questions: Ints, attempt: int) -> BoxLists:
        """Draw a set for each question: another object first in each attempt, then others until the area is reached."""
        at = np.flatnonzero(np.isin(self.rows, questions))
        rows, counts = self.rows[at], np.bincount(self.rows)
        is_first = self.ranks[at] == attempt % counts[rows]
        keys = combine(self.hashes[at], np.full(len(at), attempt, np.uint64))
        order = np.lexsort((keys, ~is_first, rows))
        drawn = order[_sums_before(rows, self.areas[at][order]) < self.least[rows]]
        return gather(np.searchsorted(questions, rows[drawn]), self.boxes[at][drawn], len(questions))


def _sums_before(rows: Ints, sizes: Floats) -> Floats:
    """Add up the areas before each object, question by question, so that no sum depends on another question."""
    table = pl.DataFrame({"row": rows, "size": sizes})
    return table.select(pl.col("size").cum_sum().shift(1, fill_value=0.0).over("row")).to_series().to_numpy()


class MovedBoxes(NamedTuple):
    """The boxes of the evidence, to be moved to other places of pictures whose sizes are known."""

    evidence: BoxLists
    homes: BoxLists  # the picture of each box
    is_known: Flags  # whether the sizes of a question's pictures are
    ids: Hashes

    def questions(self) -> Ints:
        """List the questions with evidence on pictures of known size."""
        return np.flatnonzero((self.evidence.sizes > 0) & self.is_known)

    def draw(self, questions: Ints, attempt: int) -> BoxLists:
        """Move each box to a place of its own, anywhere inside its picture."""
        lists, homes = take(self.evidence, questions), take(self.homes, questions).boxes
        owners = questions[lists.rows]
        nth = np.arange(len(owners)) - lists.starts[lists.rows]
        base = combine(self.ids[owners], nth.astype(np.uint64), np.full(len(owners), attempt, np.uint64))
        shares = np.stack([uniform(combine(base, np.full(len(base), axis, np.uint64))) for axis in (0, 1)], axis=1)
        sides = lists.boxes[:, 2:] - lists.boxes[:, :2]
        room = homes[:, 2:] - homes[:, :2] - sides
        corners = homes[:, :2] + np.minimum(np.floor(shares * (room + 1)), room)
        return lists._replace(boxes=np.concatenate([corners, corners + sides], axis=1))


def placebo_objects(
    settings: GroundingSettings, scene: Scene, relevance: Relevance, placebo: BoxLists
) -> tuple[pl.Series, pl.Series]:
    """List the objects to show with the placebo alone and without it, as if it were the evidence.

    What is relevant to the evidence stays hidden with the placebo alone, and visible without it.
    """
    sets = find_relevance(settings, scene._replace(evidence=placebo))
    n = scene.questions.height
    alone = sets.relevant & ~relevance.relevant & relevance.irrelevant
    return relevance.listed(alone, n), relevance.listed(sets.irrelevant | relevance.relevant, n)
