"""The judgement of a model: accuracy by options and by what is visible (Tables 3 to 5), and steadiness under shifts."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import reduce
from typing import NamedTuple

import polars as pl

from eyechart.audits.decoys.asking import WHOLE, Condition, conditions
from eyechart.audits.decoys.audit import DecoysAudit
from eyechart.audits.decoys.shifts import measure_shifts, picked_options, steadiness
from eyechart.audits.decoys.solving import CHANCE, measure_chance
from eyechart.audits.decoys.views import judge_views
from eyechart.audits.measuring import count_unscored, measured, measured_by, score_rows
from eyechart.dataset import Dataset
from eyechart.predictions import Answered, Predictions
from eyechart.protocols import Engine
from eyechart.result import Better, Measure, Result, State, Verdict, measures_table, speak
from eyechart.scoring import names_option
from eyechart.statistics import adjust, beyond_known, mean, paired_difference
from eyechart.tables import COUNTS, empty

ALONE = "image-question"  # hidden: the options alone are left
VISIBLE = {ALONE: "A", "question": "I+A", "image": "Q+A", WHOLE: "I+Q+A"}
ADDS = {"image": "image adds", "question": "question adds"}
OVER = "over chance"
QUESTION = "Does it need more than the options?"


class Heard(NamedTuple):
    """The answers under one condition: joined, scored, and counted."""

    condition: Condition
    answered: Answered
    rows: pl.DataFrame  # id, cluster, accuracy, chance
    counts: pl.DataFrame
    answers: int
    strange: int  # answers that name no option, lost ones among them


def judge_model(audit: DecoysAudit, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
    """Score the answers under every condition and compare them."""
    how = "choice" if audit.score == "auto" else audit.score
    heard = [
        _hear(asked.condition, _offered(data, study, asked.choices), predictions, how)
        for asked in conditions(audit, data, study)
        if asked.choices.height
    ]
    rows = _side_by_side(heard)
    measures = _with_q([*_accuracies(heard, how), *_adds(heard, how), *measure_shifts(rows, how)])
    plain = [one for one in measures if one.name == "accuracy"]
    groups = [_grouped(data, rows, one, column, engine) for column in audit.by for one in plain]
    tables = {
        "counts": pl.concat([empty(COUNTS), *(one.counts for one in heard)]),
        "visible": _visible(measures, heard),
    }
    return Result(
        audit=audit.name,
        subject=predictions.model,
        settings=study.settings,
        measures=pl.concat([measures_table(measures), *groups]),
        rows=rows,
        tables=tables,
        views=judge_views(tables, audit.by),
        verdict=_decide(measures, heard, audit.margin),
    )


def _offered(data: Dataset, study: Result, choices: pl.DataFrame) -> pl.DataFrame:
    """Put the options of a condition in the place of those of the data."""
    known = data.examples.drop("choices", strict=False).join(
        study.rows.select("id", "cluster"), on="id", validate="1:1"
    )
    return known.join(choices, on="id", validate="1:1")


def _hear(condition: Condition, examples: pl.DataFrame, predictions: Predictions, how: str) -> Heard:
    guess = examples.with_columns((1 / pl.col("choices").list.len()).alias(CHANCE))
    answered = predictions.beside(guess, condition.name)
    rows = score_rows(answered, how, CHANCE)
    counts = count_unscored(answered, rows).with_columns(pl.lit(condition.name).alias("condition"))
    strange = answered.lost.height + int((~names_option(answered.table, how)).sum())
    return Heard(condition, answered, rows, counts, answered.table.height + answered.lost.height, strange)


def _side_by_side(heard: list[Heard]) -> pl.DataFrame:
    """Make a row of each example, with its accuracy under each condition, chance, and steadiness."""
    nobody = pl.DataFrame(schema={"id": pl.String, "cluster": pl.String})
    ids = pl.concat([nobody, *(one.rows.select("id", "cluster") for one in heard)]).unique().sort("id")
    columns = [one.rows.select("id", pl.col("accuracy").alias(one.condition.name)) for one in heard]
    columns += [
        one.rows.select("id", pl.col(CHANCE).alias(f"{one.condition.options} {CHANCE}"))
        for one in heard
        if one.condition.name == one.condition.options
    ]
    columns.append(_steady(heard))
    return reduce(lambda left, right: left.join(right, on="id", how="left", validate="1:1"), columns, ids)


def _steady(heard: list[Heard]) -> pl.DataFrame:
    """Compare the first set as it is with its shifts."""
    turned = [one for one in heard if one.condition.options == heard[0].condition.options and not one.condition.hidden]
    return steadiness({one.condition.name: picked_options(one.answered.table) for one in turned})


def _accuracies(heard: list[Heard], how: str) -> Iterator[Measure]:
    for one in heard:
        name, rows = one.condition.name, one.rows
        right = mean(rows["accuracy"], rows["cluster"])
        over = beyond_known(rows["accuracy"], rows[CHANCE], rows["cluster"])
        # Accuracy with a part hidden describes a model. Above chance by the options alone it has found a way around.
        better: Better = "neither" if one.condition.hidden else "higher"
        better_over: Better = "lower" if one.condition.hidden == ALONE else better
        yield measured("accuracy", right, of=name, condition=name, score=how, better=better)
        yield measured(OVER, over, of=None, condition=name, score=how, better=better_over)
        if name == one.condition.options:
            yield measure_chance(rows, name, how)


def _adds(heard: list[Heard], how: str) -> Iterator[Measure]:
    """Measure what showing the image, or the question, adds on each set of options."""
    by_condition = {one.condition: one.rows for one in heard}
    for condition, rows in by_condition.items():
        for hidden, name in ADDS.items():
            other = by_condition.get(Condition(condition.options, hidden))
            if condition.hidden or condition.shift or other is None:
                continue
            both = rows.join(other, on=("id", "cluster"), validate="1:1", maintain_order="left", suffix="_without")
            found = paired_difference(both["accuracy"], both["accuracy_without"], both["cluster"])
            yield measured(name, found, of=None, condition=condition.name, score=how, better="higher")


def _with_q(measures: list[Measure]) -> list[Measure]:
    """Adjust the p-values for all of them together."""
    q = adjust([float("nan") if one.p is None else one.p for one in measures])
    return [one if one.p is None else replace(one, q=float(value)) for one, value in zip(measures, q, strict=True)]


def _grouped(data: Dataset, rows: pl.DataFrame, measure: Measure, column: str, engine: Engine) -> pl.DataFrame:
    return measured_by(data, rows.drop_nulls(str(measure.of)), measure, column, engine)


def _visible(measures: list[Measure], heard: list[Heard]) -> pl.DataFrame:
    """Lay accuracies out as the paper does: what is visible by set of options, with chance as Random."""
    found = {(one.name, one.condition): one for one in measures}
    rows = []
    for one in heard:
        if one.condition.shift:
            continue
        it = found["accuracy", one.condition.name]
        rows.append((VISIBLE[one.condition.hidden], one.condition.options, it.value, it.low, it.high, it.n))
        if not one.condition.hidden:
            guess = found[CHANCE, one.condition.name]
            rows.append(("Random", one.condition.options, guess.value, guess.low, guess.high, guess.n))
    schema = {"visible": pl.String, "options": pl.String} | dict.fromkeys(("accuracy", "low", "high"), pl.Float64)
    table = pl.DataFrame(rows, schema=schema | {"n": pl.Int64}, orient="row")
    return table.sort(pl.col("visible").replace_strict(_ORDER, return_dtype=pl.Int64), maintain_order=True)


_ORDER = {name: at for at, name in enumerate((*VISIBLE.values(), "Random"))}


def _decide(measures: list[Measure], heard: list[Heard], margin: float) -> Verdict:
    """Conclude from what the model makes of the options alone; one that never names an option is not cleared."""
    asked = [one for one in heard if one.condition.hidden == ALONE]
    if not asked:
        other = next((one.key for one in measures), None)
        return Verdict("not tested", QUESTION, "not asked", "It was not asked with the options alone.", other, margin)
    alone, options = asked[0], asked[0].condition.options
    over = next(one for one in measures if one.name == OVER and one.condition == alone.condition.name)
    said = f"{speak(asdict(over))} points over chance on {options!r}"
    state: State = "cannot tell"
    if over.low > margin:
        state, label, sentence = "no", "lives on the options", f"It finds answers from the options alone: {said}."
    # One that names options where it sees all, and none where it sees nothing else, was tested and abstained.
    elif all(2 * one.strange > one.answers for one in (alone, *_whole(heard, options))):
        told = f"{alone.strange:,} of its {alone.answers:,} answers to the options alone name none of them"
        label = "chooses none"
        sentence = f"It does not choose among options, so they cannot test it: {told}."
    elif over.high < margin:
        state, label, sentence = "yes", "needs more than the options", f"The options alone do not help it: {said}."
    else:
        label, sentence = "too close to tell", f"Too close to tell whether the options alone help it: {said}."
    return Verdict(state, QUESTION, label, sentence, over.key, margin)


def _whole(heard: list[Heard], options: str) -> Iterator[Heard]:
    """Find what was heard about a set of options with nothing hidden."""
    return (one for one in heard if one.condition == Condition(options))
