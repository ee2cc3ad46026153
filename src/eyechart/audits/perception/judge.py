"""The judgement of a model: what it loses without each modality, overall, by group and by example."""

from collections.abc import Iterator

import polars as pl

from eyechart.audits.perception.audit import PerceptionAudit
from eyechart.audits.perception.bias import answer_proportions
from eyechart.audits.perception.drawn import (
    Drawn,
    Given,
    Judged,
    by_example,
    errors_table,
    perceived,
    put_together,
    referenced,
    repeats_table,
    text_only_scores,
)
from eyechart.audits.perception.emap import project
from eyechart.audits.perception.examples import least_perceived, sample_scores
from eyechart.audits.perception.gallery import seen_table
from eyechart.audits.perception.groups import groups_table, measure_all, paper_table, with_groups
from eyechart.audits.perception.measures import TEXT_ONLY, Ruler, with_scores
from eyechart.audits.perception.plan import Plan, make_plan
from eyechart.audits.perception.removals import Removal
from eyechart.audits.perception.sensitivity import lost_measures
from eyechart.audits.perception.study import learned_part, removals_of
from eyechart.audits.perception.verdict import decide, ignored_table, reach
from eyechart.audits.perception.views import judge_views
from eyechart.dataset import Dataset
from eyechart.predictions import Predictions
from eyechart.probes import OWN
from eyechart.protocols import Engine
from eyechart.result import Result, measures_table
from eyechart.scoring import chosen_score


def judge_model(
    audit: PerceptionAudit, data: Dataset, study: Result, predictions: Predictions, engine: Engine
) -> Result:
    """Join the answers to the judged examples, average over draws, and measure."""
    plan, removals = make_plan(audit, study), removals_of(audit, data)
    turn = plan.reached(removals, predictions)
    examples = data.examples.join(study.rows.select("id", "cluster"), on="id", validate="1:1")
    how = chosen_score(audit.score, examples)
    judged = Judged(referenced(examples, how), how, predictions, engine)
    plain = judged.read(OWN, 0, plan.asked(turn, None, 0))
    given = Given(plain, {each: _read(judged, plan, turn, each) for each in removals})
    rows = with_groups(_rows(audit, data, study, judged, given), data, audit.by, audit.sentiment)
    ruler = Ruler(removals, how, audit.form, audit.donors, plan.stages[turn].draws)
    whole, groups = measure_all(rows, data, ruler, audit.by, engine)
    lost = list(lost_measures(study.rows.select("id", "cluster"), given, how))
    first = [each.name for each in removals if each.kind == audit.removal[0]]
    emap = project(audit, data, study, predictions, how)
    errors, ignored = errors_table(rows, given.removed), ignored_table(rows, removals, audit.margin)
    how_far = reach(audit, whole, errors, plan, turn)
    notes = [*study.tables["notes"]["note"], *emap.notes, *filter(None, [how_far.note]), *_warn(predictions, given)]
    least = least_perceived(rows, examples, given)
    tables = {
        "counts": pl.concat([plain.counts, *(each.counts for each in given.removed.values()), emap.counts]),
        "errors": errors,
        "ignored": ignored,
        "table1": paper_table([*whole, *groups], [each.name for each in removals]),
        "samples": sample_scores(rows, removals),
        "least": least,
        "seen": seen_table(audit, data, study, least, given),
        "notes": pl.DataFrame({"note": notes}),
        **({"groups": groups_table(groups)} if audit.by else {}),
        **_further(audit, data, study, rows, given),
    }
    return Result(
        audit=audit.name,
        subject=predictions.model,
        settings=study.settings,
        measures=measures_table([*whole, *groups, *lost, *emap.measures]),
        rows=rows,
        tables=tables,
        views=judge_views(tables, removals, audit.by),
        verdict=decide(audit, [*whole, *lost], ignored, how_far, first),
        wants_more=how_far.wants_more,
    )


def _read(judged: Judged, plan: Plan, turn: int, removal: Removal) -> Drawn:
    draws = range(removal.draws(plan.stages[turn].draws))
    return put_together([judged.read(removal.condition(k), k, plan.asked(turn, removal, k)) for k in draws])


def _rows(audit: PerceptionAudit, data: Dataset, study: Result, judged: Judged, given: Given) -> pl.DataFrame:
    """Put the scores of each example that was answered beside each other."""
    parts = [given.plain.scores.select("id", pl.col("score").alias("accuracy"))]
    parts += [by_example(given, removal) for removal in given.removed]
    answered = pl.concat([part.select("id") for part in parts]).unique()
    if audit.text_only is not None:
        parts.append(_text_only(data, judged, audit.text_only))
    rows = study.rows.select("id", "cluster", "majority").join(answered, on="id", how="semi").sort("id")
    for part in parts:
        rows = rows.join(part, on="id", how="left", validate="1:1", maintain_order="left")
    return with_scores(rows, list(given.removed))


def _text_only(data: Dataset, judged: Judged, column: str) -> pl.DataFrame:
    """Score the answers of a text-only model, which stand in a column of the examples."""
    answers = data.scan(column).select("id", pl.col(column).alias(TEXT_ONLY)).collect()
    both = judged.examples.join(answers, on="id", how="left", validate="1:1", maintain_order="left")
    return both.select("id", text_only_scores(judged.examples, both[TEXT_ONLY], judged.how).alias(TEXT_ONLY))


def _further(
    audit: PerceptionAudit, data: Dataset, study: Result, rows: pl.DataFrame, given: Given
) -> dict[str, pl.DataFrame]:
    """Make the tables that only some settings or data have."""
    first = perceived(next(iter(given.removed)).name)
    said = given.plain.said.select("id", "said")
    tables = {"proportions": answer_proportions(rows, said, data, learned_part(data, study), first)}
    if audit.repeats > 1 and audit.precision is None:
        tables["repeats"] = repeats_table(rows, given, audit.draws)
    return tables


def _warn(predictions: Predictions, given: Given) -> Iterator[str]:
    """Point to removals that changed no answer at all: the model may not have been told of them."""
    own = given.plain.said.select("id", pl.col("said").alias("own"))
    for removal, each in given.removed.items():
        both = each.said.join(own, on="id", validate="m:1")
        if removal.draws(2) == 1 and both.height and both["said"].eq_missing(both["own"]).all():
            said = f"every answer of {predictions.model} under {removal.name!r} is the one it gives otherwise"
            yield f"{said}: it ignores the modality, or does not heed the column `removal`"
