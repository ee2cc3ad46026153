"""The probes: everything, the evidence, the rest, and where asked for each object left out and graded deletion.

Objects are named by their indices (`visible`), pixels by boxes to hide (`hidden`). The boxes of one probe never
overlap. Around the evidence that is shown `feather` pixels more are left, which the fading edge of the rest then takes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.grounding.audit import GroundingAudit
from eyechart.audits.grounding.furniture import EVIDENCE, KEEP, REST, WITHOUT
from eyechart.audits.grounding.relevance import Flags, Relevance, listed, top
from eyechart.audits.grounding.scene import Scene
from eyechart.audits.grounding.study import Asked, judged_scene, what_is_asked
from eyechart.boxes import Floats, Lists, areas, around, as_column, gather, on_pixels, within
from eyechart.dataset import Dataset
from eyechart.pictures import CROP, say_hiding
from eyechart.probes import OWN, Prober
from eyechart.result import Result


class Shown(NamedTuple):
    """What of each question is seen: some objects, and the picture but for some boxes, hidden in some way."""

    visible: pl.Series
    hidden: pl.Series
    how: str


def probe_evidence(audit: GroundingAudit, data: Dataset, study: Result) -> Iterator[tuple[str, pl.DataFrame]]:
    """Write the probes of every condition, one after another."""
    scene, relevance = judged_scene(audit, data, study)
    asked = what_is_asked(audit, scene)
    prober = Prober(data)
    yield OWN, prober.plain(scene.questions["id"])
    n = scene.questions.height
    marked = _as_shown(audit, scene.frames, _areal(scene.evidence))
    kept = _keep(audit, scene, marked, listed(relevance, relevance.relevant, n))
    yield EVIDENCE, prober.complete(_keys(scene, kept, asked), EVIDENCE)
    rest = _hide(audit, scene, marked, listed(relevance, relevance.irrelevant, n))
    yield REST, prober.complete(_keys(scene, rest, asked), REST)
    for text in audit.extra:
        conditions = _leave_out(audit, scene, relevance) if text == WITHOUT else [_grade(audit, scene, relevance, text)]
        for condition, shown, who in conditions:
            yield condition, prober.complete(_keys(scene, shown, asked).filter(who), condition)


class _Asked(NamedTuple):
    condition: str
    shown: Shown
    who: pl.Series


def _keys(scene: Scene, shown: Shown, asked: Asked) -> pl.DataFrame:
    keys = scene.questions.select("id")
    if asked.objects:
        keys = keys.with_columns(shown.visible.alias("visible"))
    if asked.pixels:
        keys = keys.with_columns(shown.hidden.alias("hidden"), pl.lit(shown.how).alias("removal"))
    return keys


def _areal(lists: Lists) -> Lists:
    whole = areas(lists.boxes) > 0
    return gather(lists.rows[whole], lists.boxes[whole], len(lists.starts) - 1)


def _as_shown(audit: GroundingAudit, frames: Floats, lists: Lists) -> Lists:
    """Bring boxes onto whole pixels inside their pictures, none smaller than is wanted."""
    return lists._replace(boxes=within(on_pixels(lists.boxes, audit.min_size), frames[lists.rows]))


def _keep(audit: GroundingAudit, scene: Scene, boxes: Lists, visible: pl.Series) -> Shown:
    """Hide everything but the boxes."""
    feather = 0 if audit.hide == CROP else audit.feather
    wide = boxes._replace(boxes=on_pixels(boxes.boxes, margin=feather))
    return Shown(visible, as_column(around(wide, scene.frames)), say_hiding(audit.hide, feather))


def _hide(audit: GroundingAudit, scene: Scene, boxes: Lists, visible: pl.Series) -> Shown:
    """Hide the boxes; what is around what is around them is they themselves, without overlaps."""
    own = around(around(boxes, scene.frames), scene.frames)
    how = say_hiding("mask" if audit.hide == CROP else audit.hide, audit.feather)
    return Shown(visible, as_column(own), how)


def _boxes_of(audit: GroundingAudit, scene: Scene, relevance: Relevance, chosen: Flags) -> Lists:
    """List the boxes of the chosen objects of each question."""
    boxes = scene.objects.lists.boxes[relevance.box[chosen]]
    return _as_shown(audit, scene.frames, _areal(gather(relevance.rows[chosen], boxes, scene.questions.height)))


def _all_but(scene: Scene, out: pl.Series) -> pl.Series:
    every = pl.DataFrame({"n": scene.objects.listed[scene.of], "out": out})
    return every.select(pl.int_ranges("n").list.set_difference("out").list.sort()).to_series()


def _grade(audit: GroundingAudit, scene: Scene, relevance: Relevance, text: str) -> _Asked:
    """Keep or drop the part of the objects that is most relevant."""
    kind, _, percent = text.partition("@")
    chosen = top(relevance, int(percent), scene.objects.listed[scene.of])
    boxes = _boxes_of(audit, scene, relevance, chosen)
    indices = listed(relevance, chosen, scene.questions.height)
    if kind == KEEP:
        shown = _keep(audit, scene, boxes, indices)
    else:
        shown = _hide(audit, scene, boxes, _all_but(scene, indices))
    return _Asked(text, shown, pl.repeat(value=True, n=scene.questions.height, eager=True))


def _leave_out(audit: GroundingAudit, scene: Scene, relevance: Relevance) -> Iterator[_Asked]:
    """Leave out one object after another, where there is one."""
    for index in range(int(relevance.place.max(initial=-1)) + 1):
        chosen = relevance.place == index
        there = pl.Series(np.isin(np.arange(scene.questions.height), relevance.rows[chosen]))
        boxes = _boxes_of(audit, scene, relevance, chosen)
        out = pl.Series([[index]], dtype=pl.List(pl.Int64)).new_from_index(0, scene.questions.height)
        shown = _hide(audit, scene, boxes, _all_but(scene, out))
        yield _Asked(f"{WITHOUT}#{index}", shown, there)
