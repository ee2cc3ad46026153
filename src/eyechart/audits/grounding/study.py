"""The study: which questions can be judged, and how many objects are relevant and irrelevant to them (Table 5)."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.grounding.audit import QUESTION, GroundingAudit
from eyechart.audits.grounding.relevance import Flags, Relevance, count_sets, find_relevance
from eyechart.audits.grounding.scene import Scene, lay_out, refuse_sizes
from eyechart.audits.measuring import Said, count_apart, measured
from eyechart.boxes import areas, around, gather, within
from eyechart.dataset import Dataset
from eyechart.errors import DataError, SettingError
from eyechart.pictures import picture_paths
from eyechart.probes import OWN
from eyechart.result import Measure, Result, Verdict, View, measures_table
from eyechart.statistics import mean
from eyechart.tables import COUNTS, empty
from eyechart.web import is_address

JUDGED = "judged"
COUNTED = {"objects": "objects", "relevant": "relevant objects", "irrelevant": "irrelevant objects"}


class Asked(NamedTuple):
    """What the probes name: objects, boxes to hide, or both."""

    objects: bool
    pixels: bool


def study_evidence(audit: GroundingAudit, data: Dataset) -> Result:
    """Sort the judged questions by what they lack, and count the objects of those that lack nothing."""
    parts = data.divided(learns=False)
    scene = lay_out(select_questions(parts.judge), data)
    refuse_sizes(scene)
    asked = what_is_asked(audit, scene)
    counted = count_sets(find_relevance(audit, scene), scene)
    fates = find_fates(scene, counted, asked, data)
    rows = scene.questions.select("id", "cluster").hstack(counted).filter(fates == JUDGED)
    counts = count_fates(fates, count_apart(data, parts))
    if not rows.height:
        reasons = "; ".join(f"{row['reason']}: {row['n']:,}" for row in counts.to_dicts())
        raise DataError(f"questions of {data.name} with evidence to judge by", reasons, "see docs/audits/grounding.md")
    tables = {"counts": counts, "notes": _notes(audit, scene, asked, data), "statistics": statistics_table(rows, fates)}
    measures = list(_measure(rows, scene, fates))
    return Result(
        audit=audit.name,
        subject=data.name,
        settings=audit.settings(),
        measures=measures_table(measures),
        rows=rows,
        tables=tables,
        views=STUDY_VIEWS,
        verdict=Verdict(
            "not tested", QUESTION, "no model yet", _say(rows, fates, tables["notes"]), measures[0].key, audit.least
        ),
    )


def select_questions(part: Dataset) -> pl.DataFrame:
    """Select what tells of each question what it rests on (id, cluster, image, answer, evidence)."""
    columns = part.scan("image", "answer", "evidence").collect()
    return columns.with_columns(part.clusters().alias("cluster"))


def what_is_asked(audit: GroundingAudit, scene: Scene) -> Asked:
    """Decide what the probes name, and refuse what the objects do not allow."""
    boxed = len(scene.objects.place) > 0
    if audit.sees == "objects" and not boxed:
        advice = 'read detections or scene graphs with the data, or ask a model that sees pixels: sees="pixels"'
        raise DataError("objects with boxes in the images", "none", advice)
    asked = Asked(boxed and audit.sees != "pixels", audit.sees != "objects")
    if audit.extra and not asked.objects:
        advice = "leave `extra` out, or bring objects with boxes"
        raise SettingError(f"objects to ask {', '.join(audit.extra)} about", "pixels alone", advice)
    return asked


def find_fates(scene: Scene, counted: pl.DataFrame, asked: Asked, data: Dataset) -> pl.Series:
    """Say of each question that it is judged, or what it lacks first."""
    n, evidence = scene.questions.height, scene.questions["evidence"]
    areal = np.bincount(scene.evidence.rows[areas(scene.evidence.boxes) > 0], minlength=n) > 0
    lacks = {
        "no reference answer": scene.questions["answer"].is_null().to_numpy(),
        "no evidence is given": evidence.is_null().to_numpy(),
        "the evidence is an empty list": (evidence.list.len() == 0).fill_null(value=False).to_numpy(),
        "no box of the evidence has an area": ~areal,
    }
    if asked.objects:
        lacks["no object of the image has a box"] = scene.objects.lists.sizes[scene.of] == 0
        lacks["no object where the evidence is"] = counted["relevant"].to_numpy() == 0
        lacks["no object away from the evidence"] = counted["irrelevant"].to_numpy() == 0
    else:
        cut = within(scene.evidence.boxes, scene.frames[scene.evidence.rows])
        inside = np.bincount(scene.evidence.rows[areas(cut) > 0], minlength=n) > 0
        lacks["the evidence lies outside of the picture"] = ~inside
        left = around(gather(scene.evidence.rows, cut, n), scene.frames)
        lacks["the evidence fills the picture"] = left.sizes == 0
        lacks["the picture is not on disk"] = _lost_pictures(scene, data)
    return pl.Series("fate", np.select(list(lacks.values()), list(lacks), JUDGED), pl.String)


def _lost_pictures(scene: Scene, data: Dataset) -> Flags:
    paths = picture_paths(data.images).drop_nulls()
    lost = [image for image, path in paths.iter_rows() if not is_address(path) and not Path(path).is_file()]
    return scene.questions["image"].is_in(lost).fill_null(value=False).to_numpy()


def count_fates(fates: pl.Series, apart: int) -> pl.DataFrame:
    """Count the questions by what became of them, the judged ones first, and those of no part last."""
    counted = fates.value_counts(name="n").sort(pl.col("fate") != JUDGED, "fate")
    kept = pl.col("fate") == JUDGED
    schema = empty(COUNTS).schema
    rest = pl.DataFrame([(None, "left out", "in another split", apart)], schema=schema, orient="row")
    known = counted.select(
        pl.lit(None, pl.String).alias("condition"),
        pl.when(kept).then(pl.lit(JUDGED)).otherwise(pl.lit("left out")).alias("status"),
        pl.when(~kept).then("fate").alias("reason"),
        pl.col("n").cast(schema["n"]),
    )
    return pl.concat([known, rest]).filter(pl.col("n") > 0)


def statistics_table(rows: pl.DataFrame, fates: pl.Series) -> pl.DataFrame:
    """Lay out Table 5: how many objects of each set a judged question has, on average and at most."""
    found = {name: mean(rows[name], rows["cluster"]) for name in COUNTED}
    lines = [
        (name, each.value, each.low, each.high, rows[name].max(), each.n, len(fates)) for name, each in found.items()
    ]
    numbers = {"mean": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    counts = dict.fromkeys(("most", "n", "questions"), pl.Int64)
    return pl.DataFrame(lines, schema={"set": pl.String, **numbers, **counts}, orient="row").fill_nan(None)


def _measure(rows: pl.DataFrame, scene: Scene, fates: pl.Series) -> Iterator[Measure]:
    usable = mean((fates == JUDGED).cast(pl.Float64), scene.questions["cluster"])
    described = Said(condition=OWN, score="share", better="neither")  # data are as they are
    yield measured("usable", usable, of=None, **described)
    counted = Said(condition=OWN, score="count", better="neither")
    for column, name in COUNTED.items():
        yield measured(name, mean(rows[column], rows["cluster"]), of=column, unit="number", **counted)


def _notes(audit: GroundingAudit, scene: Scene, asked: Asked, data: Dataset) -> pl.DataFrame:
    lost = scene.questions.filter(_lost_pictures(scene, data))["image"].n_unique()
    below = "the detection" if audit.compat == "release" else "the annotated object"
    notes = [
        *scene.notes,
        *_unknown_labels(scene, data),
        *([f"{lost:,} pictures are not on disk: a model that sees pixels cannot be shown them"] if lost else []),
        f"asked: {' and '.join(name for name, said in asked._asdict().items() if said)}",
        f"relevant: IoU > {audit.iou:g}; irrelevant: covers at most {audit.overlap:g} of {below}",
    ]
    return pl.DataFrame({"note": notes}, schema={"note": pl.String})


def _unknown_labels(scene: Scene, data: Dataset) -> list[str]:
    """Count the parts of the evidence that no object of the image is called like."""
    if "objects" not in data.images.table.columns:
        return []
    labels = data.images.table.select("image", pl.col("objects").list.eval(pl.element().struct.field("label")))
    named = scene.questions.select("image", pl.col("evidence").list.eval(pl.element().struct.field("label")))
    pairs = named.join(labels, on="image", validate="m:1")
    lost = pairs.select(pl.col("evidence").list.set_difference("objects").list.drop_nulls().list.len().sum()).item()
    return [f"{lost:,} parts of the evidence name what no object of their image is called"] if lost else []


def _say(rows: pl.DataFrame, fates: pl.Series, notes: pl.DataFrame) -> str:
    said = f"{rows.height:,} of {len(fates):,} questions can be judged"
    if rows["objects"].sum():
        every, relevant, irrelevant = (float(rows[name].to_numpy().mean()) for name in COUNTED)
        said += f"; of {every:.1f} objects on average {relevant:.1f} are relevant and {irrelevant:.1f} irrelevant"
    return "; ".join([said, *notes["note"].to_list()[:-2]]) + "."


STUDY_VIEWS = (
    View(
        "table",
        "statistics",
        "Objects of the judged questions",
        "As the paper's Table 5: only questions with relevant and irrelevant objects can be judged.",
    ),
    View(
        "histogram",
        "rows",
        "Relevant objects of a question",
        "Few relevant objects among many are a hard test; very many speak of a detector that repeats itself.",
        {"x": "relevant"},
    ),
)


def judged_scene(audit: GroundingAudit, data: Dataset, study: Result) -> tuple[Scene, Relevance]:
    """Lay out the questions a study found fit, and their objects."""
    fit = data.take(pl.col("id").is_in(study.rows["id"].implode()))
    scene = lay_out(select_questions(fit), data)
    return scene, find_relevance(audit, scene)
