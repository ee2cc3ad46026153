"""The judgement of a model: join the answers of all conditions, measure, and conclude."""

import numpy as np
import polars as pl

from eyechart.audits.grounding.answers import (
    CONDITIONS,
    AnswersByCondition,
    gather_answers,
    graded_rows,
    question_rows,
    with_groups,
)
from eyechart.audits.grounding.measures import (
    match_rankings,
    measure_by,
    measure_graded,
    measure_lost,
    measure_odds,
    measure_places,
    measure_rankings,
    measure_whole,
)
from eyechart.audits.grounding.placebo import draw_placebo
from eyechart.audits.grounding.scene import Relevance, Scene
from eyechart.audits.grounding.settings import WITHOUT, GroundingSettings
from eyechart.audits.grounding.study import judged_scene, probe_forms
from eyechart.audits.grounding.verdict import PLACEBOS, contrast_table, decide, measure_contrast, with_contrast
from eyechart.audits.grounding.views import example_table, judge_tables, judge_views
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import Predictions
from eyechart.data.protocols import Engine
from eyechart.data.result import Result, measures_table
from eyechart.data.tables import COUNTS, empty
from eyechart.scoring import chosen_score

REFERENCES = ("answer", "answers", "choices", "relevance")
UNANSWERED = "not answered usably under each of plain, evidence and rest"


def judge_model(
    settings: GroundingSettings, data: Dataset, study: Result, predictions: Predictions, engine: Engine
) -> Result:
    """Compare the answers under all conditions."""
    scene, relevance = judged_scene(settings, data, study)
    examples = _examples(data, study)
    how = chosen_score(settings.score, examples)
    matched = matched_ids(settings, scene, relevance)
    examples_by_condition = asked_under(settings, examples, scene, relevance)
    examples_by_condition |= _asked_placebo(predictions, examples, matched)
    answers = gather_answers(settings, predictions, examples_by_condition, how, engine)
    rankings, ranking_notes = match_rankings(answers, scene, relevance)
    rows = with_contrast(question_rows(answers), answers, matched)
    for more in (graded_rows(answers, settings.graded).drop("cluster"), rankings):
        rows = rows.join(more, on="id", how="left", validate="1:1", maintain_order="left")
    rows = with_groups(rows, settings, data)
    measures = [
        *measure_whole(rows, how),
        *measure_contrast(rows, answers, matched, how),
        *measure_graded(rows, settings.graded, how),
        *measure_lost(rows, answers.lost, how),
        *measure_odds(rows, how),
        *measure_places(rows, how),
        *measure_rankings(rows, how),
    ]
    tables = {
        "counts": _counts(answers, study.rows.height - rows.height),
        "notes": pl.DataFrame({"note": [*study.tables["notes"]["note"], *ranking_notes]}, schema={"note": pl.String}),
        "examples": example_table(settings, data, study, answers, rows),
        **judge_tables(rows, measures),
        "contrast": contrast_table(rows),
    }
    return Result(
        audit=settings.name,
        subject=predictions.model,
        settings=study.settings,
        measures=pl.concat([measures_table(measures), *measure_by(data, rows, settings.by, how, engine)]),
        rows=rows,
        tables=tables,
        views=judge_views(measures, tables, settings.by),
        verdict=decide(settings, measures, answers),
    )


def _examples(data: Dataset, study: Result) -> pl.DataFrame:
    """Take the judged examples with the columns needed for scoring only, so that none is mistaken for an answer's."""
    references = [name for name in REFERENCES if name in data.examples.columns]
    return data.scan(*references).collect().join(study.rows.select("id", "cluster"), on="id", validate="1:1")


def asked_under(
    settings: GroundingSettings, examples: pl.DataFrame, scene: Scene, relevance: Relevance
) -> dict[str, pl.DataFrame]:
    """Select the examples that were asked under each condition."""
    by_condition = dict.fromkeys((*CONDITIONS, *settings.graded), examples)
    if WITHOUT in settings.extra:
        ids = scene.questions["id"]
        for index in range(int(relevance.position.max(initial=-1)) + 1):
            having = ids.gather(np.unique(relevance.rows[relevance.position == index]))
            by_condition[f"{WITHOUT}#{index}"] = examples.filter(pl.col("id").is_in(having.implode()))
    return by_condition


def matched_ids(settings: GroundingSettings, scene: Scene, relevance: Relevance) -> pl.Series:
    """List the questions that have a placebo."""
    ids = scene.questions["id"]
    if not settings.placebo:
        return ids.clear()
    placebo = draw_placebo(settings, scene, relevance, probe_forms(settings, scene))
    return ids.filter(pl.Series(placebo.sizes > 0))


def _asked_placebo(predictions: Predictions, examples: pl.DataFrame, matched: pl.Series) -> dict[str, pl.DataFrame]:
    """Select the examples that were asked under the placebo conditions; none if the answers are without these."""
    if not all(predictions.under(name).height for name in PLACEBOS):
        return {}
    return dict.fromkeys(PLACEBOS, examples.filter(pl.col("id").is_in(matched.implode())))


def _counts(answers: AnswersByCondition, lost: int) -> pl.DataFrame:
    row = pl.DataFrame([(None, "left out", UNANSWERED, lost)], schema=empty(COUNTS).schema, orient="row")
    return pl.concat([answers.counts, row]).filter(pl.col("n") > 0)
