"""The figures of the paper, as tables and views."""

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from eyechart.audits.grounding.answers import BEST, CELLS, CLASSES, MEDIUM, WORST, AnswersByCondition
from eyechart.audits.grounding.measures import GRADED, RATIO
from eyechart.audits.grounding.probing import probe_evidence
from eyechart.audits.grounding.settings import GroundingSettings
from eyechart.audits.grounding.verdict import has_placebo
from eyechart.data.dataset import Dataset
from eyechart.data.result import Measure, Result, Unit, View
from eyechart.data.several import PLACES
from eyechart.data.tables import PROBES
from eyechart.statistics import mean, shares

EXAMPLES = 3  # questions of each cell
FLIPS = {"sufficiency_class": "kept", "comprehensiveness_class": "changed"}


def judge_tables(rows: pl.DataFrame, measures: list[Measure]) -> dict[str, pl.DataFrame]:
    """Build the tables that the views draw."""
    tables = {"cells": _cells(measures), "graded": _graded(measures)}
    if rows["sufficiency_class"].is_not_null().any():
        tables |= {"quadrants": _quadrants(rows), "flips": _flips(rows)}
    return tables


def _cells(measures: list[Measure]) -> pl.DataFrame:
    """Build the table of the four cells (Table 2, Fig. 2)."""
    chosen = [measure for measure in measures if measure.name in CELLS.values() and measure.by is None]
    fields = ("name", "value", "low", "high", "n")
    schema = {"cell": pl.String, "share": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}
    return pl.DataFrame([[getattr(each, name) for name in fields] for each in chosen], schema=schema, orient="row")


def _graded(measures: list[Measure]) -> pl.DataFrame:
    """Build the table of graded deletion, one row for each step and measure."""
    lines = [
        (*str(each.condition).split("@"), each.name, each.value, each.low, each.high, each.n)
        for each in measures
        if each.name in GRADED.values() and "@" in str(each.condition)
    ]
    schema = {"kind": pl.String, "percent": pl.String, "measure": pl.String, "value": pl.Float64, "low": pl.Float64}
    table = pl.DataFrame(lines, schema=schema | {"high": pl.Float64, "n": pl.Int64}, orient="row")
    return table.cast({"percent": pl.Int64}).sort("measure", "kind", "percent")


def _quadrants(rows: pl.DataFrame) -> pl.DataFrame:
    """Count questions by the classes of sufficiency and comprehensiveness (Fig. 3, left)."""
    classed = rows.drop_nulls(list(CLASSES)).with_columns(both=pl.struct(*CLASSES))
    return shares(classed, "both").unnest("both").sort(*CLASSES)


def _flips(rows: pl.DataFrame) -> pl.DataFrame:
    """Measure how often answers changed in each class (Fig. 4, left); under Eq. 4 alone it would be all or none."""
    lines = []
    for column, answer in FLIPS.items():
        for name in (BEST, MEDIUM, WORST):
            part = rows.filter(pl.col(column) == name)
            if part.height:
                flipped = 1 - part[answer] if answer == "kept" else part[answer]
                estimate = mean(flipped, part["cluster"])
                lines.append((CLASSES[column], name, estimate.value, estimate.low, estimate.high, estimate.n))
    schema = {"measure": pl.String, "class": pl.String, "flipped": pl.Float64, "low": pl.Float64}
    return pl.DataFrame(lines, schema=schema | {"high": pl.Float64, "n": pl.Int64}, orient="row")


def judge_views(measures: list[Measure], tables: dict[str, pl.DataFrame], by: tuple[str, ...]) -> tuple[View, ...]:
    """Return the views of the tables that have rows."""
    names = {measure.by for measure in measures if measure.name == RATIO}
    drawn = (view for view in VIEWS if view.table == "measures" or tables.get(view.table, pl.DataFrame()).height)
    return (*drawn, *_odds_views(names), *(_view_by(column) for column in by))


def _odds_views(names: set[str | None]) -> Iterator[View]:
    for column in ("grounding", "grounding_place", "keeping_place"):
        if column in names:
            yield View(
                "bars",
                "measures",
                f"Right answers per wrong answer, by {column.replace('_', ' and ')}",
                "Above 1, right answers outnumber wrong ones; a model that profits from looking has a longer bar "
                "where it is grounded.",
                _BAR,
                {"name": RATIO, "by": column},
            )


def _view_by(column: str) -> View:
    reading = "A bar is the grounded share of a group; whiskers are 95 % intervals."
    return View("bars", "measures", f"Grounded by {column}", reading, _BAR, {"name": "grounded", "by": column})


_ENDS: dict[str, Unit] = {"low": "points", "high": "points"}
_BAR = {"x": "value", "y": "group", "low": "low", "high": "high", "n": "n"}
VIEWS = (
    View(
        "bars",
        "contrast",
        "Grounded in the evidence, and in other boxes of about the same area",
        "A model that looks is grounded in the evidence alone; if both bars are alike, the evidence matters no more "
        "than any other part of the picture.",
        {"x": "share", "y": "boxes", "low": "low", "high": "high", "n": "n"},
        units={"share": "points", **_ENDS},
    ),
    View(
        "bars",
        "cells",
        "Grounded or not, right or wrong",
        "The first two bars together are the grounded share, the first and third the accuracy.",
        {"x": "share", "y": "cell", "low": "low", "high": "high", "n": "n"},
        units={"share": "points", **_ENDS},
    ),
    View(
        "bars",
        "measures",
        "Accuracy with everything, with the evidence alone, and without it",
        "A model that looks keeps its accuracy with the evidence and loses it without. "
        "With a placebo it is the reverse.",
        {"x": "value", "y": "condition", "low": "low", "high": "high", "n": "n"},
        {"name": "accuracy", "by": None},
    ),
    View(
        "gallery",
        "examples",
        "Questions of each kind",
        "The answer to the whole picture, to the evidence or a placebo alone, and to the rest; the evidence is framed.",
        {
            "group": "question",
            "title": "condition",
            "image": "image",
            "boxes": "boxes",
            "box_pictures": "box_pictures",
            "hidden": "hidden",
            "hidden_pictures": "hidden_pictures",
            "removal": "removal",
            "answer": "answer",
            "reference": "reference",
        },
    ),
    View(
        "lines",
        "graded",
        "How often the answer stays the same when some objects are kept or dropped",
        "Objects are kept or dropped by their relevance, the most relevant first.",
        {"x": "percent", "y": "value", "low": "low", "high": "high", "color": "kind", "n": "n"},
        {"measure": GRADED["same"]},
        {"value": "points", **_ENDS},
    ),
    View(
        "matrix",
        "quadrants",
        "Sufficiency and comprehensiveness together",
        "Only best with best is grounded; best sufficiency with worst comprehensiveness means that it does not look.",
        {
            "x": "sufficiency_class",
            "y": "comprehensiveness_class",
            "color": "share",
            "low": "low",
            "high": "high",
            "n": "n",
        },
        units={"share": "points", **_ENDS},
    ),
    View(
        "bars",
        "flips",
        "Answers that changed, by class",
        "Good sufficiency should mean that no answer changed, good comprehensiveness that all did.",
        {"x": "flipped", "y": "class", "low": "low", "high": "high", "n": "n", "color": "measure"},
        units={"flipped": "points", **_ENDS},
    ),
)


def example_table(
    settings: GroundingSettings, data: Dataset, study: Result, answers: AnswersByCondition, rows: pl.DataFrame
) -> pl.DataFrame:
    """List the first questions of each cell, with the content shown and the answer under each condition (Fig. 2)."""
    chosen = _choose(rows)
    small_study = replace(study, rows=study.rows.join(chosen, on="id", how="semi"))
    told = [PLACES["evidence"]] if PLACES["evidence"] in data.columns else []
    content = data.scan("image", "question", "answer", "evidence", *told).collect()
    names = {"answer": "reference", "evidence": "boxes", PLACES["evidence"]: "box_pictures"}
    questions = chosen.join(content, on="id", validate="1:1").rename(names, strict=False)
    if "box_pictures" not in questions.columns:
        questions = questions.with_columns(box_pictures=pl.lit(None, pl.List(pl.Int64)))
    small = replace(settings, extra=(), placebo=has_placebo(answers))
    probes = probe_evidence(small, data, small_study) if small_study.rows.height else ()
    parts = [_under(condition, condition_probes, questions, answers) for condition, condition_probes in probes]
    table = pl.concat(parts) if parts else pl.DataFrame()
    return table.sort("question", "id", "order").drop("order", "id") if table.height else table


def _choose(rows: pl.DataFrame) -> pl.DataFrame:
    """Choose questions by id; one whose draws disagree counts for the cell of most of them."""
    most = pl.max_horizontal(*CELLS)
    cell = pl.coalesce(pl.when(pl.col(name) == most).then(pl.lit(text)) for name, text in CELLS.items())
    by_cell = rows.select("id", cell.alias("cell")).drop_nulls().sort("cell", "id")
    return by_cell.group_by("cell", maintain_order=True).head(EXAMPLES)


def _under(condition: str, probes: pl.DataFrame, questions: pl.DataFrame, answers: AnswersByCondition) -> pl.DataFrame:
    given = answers.tables[condition].unique("id", keep="first", maintain_order=True).select("id", "given")
    joined = questions.join(given, on="id", how="left", validate="1:1").join(probes, on="id", validate="1:1")
    optional = (
        pl.col(name) if name in probes.columns else pl.lit(None, PROBES.columns[name].dtype).alias(name)
        for name in ("hidden", "hidden_pictures", "removal")
    )
    return joined.select(
        "id",
        "condition",
        "image",
        "boxes",
        "box_pictures",
        *optional,
        "reference",
        question=pl.format("{}: {}", "cell", "question"),
        answer="given",
        order=pl.lit(list(answers.tables).index(condition)),
    )
