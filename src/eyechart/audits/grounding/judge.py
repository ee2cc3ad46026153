"""The judgement of a model: join the answers of all conditions, measure, and conclude."""

from dataclasses import asdict

import numpy as np
import polars as pl

from eyechart.audits.grounding.answers import Heard, hear
from eyechart.audits.grounding.audit import QUESTION, GroundingAudit
from eyechart.audits.grounding.cells import CONDITIONS, graded_rows, question_rows
from eyechart.audits.grounding.examples import example_table
from eyechart.audits.grounding.furniture import WITHOUT
from eyechart.audits.grounding.groups import with_groups
from eyechart.audits.grounding.importance import match_rankings
from eyechart.audits.grounding.measures import (
    LOST,
    measure_by,
    measure_graded,
    measure_lost,
    measure_odds,
    measure_places,
    measure_rankings,
    measure_whole,
)
from eyechart.audits.grounding.relevance import Relevance
from eyechart.audits.grounding.scene import Scene
from eyechart.audits.grounding.study import judged_scene
from eyechart.audits.grounding.views import judge_tables, judge_views
from eyechart.dataset import Dataset
from eyechart.predictions import Predictions
from eyechart.protocols import Engine
from eyechart.result import Measure, Result, State, Verdict, measures_table, speak
from eyechart.scoring import chosen_score
from eyechart.tables import COUNTS, empty

REFERENCES = ("answer", "answers", "choices", "relevance")
UNHEARD = "not answered usably under each of plain, evidence and rest"


def judge_model(
    audit: GroundingAudit, data: Dataset, study: Result, predictions: Predictions, engine: Engine
) -> Result:
    """Compare the answers under all conditions."""
    scene, relevance = judged_scene(audit, data, study)
    examples = _examples(data, study)
    how = chosen_score(audit.score, examples)
    heard = hear(audit, predictions, asked_under(audit, examples, scene, relevance), how, engine)
    graded = [text for text in audit.extra if text != WITHOUT]
    matched = match_rankings(heard, scene, relevance)
    rows = question_rows(heard)
    for more in (graded_rows(heard, graded).drop("cluster"), matched.rows):
        rows = rows.join(more, on="id", how="left", validate="1:1", maintain_order="left")
    rows = with_groups(rows, audit, data)
    measures = [
        *measure_whole(rows, how),
        *measure_graded(rows, graded, how),
        *measure_lost(rows, heard.lost, how),
        *measure_odds(rows, how),
        *measure_places(rows, how),
        *measure_rankings(rows, how),
    ]
    tables = {
        "counts": _counts(heard, study.rows.height - rows.height),
        "notes": pl.DataFrame({"note": [*study.tables["notes"]["note"], *matched.notes]}, schema={"note": pl.String}),
        "examples": example_table(audit, data, study, heard, rows),
        **judge_tables(rows, measures),
    }
    return Result(
        audit=audit.name,
        subject=predictions.model,
        settings=study.settings,
        measures=pl.concat([measures_table(measures), *measure_by(data, rows, audit.by, how, engine)]),
        rows=rows,
        tables=tables,
        views=judge_views(measures, tables, audit.by),
        verdict=decide(measures, audit.least, heard),
    )


def _examples(data: Dataset, study: Result) -> pl.DataFrame:
    """Take the judged examples with no more than scoring needs, so that no column can be taken for an answer's."""
    references = [name for name in REFERENCES if name in data.examples.columns]
    return data.scan(*references).collect().join(study.rows.select("id", "cluster"), on="id", validate="1:1")


def asked_under(
    audit: GroundingAudit, examples: pl.DataFrame, scene: Scene, relevance: Relevance
) -> dict[str, pl.DataFrame]:
    """Say which examples were asked under each condition."""
    asked = dict.fromkeys((*CONDITIONS, *(text for text in audit.extra if text != WITHOUT)), examples)
    if WITHOUT in audit.extra:
        ids = scene.questions["id"]
        for index in range(int(relevance.place.max(initial=-1)) + 1):
            having = ids.gather(np.unique(relevance.rows[relevance.place == index]))
            asked[f"{WITHOUT}#{index}"] = examples.filter(pl.col("id").is_in(having.implode()))
    return asked


def _counts(heard: Heard, lost: int) -> pl.DataFrame:
    row = pl.DataFrame([(None, "left out", UNHEARD, lost)], schema=empty(COUNTS).schema, orient="row")
    return pl.concat([heard.counts, row]).filter(pl.col("n") > 0)


def decide(measures: list[Measure], least: float, heard: Heard) -> Verdict:
    """Conclude from the share of grounded answers."""
    it = measures[0]
    worst = next((each for each in measures if each.name == LOST), it)
    said = f"{speak(asdict(it))} % of its answers stay with the evidence and change without it"
    state: State = "cannot tell"
    if not it.n:
        state, label, sentence = "not tested", "nothing to compare", _say_silent(heard)
    elif it.high < least:
        state, label, sentence = "no", "not grounded", f"It is not grounded in the evidence: {said}."
    elif it.low > least >= worst.low:
        label, doubt = "too many answers lost", f"but with those that were lost taken as not {speak(asdict(worst))} %"
        sentence = f"Too many answers were lost to tell: {said}, {doubt}."
    elif it.low > least:
        state, label, sentence = "yes", "grounded", f"It relies on the evidence: {said}."
    else:
        label, sentence = "too close to tell", f"Too close to {least:.0%} to tell: {said}."
    return Verdict(state, QUESTION, label, sentence, it.key, least)


def _say_silent(heard: Heard) -> str:
    silent = [name for name in CONDITIONS if not heard.tables[name].height]
    which = f"; none under {', '.join(silent)}" if silent else ""
    return f"No question was answered under all of plain, evidence and rest{which}."
