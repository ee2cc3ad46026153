"""The judgement of a model: join its answers to the judged examples, measure, list the worst groups, and conclude."""

import polars as pl

from eyechart.audits.batches import means_by_key
from eyechart.audits.measures import count_unscored, measure_groups, score_rows
from eyechart.audits.splits.measures import (
    ANSWER,
    GROUP,
    TYPE,
    Measured,
    Scored,
    measure_judged,
    measure_validation,
    weights_table,
)
from eyechart.audits.splits.published import SCORE, release_table, within_vocabulary
from eyechart.audits.splits.settings import HEAD, JUDGED, TAIL, VAL, VALIDATION, SplitsSettings
from eyechart.audits.splits.study import answered
from eyechart.audits.splits.tables import sets_table, sides_table
from eyechart.audits.splits.verdict import Reach, decide
from eyechart.audits.splits.views import judge_views
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import Predictions
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.protocols import Engine
from eyechart.data.result import Result, measures_table
from eyechart.scoring import chosen_score

WORST = 200  # groups that are listed as the worst
FEWEST = 5  # examples in the tail of such a group


def judge_model(
    settings: SplitsSettings, data: Dataset, study: Result, predictions: Predictions, engine: Engine
) -> Result:
    """Score the answers and measure them on every set."""
    examples = data.examples.join(study.rows.select("id", "cluster"), on="id", validate="1:1")
    how = chosen_score(settings.score, examples)
    if settings.published == "vqa-vs":
        examples, how = within_vocabulary(examples, answered(data.divided(learns=False).learn).examples), SCORE
    answers = predictions.beside(examples, PLAIN_CONDITION)
    scored = score_rows(answers, how, engine=engine)
    concepts = tuple(study.tables["concepts"]["concept"])
    rows = scored.join(_strata(examples, study), on="id", validate="1:1")
    rows = rows.join(study.rows.drop("cluster"), on="id", validate="1:1").sort("id")
    reach = Reach.of(study)
    judged, validated = _measure(Scored(rows, concepts, how, reach.tested))
    groups = [
        measure_groups(data, judged.rows, judged.measures[0], column, engine)
        for column in settings.by
        if judged.rows.height
    ]
    sets = sets_table(judged.measures, study.tables["concepts"])
    tables = {"counts": count_unscored(answers, scored), "sets": sets, "sides": sides_table(judged.measures, concepts)}
    tables["weights"] = pl.concat([judged.weights, validated.weights], how="diagonal")
    if "labels" in study.tables:
        tables["worst"] = worst_table(judged.rows, study.tables["labels"], list(concepts), engine)
    if settings.published == "vqa-vs":
        tables["release"] = release_table(judged.measures)
    return Result(
        audit=settings.name,
        subject=predictions.model,
        settings=study.settings,
        measures=pl.concat([measures_table([*judged.measures, *validated.measures]), *groups]),
        rows=pl.concat([judged.rows, validated.rows], how="diagonal").select(pl.exclude(TYPE, ANSWER, f"^{GROUP}.*$")),
        tables=tables,
        views=judge_views(tables, settings.by),
        verdict=decide(judged.measures, settings.margin, reach),
    )


def _strata(examples: pl.DataFrame, study: Result) -> pl.DataFrame:
    """List the type, answer and groups of each example, within which head and tail are compared."""
    typed = "question_type" in examples.columns
    kind = pl.col("question_type").fill_null("") if typed else pl.lit("")
    strata = examples.select("id", kind.alias(TYPE), pl.col("answer").fill_null("").alias(ANSWER))
    if "labels" not in study.tables:
        return strata
    labels = study.tables["labels"]
    if not typed and "QT" in labels.columns:
        strata = strata.drop(TYPE).join(labels.select(id="example", **{TYPE: "QT"}), on="id", validate="1:1")
    return strata.join(labels.select(pl.col("example").alias("id"), pl.exclude("example").name.prefix(GROUP)), on="id")


def _measure(scored: Scored) -> tuple[Measured, Measured]:
    """Measure the judged rows, and separately those of val if they were asked."""
    rows = scored.rows
    if "part" not in rows.columns:
        return measure_judged(scored), Measured([], rows.clear(), weights_table(rows.clear(), {}))
    names = {VAL + name: name for name in scored.concepts}
    judged = rows.filter(pl.col("part") == JUDGED).drop(*names)
    val = rows.filter(pl.col("part") == VALIDATION).drop(*scored.concepts).rename(names)
    return measure_judged(scored._replace(rows=judged)), measure_validation(scored._replace(rows=val))


def worst_table(rows: pl.DataFrame, labels: pl.DataFrame, concepts: list[str], engine: Engine) -> pl.DataFrame:
    """List the groups by how far the high end of their tail accuracy is below the low end of the head's."""
    groups = pl.concat([_compare_sides(rows, labels, concept, engine) for concept in concepts])
    return groups.sort("surely", "concept", "group", descending=[True, False, False]).head(WORST)


def _compare_sides(rows: pl.DataFrame, labels: pl.DataFrame, concept: str, engine: Engine) -> pl.DataFrame:
    groups = labels.select(pl.col("example").alias("id"), pl.col(concept).alias("of"))
    sided = rows.select("id", "cluster", "accuracy", pl.col(concept).alias("side")).drop_nulls("side")
    means = means_by_key(sided.join(groups, on="id", validate="1:1"), "accuracy", ["of", "side"], engine)
    head, tail = (means.filter(pl.col("side") == side) for side in (HEAD, TAIL))
    both = head.join(tail.filter(pl.col("n") >= FEWEST), on="of", suffix="_tail", validate="1:1")
    return both.select(
        pl.lit(concept).alias("concept"),
        pl.col("of").alias("group"),
        pl.col("n").alias("n_head"),
        pl.col("value").alias("head"),
        "low",
        pl.col("n_tail"),
        pl.col("value_tail").alias("tail"),
        pl.col("high_tail"),
        (pl.col("value") - pl.col("value_tail")).alias("drop"),
        (pl.col("low") - pl.col("high_tail")).alias("surely"),
    )
