"""The probes: everything, the evidence, the rest, the same two for a placebo, and what `extra` adds.

Objects are named by their indices (`visible`), pixels by boxes to hide (`hidden`). The boxes of one probe never
overlap. Shown evidence keeps a margin of `feather` pixels, which the soft edge of the hidden rest then covers.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.grounding.placebo import draw_placebo, placebo_objects
from eyechart.audits.grounding.scene import Flags, Relevance, Scene, to_pixels, with_area
from eyechart.audits.grounding.settings import (
    EVIDENCE,
    KEEP,
    PLACEBO,
    REST,
    REST_PLACEBO,
    WITHOUT,
    GroundingSettings,
)
from eyechart.audits.grounding.study import judged_scene, probe_forms
from eyechart.data.boxes import BoxLists, around, gather, on_pixels
from eyechart.data.dataset import Dataset
from eyechart.data.pictures import CROP, describe_hiding
from eyechart.data.probes import PLAIN_CONDITION, Prober
from eyechart.data.result import Result


class Occlusion(NamedTuple):
    """What remains of each question's picture: the visible objects, or the boxes to hide and how they are hidden."""

    visible: pl.Series
    hidden: pl.DataFrame  # the columns of probes
    how: str

    def keys(self, questions: pl.DataFrame, forms: tuple[str, ...]) -> pl.DataFrame:
        """Write the columns of probes (id, ...) for models that see objects, pixels or both."""
        keys = questions.select("id")
        if "objects" in forms:
            keys = keys.with_columns(self.visible.alias("visible"))
        if "pixels" in forms:
            keys = keys.with_columns(*self.hidden.iter_columns(), pl.lit(self.how).alias("removal"))
        return keys


def probe_evidence(settings: GroundingSettings, data: Dataset, study: Result) -> Iterator[tuple[str, pl.DataFrame]]:
    """Write the probes of every condition, one after another."""
    scene, relevance = judged_scene(settings, data, study)
    questions, n = scene.questions, scene.questions.height
    forms = probe_forms(settings, scene)
    prober = Prober(data)
    yield PLAIN_CONDITION, prober.plain(questions["id"])
    evidence = to_pixels(settings, scene.frames, with_area(scene.evidence))
    kept = _keep(settings, scene, evidence, relevance.listed(relevance.relevant, n))
    yield EVIDENCE, prober.complete(kept.keys(questions, forms), EVIDENCE)
    rest = _hide(settings, scene, evidence, relevance.listed(relevance.irrelevant, n))
    yield REST, prober.complete(rest.keys(questions, forms), REST)
    if settings.placebo:
        for condition, occlusion, asked in _swap(settings, scene, relevance, forms):
            yield condition, prober.complete(occlusion.keys(questions, forms).filter(asked), condition)
    for extra in settings.extra:
        if extra == WITHOUT:
            for condition, occlusion, asked in _leave_out(settings, scene, relevance):
                yield condition, prober.complete(occlusion.keys(questions, forms).filter(asked), condition)
        else:
            yield extra, prober.complete(_grade(settings, scene, relevance, extra).keys(questions, forms), extra)


def _keep(settings: GroundingSettings, scene: Scene, boxes: BoxLists, visible: pl.Series) -> Occlusion:
    """Hide everything but the boxes."""
    feather = 0 if settings.hide == CROP else settings.feather
    wide = boxes._replace(boxes=on_pixels(boxes.boxes, margin=feather))
    rest = scene.plane.split(around(wide, scene.frames))
    return Occlusion(visible, rest, describe_hiding(settings.hide, feather))


def _hide(settings: GroundingSettings, scene: Scene, boxes: BoxLists, visible: pl.Series) -> Occlusion:
    """Hide the boxes; the surroundings of their surroundings are the boxes themselves, without overlaps."""
    own = around(around(boxes, scene.frames), scene.frames)
    how = describe_hiding("mask" if settings.hide == CROP else settings.hide, settings.feather)
    return Occlusion(visible, scene.plane.split(own), how)


def _swap(
    settings: GroundingSettings, scene: Scene, relevance: Relevance, forms: tuple[str, ...]
) -> Iterator[tuple[str, Occlusion, pl.Series]]:
    """Do with placebo boxes what is done with the evidence, for the questions that have any."""
    placebo = draw_placebo(settings, scene, relevance, forms)
    if not len(placebo.boxes):
        return
    asked = pl.Series(placebo.sizes > 0)
    shown, left = placebo_objects(settings, scene, relevance, placebo)
    boxes = to_pixels(settings, scene.frames, placebo)
    yield PLACEBO, _keep(settings, scene, boxes, shown), asked
    yield REST_PLACEBO, _hide(settings, scene, boxes, left), asked


def _boxes_of(settings: GroundingSettings, scene: Scene, relevance: Relevance, chosen: Flags) -> BoxLists:
    """List the boxes of the chosen objects of each question."""
    boxes = scene.objects.lists.boxes[relevance.box[chosen]]
    return to_pixels(settings, scene.frames, with_area(gather(relevance.rows[chosen], boxes, scene.questions.height)))


def _all_but(scene: Scene, out: pl.Series) -> pl.Series:
    every = pl.DataFrame({"n": scene.n_objects, "out": out})
    return every.select(pl.int_ranges("n").list.set_difference("out").list.sort()).to_series()


def _grade(settings: GroundingSettings, scene: Scene, relevance: Relevance, condition: str) -> Occlusion:
    """Keep or drop the given share of the objects, the most relevant first."""
    kind, _, percent = condition.partition("@")
    chosen = relevance.top(int(percent), scene.n_objects)
    boxes = _boxes_of(settings, scene, relevance, chosen)
    indices = relevance.listed(chosen, scene.questions.height)
    if kind == KEEP:
        return _keep(settings, scene, boxes, indices)
    return _hide(settings, scene, boxes, _all_but(scene, indices))


def _leave_out(
    settings: GroundingSettings, scene: Scene, relevance: Relevance
) -> Iterator[tuple[str, Occlusion, pl.Series]]:
    """Leave out each object in turn, with the questions that have such an object."""
    for index in range(int(relevance.position.max(initial=-1)) + 1):
        chosen = relevance.position == index
        asked = pl.Series(np.isin(np.arange(scene.questions.height), relevance.rows[chosen]))
        boxes = _boxes_of(settings, scene, relevance, chosen)
        out = pl.Series([[index]], dtype=pl.List(pl.Int64)).new_from_index(0, scene.questions.height)
        yield f"{WITHOUT}#{index}", _hide(settings, scene, boxes, _all_but(scene, out)), asked
