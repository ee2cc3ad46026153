"""The study: which questions can be judged, and how many objects are relevant and irrelevant to them (Table 5)."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from eyechart.audits.grounding.placebo import draw_placebo
from eyechart.audits.grounding.scene import (
    Flags,
    Relevance,
    Scene,
    count_sets,
    find_relevance,
    make_scene,
    refuse_sizes,
)
from eyechart.audits.grounding.settings import PLACEBO, QUESTION, GroundingSettings
from eyechart.audits.measures import MeasureFields, count_apart, make_measure
from eyechart.base.errors import DataError, SettingError
from eyechart.data.boxes import areas, around, gather, within
from eyechart.data.dataset import Dataset
from eyechart.data.images import picture_paths
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.result import Measure, Result, Verdict, View, measures_table
from eyechart.data.several import PLACES
from eyechart.data.tables import COUNTS, empty
from eyechart.data.web import is_address
from eyechart.statistics import mean

JUDGED, MATCHED = "judged", "matched"
COUNTED = {"objects": "objects", "relevant": "relevant objects", "irrelevant": "irrelevant objects"}


def study_evidence(settings: GroundingSettings, data: Dataset) -> Result:
    """Sort the judged questions by what they lack, and count the objects of those that are complete."""
    parts = data.divided(learns=False)
    scene = make_scene(select_questions(parts.judge), data)
    refuse_sizes(scene)
    forms = probe_forms(settings, scene)
    relevance = find_relevance(settings, scene)
    sets = count_sets(relevance, scene)
    if settings.placebo:
        has_any = draw_placebo(settings, scene, relevance, forms).sizes > 0
        sets = sets.with_columns(pl.Series(MATCHED, has_any).cast(pl.Float64))
    outcomes = find_outcomes(scene, sets, forms, data)
    rows = scene.questions.select("id", "cluster").hstack(sets).filter(outcomes == JUDGED)
    counts = count_outcomes(outcomes, count_apart(data, parts))
    if not rows.height:
        reasons = "; ".join(f"{row['reason']}: {row['n']:,}" for row in counts.to_dicts())
        raise DataError(f"questions of {data.name} with evidence to judge by", reasons, "see docs/audits/grounding.md")
    notes = _notes(settings, scene, forms, data, rows)
    measures = list(_measure(rows, scene, outcomes))
    return Result(
        audit=settings.name,
        subject=data.name,
        settings=settings.settings(),
        measures=measures_table(measures),
        rows=rows,
        tables={"counts": counts, "notes": notes, "statistics": statistics_table(rows, outcomes)},
        views=STUDY_VIEWS,
        verdict=Verdict(
            "not tested", QUESTION, "no model yet", _describe(rows, outcomes, notes), measures[0].key, settings.least
        ),
    )


def select_questions(part: Dataset) -> pl.DataFrame:
    """Select the columns that an answer is judged by (id, cluster, image, answer, evidence)."""
    columns = part.scan("image", "answer", "evidence", *({PLACES["evidence"]} & {*part.columns})).collect()
    return columns.with_columns(part.clusters().alias("cluster"))


def probe_forms(settings: GroundingSettings, scene: Scene) -> tuple[str, ...]:
    """Decide whether the probes name objects, boxes to hide (pixels) or both; reject what the objects do not allow."""
    boxed = len(scene.objects.position) > 0
    if settings.sees == "objects" and not boxed:
        advice = 'read detections or scene graphs with the data, or ask a model that sees pixels: sees="pixels"'
        raise DataError("objects with boxes in the images", "none", advice)
    objects = ("objects",) if boxed and settings.sees != "pixels" else ()
    if settings.extra and not objects:
        advice = "leave `extra` out, or bring objects with boxes"
        raise SettingError(f"objects to ask {', '.join(settings.extra)} about", "pixels alone", advice)
    return objects if settings.sees == "objects" else (*objects, "pixels")


def find_outcomes(scene: Scene, sets: pl.DataFrame, forms: tuple[str, ...], data: Dataset) -> pl.Series:
    """Find for each question the first thing that it lacks; one that lacks nothing is judged."""
    n, evidence = scene.questions.height, scene.questions["evidence"]
    areal = np.bincount(scene.evidence.rows[areas(scene.evidence.boxes) > 0], minlength=n) > 0
    lacks = {
        "no reference answer": scene.questions["answer"].is_null().to_numpy(),
        "no evidence is given": evidence.is_null().to_numpy(),
        "the evidence is an empty list": (evidence.list.len() == 0).fill_null(value=False).to_numpy(),
        "no box of the evidence has an area": ~areal,
    }
    if "objects" in forms:
        lacks["no object of the image has a box"] = scene.objects.lists.sizes[scene.of] == 0
        lacks["no object where the evidence is"] = sets["relevant"].to_numpy() == 0
        lacks["no object away from the evidence"] = sets["irrelevant"].to_numpy() == 0
    else:
        cut = within(scene.evidence.boxes, scene.frames[scene.evidence.rows])
        inside = np.bincount(scene.evidence.rows[areas(cut) > 0], minlength=n) > 0
        lacks["the evidence is outside the picture"] = ~inside
        surroundings = around(gather(scene.evidence.rows, cut, n), scene.frames)
        lacks["the evidence fills the picture"] = surroundings.sizes == 0
        lacks["the picture is not on disk"] = _lost_pictures(scene, data)
    return pl.Series("outcome", np.select(list(lacks.values()), list(lacks), JUDGED), pl.String)


def _lost_pictures(scene: Scene, data: Dataset) -> Flags:
    paths = picture_paths(data.images).drop_nulls()
    lost = [image for image, path in paths.iter_rows() if not is_address(path) and not Path(path).is_file()]
    return scene.questions["image"].is_in(lost).fill_null(value=False).to_numpy()


def count_outcomes(outcomes: pl.Series, apart: int) -> pl.DataFrame:
    """Count the questions by outcome, the judged ones first, and those of another split last."""
    counted = outcomes.value_counts(name="n").sort(pl.col("outcome") != JUDGED, "outcome")
    is_judged = pl.col("outcome") == JUDGED
    schema = empty(COUNTS).schema
    rest = pl.DataFrame([(None, "left out", "in another split", apart)], schema=schema, orient="row")
    judged_rows = counted.select(
        pl.lit(None, pl.String).alias("condition"),
        pl.when(is_judged).then(pl.lit(JUDGED)).otherwise(pl.lit("left out")).alias("status"),
        pl.when(~is_judged).then("outcome").alias("reason"),
        pl.col("n").cast(schema["n"]),
    )
    return pl.concat([judged_rows, rest]).filter(pl.col("n") > 0)


def statistics_table(rows: pl.DataFrame, outcomes: pl.Series) -> pl.DataFrame:
    """Compute Table 5: how many objects of each set a judged question has, on average and at most."""
    means = {name: mean(rows[name], rows["cluster"]) for name in COUNTED}
    lines = [
        (name, each.value, each.low, each.high, rows[name].max(), each.n, len(outcomes)) for name, each in means.items()
    ]
    numbers = {"mean": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    counts = dict.fromkeys(("most", "n", "questions"), pl.Int64)
    return pl.DataFrame(lines, schema={"set": pl.String, **numbers, **counts}, orient="row").fill_nan(None)


def _measure(rows: pl.DataFrame, scene: Scene, outcomes: pl.Series) -> Iterator[Measure]:
    usable = mean((outcomes == JUDGED).cast(pl.Float64), scene.questions["cluster"])
    described = MeasureFields(condition=PLAIN_CONDITION, score="share", better="neither")  # describes the data
    yield make_measure("usable", usable, of=None, **described)
    if MATCHED in rows.columns:
        matched = mean(rows[MATCHED], rows["cluster"])
        yield make_measure(MATCHED, matched, of=MATCHED, condition=PLACEBO, score="share", better="neither")
    counted = MeasureFields(condition=PLAIN_CONDITION, score="count", better="neither")
    for column, name in COUNTED.items():
        yield make_measure(name, mean(rows[column], rows["cluster"]), of=column, unit="number", **counted)


def _notes(
    settings: GroundingSettings, scene: Scene, forms: tuple[str, ...], data: Dataset, rows: pl.DataFrame
) -> pl.DataFrame:
    n_lost = scene.questions.filter(_lost_pictures(scene, data))["image"].n_unique()
    below = "the detection" if settings.published == "fpvg" else "the annotated object"
    notes = [
        *scene.notes,
        *_unknown_labels(scene, data),
        *([f"{n_lost:,} pictures are not on disk: a model that sees pixels cannot be shown them"] if n_lost else []),
        *_unmatched(rows),
        f"asked: {' and '.join(forms)}",
        f"relevant: IoU > {settings.iou:g}; irrelevant: covers at most {settings.overlap:g} of {below}",
    ]
    return pl.DataFrame({"note": notes}, schema={"note": pl.String})


def _unmatched(rows: pl.DataFrame) -> list[str]:
    """Count the judged questions without a placebo."""
    n = rows.filter(pl.col(MATCHED) == 0).height if MATCHED in rows.columns else 0
    return [f"{n:,} questions have no placebo: no other boxes of about the same area were found"] if n else []


def _unknown_labels(scene: Scene, data: Dataset) -> list[str]:
    """Count the parts of the evidence with a label that no object of the image has."""
    if "objects" not in data.images.table.columns:
        return []
    labels = data.images.table.select("image", pl.col("objects").list.eval(pl.element().struct.field("label")))
    evidence = scene.questions.select("image", pl.col("evidence").list.eval(pl.element().struct.field("label")))
    pairs = evidence.join(labels, on="image", validate="m:1")
    n = pairs.select(pl.col("evidence").list.set_difference("objects").list.drop_nulls().list.len().sum()).item()
    return [f"{n:,} parts of the evidence have a label that no object of their image has"] if n else []


def _describe(rows: pl.DataFrame, outcomes: pl.Series, notes: pl.DataFrame) -> str:
    text = f"{rows.height:,} of {len(outcomes):,} questions can be judged"
    if rows["objects"].sum():
        every, relevant, irrelevant = (float(rows[name].to_numpy().mean()) for name in COUNTED)
        text += f"; of {every:.1f} objects on average {relevant:.1f} are relevant and {irrelevant:.1f} irrelevant"
    return "; ".join([text, *notes["note"].to_list()[:-2]]) + "."


STUDY_VIEWS = (
    View(
        "table",
        "statistics",
        "Objects of the judged questions",
        "The paper's Table 5: only questions with both relevant and irrelevant objects can be judged.",
    ),
    View(
        "histogram",
        "rows",
        "Relevant objects of a question",
        "A few relevant objects among many make a hard test; very many suggest a detector that repeats itself.",
        {"x": "relevant"},
    ),
)


def judged_scene(settings: GroundingSettings, data: Dataset, study: Result) -> tuple[Scene, Relevance]:
    """Prepare the questions that a study found judgeable, and find their relevant objects."""
    judged = data.take(pl.col("id").is_in(study.rows["id"].implode()))
    scene = make_scene(select_questions(judged), data)
    return scene, find_relevance(settings, scene)
