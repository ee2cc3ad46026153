"""The judgement of a model: accuracy by options and by what is visible (Tables 3 to 5), and steadiness under shifts.

A model is steady if it picks the same option in every position, and right under every shift if that option is right.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

import polars as pl

from eyechart.audits.decoys.diagnosis import measure_chance
from eyechart.audits.decoys.options import CHANCE
from eyechart.audits.decoys.probing import WHOLE, Condition, commonest_share, conditions
from eyechart.audits.decoys.settings import ALONE, DONOR, ORIG, REPAIRED, DecoysSettings
from eyechart.audits.decoys.verdict import (
    OVER,
    ConditionAnswers,
    DonorCondition,
    count_without_donor,
    decide,
    named_table,
    score_condition,
)
from eyechart.audits.decoys.views import judge_views
from eyechart.audits.measures import make_measure, measure_groups
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import Predictions
from eyechart.data.protocols import Engine
from eyechart.data.result import Better, Measure, Result, measures_table
from eyechart.data.tables import COUNTS, empty
from eyechart.scoring import score
from eyechart.statistics import adjust, mean, paired_difference

VISIBLE = {ALONE: "A", "question": "I+A", "image": "Q+A", WHOLE: "I+Q+A"}
ADDS = {"image": "image adds", "question": "question adds"}
FALL = "falls on repaired options"
CONSISTENT, ALWAYS_RIGHT = "consistent", "right under every shift"
ROTATED = "rotate"
_ORDER = {name: i for i, name in enumerate((*VISIBLE.values(), "Random"))}


def judge_model(
    settings: DecoysSettings, data: Dataset, study: Result, predictions: Predictions, engine: Engine
) -> Result:
    """Score the answers under every condition and compare them."""
    how = "choice" if settings.score == "auto" else settings.score
    asked = list(conditions(settings, data, study))
    donor = _find_donors(asked)
    answers = [
        score_condition(condition, _offered(data, study, choices.drop(DONOR, strict=False)), predictions, how)
        for condition, choices in asked
        # Files, and runs of older versions, may lack the answers to what donors show.
        if choices.height and not (condition.shown == DONOR and predictions.under(condition.name).is_empty())
    ]
    rows = _side_by_side(answers)
    measures = _with_q(
        [*_accuracies(answers, how), *_adds(answers, how), *_fall(answers, how), *_measure_shifts(rows, how)]
    )
    accuracies = [one for one in measures if one.name == "accuracy"]
    groups = [_grouped(data, rows, one, column, engine) for column in settings.by for one in accuracies]
    tables = {
        "counts": pl.concat([empty(COUNTS), *(one.counts for one in answers), *_count_left_out(donor)]),
        "named": named_table(answers),
        "visible": _visible(measures, answers),
    }
    return Result(
        audit=settings.name,
        subject=predictions.model,
        settings=study.settings,
        measures=pl.concat([measures_table(measures), *groups]),
        rows=rows,
        tables=tables,
        views=judge_views(tables, settings.by),
        verdict=decide(measures, answers, donor, settings.margin),
    )


def _offered(data: Dataset, study: Result, choices: pl.DataFrame) -> pl.DataFrame:
    """Replace the options of the data by those of a condition."""
    judged = data.examples.drop("choices", strict=False).join(
        study.rows.select("id", "cluster"), on="id", validate="1:1"
    )
    return judged.join(choices, on="id", validate="1:1")


def _find_donors(asked: list[tuple[Condition, pl.DataFrame]]) -> DonorCondition | None:
    """Count the examples with options and those of them that have a donor."""
    choices = dict(asked)
    for condition, table in asked:
        if condition.shown == DONOR:
            whole = choices[Condition(condition.options)]
            return DonorCondition(condition, whole.height, table.height, commonest_share(whole["choices"]))
    return None


def _count_left_out(donor: DonorCondition | None) -> list[pl.DataFrame]:
    """Count the examples that were not asked for want of a donor."""
    return [] if donor is None else [count_without_donor(donor.condition, donor.without_donor)]


def _side_by_side(answers: list[ConditionAnswers]) -> pl.DataFrame:
    """Build a row for each example, with its accuracy under each condition, chance, and steadiness."""
    no_ids = pl.DataFrame(schema={"id": pl.String, "cluster": pl.String})
    ids = pl.concat([no_ids, *(one.rows.select("id", "cluster") for one in answers)]).unique().sort("id")
    columns = [one.rows.select("id", pl.col("accuracy").alias(one.condition.name)) for one in answers]
    columns += [
        one.rows.select("id", pl.col(CHANCE).alias(f"{one.condition.options} {CHANCE}"))
        for one in answers
        if one.condition.is_whole
    ]
    columns.append(_steady(answers))
    return reduce(lambda left, right: left.join(right, on="id", how="left", validate="1:1"), columns, ids)


def _steady(answers: list[ConditionAnswers]) -> pl.DataFrame:
    """Compare the first set as it is with its shifts."""
    first = answers[0].condition.options if answers else ""
    shifted = [
        one for one in answers if one.condition.options == first and (one.condition.is_whole or one.condition.shift)
    ]
    return steadiness({one.condition.name: picked_options(one.answered.table) for one in shifted})


def picked_options(answered: pl.DataFrame) -> pl.DataFrame:
    """Find the option that the first answer to each example names, by text or letter (id, picked, right)."""
    first = answered.unique("id", keep="first", maintain_order=True)
    most = int(first["choices"].list.len().max() or 0)  # type: ignore[arg-type]  # a whole number
    options = [first["choices"].list.get(i, null_on_oob=True) for i in range(most)]
    picked = pl.Series("picked", [None] * first.height, dtype=pl.String)
    for option in options:
        meant = score(first.with_columns(option.alias("answer")), "choice") == 1
        picked = option.zip_with(meant.fill_null(value=False), picked)
    return first.select("id", picked.alias("picked"), (picked == first["answer"]).fill_null(value=False).alias("right"))


def steadiness(picks: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Compare the picks of each example that was shifted at least once, including the unshifted one."""
    nothing = pl.DataFrame(schema={"id": pl.String, "picked": pl.String, "right": pl.Boolean})
    together = pl.concat([nothing, *picks.values()])
    same = (pl.col("picked").n_unique() == 1) & pl.col("picked").is_not_null().all()
    return (
        together.group_by("id")
        .agg(
            same.cast(pl.Float64).alias(CONSISTENT),
            pl.col("right").all().cast(pl.Float64).alias(ALWAYS_RIGHT),
            pl.len(),
        )
        .filter(pl.col("len") > 1)
        .drop("len")
        .sort("id")
    )


def _measure_shifts(rows: pl.DataFrame, how: str) -> Iterator[Measure]:
    """Measure how often picks stay the same, and how often they are always right, when options are shifted."""
    for name in (CONSISTENT, ALWAYS_RIGHT):
        shifted = rows.drop_nulls(name)
        if shifted.height:
            estimate = mean(shifted[name], shifted["cluster"])
            yield make_measure(name, estimate, of=name, condition=ROTATED, score=how, better="higher")


def _accuracies(answers: list[ConditionAnswers], how: str) -> Iterator[Measure]:
    for one in answers:
        name, rows = one.condition.name, one.rows
        right = mean(rows["accuracy"], rows["cluster"])
        over = paired_difference(one.over[OVER], [0.0] * one.over.height, one.over["cluster"])
        # Accuracy with a part hidden describes a model. Above chance by the options, it has found a shortcut.
        by_options = one.condition.hidden == ALONE or one.condition.shown == DONOR
        better: Better = "neither" if one.condition.hidden or by_options else "higher"
        better_over: Better = "lower" if by_options else better
        yield make_measure("accuracy", right, of=name, condition=name, score=how, better=better)
        yield make_measure(OVER, over, of=None, condition=name, score=how, better=better_over)
        if one.condition.is_whole:
            yield measure_chance(rows, name, how)


def _adds(answers: list[ConditionAnswers], how: str) -> Iterator[Measure]:
    """Measure what showing the image, or the question, adds on each set of options."""
    by_condition = {one.condition: one.rows for one in answers}
    for condition, rows in by_condition.items():
        for hidden, name in ADDS.items():
            without = by_condition.get(Condition(condition.options, hidden))
            if not condition.is_whole or without is None:
                continue
            both = rows.join(without, on=("id", "cluster"), validate="1:1", maintain_order="left", suffix="_without")
            difference = paired_difference(both["accuracy"], both["accuracy_without"], both["cluster"])
            yield make_measure(name, difference, of=None, condition=condition.name, score=how, better="higher")


def _fall(answers: list[ConditionAnswers], how: str) -> Iterator[Measure]:
    """Measure how much less a model is above chance on the repaired options than on the original ones."""
    by_condition = {one.condition: one.over for one in answers}
    before, after = (by_condition.get(Condition(name)) for name in (ORIG, REPAIRED))
    if before is not None and after is not None:
        both = before.join(after, on=("id", "cluster"), validate="1:1", maintain_order="left", suffix="_after")
        fall = paired_difference(both[OVER], both[f"{OVER}_after"], both["cluster"])
        yield make_measure(FALL, fall, of=None, condition=REPAIRED, score=how, better="neither")


def _with_q(measures: list[Measure]) -> list[Measure]:
    """Adjust the p-values of all measures together."""
    q = adjust([float("nan") if one.p is None else one.p for one in measures])
    return [one if one.p is None else replace(one, q=float(value)) for one, value in zip(measures, q, strict=True)]


def _grouped(data: Dataset, rows: pl.DataFrame, measure: Measure, column: str, engine: Engine) -> pl.DataFrame:
    return measure_groups(data, rows.drop_nulls(str(measure.of)), measure, column, engine)


def _visible(measures: list[Measure], answers: list[ConditionAnswers]) -> pl.DataFrame:
    """Arrange accuracies as the paper does: what is visible by set of options, with chance as Random."""
    by_name = {(one.name, one.condition): one for one in measures}
    rows = []
    for one in answers:
        if one.condition.shift or one.condition.shown == DONOR:
            continue
        accuracy = by_name["accuracy", one.condition.name]
        estimate = (accuracy.value, accuracy.low, accuracy.high, accuracy.n)
        rows.append((VISIBLE[one.condition.hidden], one.condition.options, *estimate))
        if not one.condition.hidden:
            guess = by_name[CHANCE, one.condition.name]
            rows.append(("Random", one.condition.options, guess.value, guess.low, guess.high, guess.n))
    schema = {"visible": pl.String, "options": pl.String} | dict.fromkeys(("accuracy", "low", "high"), pl.Float64)
    table = pl.DataFrame(rows, schema=schema | {"n": pl.Int64}, orient="row")
    return table.sort(pl.col("visible").replace_strict(_ORDER, return_dtype=pl.Int64), maintain_order=True)
