"""Which objects of an image are relevant to a question, and which are irrelevant (appendix A).

relevant     IoU > 0.5 with any annotated object
irrelevant   covers at most 25 % of every annotated object:  intersection / area of the annotated object <= 0.25
release      intersection / area of the *detection* <= 0.25, with coordinates cut to whole numbers

Both thresholds are strict. The two sets never meet: IoU > 0.5 is more than half of either box, and whatever the
thresholds are set to, a relevant object is not irrelevant. An object without an area shows nothing and is in neither
set; in the release it is irrelevant.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.audits.grounding.audit import GroundingAudit
from eyechart.audits.grounding.scene import Scene
from eyechart.boxes import Floats, Ints, Lists, ShareOf, areas, overlaps

Flags = NDArray[np.bool_]


class Relevance(NamedTuple):
    """Each question (by its row) with each boxed object of its image: its place there, its best IoU, and its set."""

    rows: Ints
    place: Ints
    box: Ints  # its place among the boxes of all images
    iou: Floats
    relevant: Flags
    irrelevant: Flags


def find_relevance(audit: GroundingAudit, scene: Scene) -> Relevance:
    """Compare every object with the evidence of every question on its image."""
    release = audit.compat == "release"
    evidence, seen = (_whole(each) if release else each for each in (scene.evidence, scene.objects.lists))
    share_of: ShareOf = "seen" if release else "marked"
    found = overlaps(evidence, seen, scene.of, share_of)
    relevant = found.iou > audit.iou
    # A question without evidence has no irrelevant objects either: nothing says what they would be irrelevant to.
    told = evidence.sizes[found.rows] > 0
    shows = (areas(seen.boxes)[found.seen] > 0) | release
    irrelevant = (found.share <= audit.overlap) & ~relevant & told & shows
    return Relevance(found.rows, scene.objects.place[found.seen], found.seen, found.iou, relevant, irrelevant)


def _whole(lists: Lists) -> Lists:
    return lists._replace(boxes=np.trunc(lists.boxes))


def count_sets(relevance: Relevance, scene: Scene) -> pl.DataFrame:
    """Count the objects, relevant ones and irrelevant ones of each question."""
    n = scene.questions.height
    counts = {
        name: np.bincount(relevance.rows[flags], minlength=n)
        for name, flags in (("relevant", relevance.relevant), ("irrelevant", relevance.irrelevant))
    }
    return pl.DataFrame({"objects": scene.objects.listed[scene.of], **counts})


def listed(relevance: Relevance, chosen: Flags, n: int) -> pl.Series:
    """List the indices of the chosen objects of each question."""
    flat = pl.DataFrame({"row": relevance.rows[chosen], "visible": relevance.place[chosen]})
    packed = flat.group_by("row", maintain_order=True).agg("visible")
    rows = pl.DataFrame({"row": np.arange(n)})
    return rows.join(packed, on="row", how="left", validate="1:1", maintain_order="left")["visible"].fill_null([])


def top(relevance: Relevance, percent: int, listed_objects: Ints) -> Flags:
    """Choose the given part of the objects that is most relevant by IoU, rounded up; those of IoU 0 never."""
    wanted = np.ceil(listed_objects * percent / 100)
    order = np.lexsort((relevance.place, -relevance.iou, relevance.rows))
    rows = relevance.rows[order]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    chosen = np.zeros(len(rows), np.bool_)
    chosen[order] = rank < wanted[rows]
    return chosen & (relevance.iou > 0)
