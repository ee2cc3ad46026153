"""The judgement of a model: accuracy by options and by what is visible (Tables 3 to 5), and steadiness under shifts.

A model is steady if it picks the same option in every position, and right under every shift if that option is right.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import reduce
from typing import NamedTuple

import polars as pl

from eyechart.audits.decoys.diagnosis import measure_chance
from eyechart.audits.decoys.options import CHANCE
from eyechart.audits.decoys.probing import WHOLE, Condition, conditions
from eyechart.audits.decoys.settings import ALONE, DecoysSettings
from eyechart.audits.decoys.views import judge_views
from eyechart.audits.measures import count_unscored, make_measure, measure_groups, score_rows
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import AnsweredExamples, Predictions
from eyechart.data.protocols import Engine
from eyechart.data.result import Better, Measure, Result, State, Verdict, measures_table, speak
from eyechart.data.tables import COUNTS, empty
from eyechart.scoring import names_option, score
from eyechart.statistics import adjust, beyond_known, mean, paired_difference

VISIBLE = {ALONE: "A", "question": "I+A", "image": "Q+A", WHOLE: "I+Q+A"}
ADDS = {"image": "image adds", "question": "question adds"}
OVER = "over chance"
CONSISTENT, ALWAYS_RIGHT = "consistent", "right under every shift"
ROTATED = "rotate"
QUESTION = "Does it need more than the options?"
_ORDER = {name: i for i, name in enumerate((*VISIBLE.values(), "Random"))}


class ConditionAnswers(NamedTuple):
    """The answers under one condition: joined, scored, and counted."""

    condition: Condition
    answered: AnsweredExamples
    rows: pl.DataFrame  # id, cluster, accuracy, chance
    counts: pl.DataFrame
    unnamed: int  # answers that name no option, lost ones among them

    @property
    def n(self) -> int:
        """Count the answers, lost ones among them."""
        return self.answered.table.height + self.answered.lost.height

    @property
    def mostly_unnamed(self) -> bool:
        """Return whether more than half of the answers name no option."""
        return 2 * self.unnamed > self.n


def judge_model(
    settings: DecoysSettings, data: Dataset, study: Result, predictions: Predictions, engine: Engine
) -> Result:
    """Score the answers under every condition and compare them."""
    how = "choice" if settings.score == "auto" else settings.score
    answers = [
        _score_condition(condition, _offered(data, study, choices), predictions, how)
        for condition, choices in conditions(settings, data, study)
        if choices.height
    ]
    rows = _side_by_side(answers)
    measures = _with_q([*_accuracies(answers, how), *_adds(answers, how), *_measure_shifts(rows, how)])
    accuracies = [one for one in measures if one.name == "accuracy"]
    groups = [_grouped(data, rows, one, column, engine) for column in settings.by for one in accuracies]
    tables = {
        "counts": pl.concat([empty(COUNTS), *(one.counts for one in answers)]),
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
        verdict=_decide(measures, answers, settings.margin),
    )


def _offered(data: Dataset, study: Result, choices: pl.DataFrame) -> pl.DataFrame:
    """Replace the options of the data by those of a condition."""
    judged = data.examples.drop("choices", strict=False).join(
        study.rows.select("id", "cluster"), on="id", validate="1:1"
    )
    return judged.join(choices, on="id", validate="1:1")


def _score_condition(
    condition: Condition, examples: pl.DataFrame, predictions: Predictions, how: str
) -> ConditionAnswers:
    guess = examples.with_columns((1 / pl.col("choices").list.len()).alias(CHANCE))
    answered = predictions.beside(guess, condition.name)
    rows = score_rows(answered, how, CHANCE)
    counts = count_unscored(answered, rows).with_columns(pl.lit(condition.name).alias("condition"))
    unnamed = answered.lost.height + int((~names_option(answered.table, how)).sum())
    return ConditionAnswers(condition, answered, rows, counts, unnamed)


def _side_by_side(answers: list[ConditionAnswers]) -> pl.DataFrame:
    """Build a row for each example, with its accuracy under each condition, chance, and steadiness."""
    no_ids = pl.DataFrame(schema={"id": pl.String, "cluster": pl.String})
    ids = pl.concat([no_ids, *(one.rows.select("id", "cluster") for one in answers)]).unique().sort("id")
    columns = [one.rows.select("id", pl.col("accuracy").alias(one.condition.name)) for one in answers]
    columns += [
        one.rows.select("id", pl.col(CHANCE).alias(f"{one.condition.options} {CHANCE}"))
        for one in answers
        if one.condition.name == one.condition.options
    ]
    columns.append(_steady(answers))
    return reduce(lambda left, right: left.join(right, on="id", how="left", validate="1:1"), columns, ids)


def _steady(answers: list[ConditionAnswers]) -> pl.DataFrame:
    """Compare the first set as it is with its shifts."""
    first = answers[0].condition.options if answers else ""
    shifted = [one for one in answers if one.condition.options == first and not one.condition.hidden]
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
        over = beyond_known(rows["accuracy"], rows[CHANCE], rows["cluster"])
        # Accuracy with a part hidden describes a model. Above chance on the options alone, it has found a shortcut.
        better: Better = "neither" if one.condition.hidden else "higher"
        better_over: Better = "lower" if one.condition.hidden == ALONE else better
        yield make_measure("accuracy", right, of=name, condition=name, score=how, better=better)
        yield make_measure(OVER, over, of=None, condition=name, score=how, better=better_over)
        if name == one.condition.options:
            yield measure_chance(rows, name, how)


def _adds(answers: list[ConditionAnswers], how: str) -> Iterator[Measure]:
    """Measure what showing the image, or the question, adds on each set of options."""
    by_condition = {one.condition: one.rows for one in answers}
    for condition, rows in by_condition.items():
        for hidden, name in ADDS.items():
            without = by_condition.get(Condition(condition.options, hidden))
            if condition.hidden or condition.shift or without is None:
                continue
            both = rows.join(without, on=("id", "cluster"), validate="1:1", maintain_order="left", suffix="_without")
            difference = paired_difference(both["accuracy"], both["accuracy_without"], both["cluster"])
            yield make_measure(name, difference, of=None, condition=condition.name, score=how, better="higher")


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
        if one.condition.shift:
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


def _decide(measures: list[Measure], answers: list[ConditionAnswers], margin: float) -> Verdict:
    """Conclude from the answers to the options alone; a model that never names an option is not cleared."""
    alone_only = [one for one in answers if one.condition.hidden == ALONE]
    if not alone_only:
        first_key = next((one.key for one in measures), None)
        return Verdict(
            "not tested", QUESTION, "not asked", "It was not asked with the options alone.", first_key, margin
        )
    alone, options = alone_only[0], alone_only[0].condition.options
    over = next(one for one in measures if one.name == OVER and one.condition == alone.condition.name)
    distance = f"{speak(asdict(over))} points over chance on {options!r}"
    with_everything = (one for one in answers if one.condition == Condition(options))
    state: State = "cannot tell"
    if over.low > margin:
        state, label, sentence = "no", "relies on the options", f"It finds answers from the options alone: {distance}."
    # A model that names options when it sees everything, and none when it sees only them, was tested and abstained.
    elif all(one.mostly_unnamed for one in (alone, *with_everything)):
        unnamed = f"{alone.unnamed:,} of its {alone.n:,} answers to the options alone name none of them"
        label = "chooses none"
        sentence = f"It does not choose among the options, so they cannot test it: {unnamed}."
    elif over.high < margin:
        state, label, sentence = "yes", "needs more than the options", f"The options alone do not help it: {distance}."
    else:
        label, sentence = "too close to tell", f"Too close to tell whether the options alone help it: {distance}."
    return Verdict(state, QUESTION, label, sentence, over.key, margin)
