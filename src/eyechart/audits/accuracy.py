"""Accuracy by group, and how much of it the most frequent answers alone would reach.

Not a paper's method but the number that every other audit is read against, and the floor under it: answer each question
type with its most frequent train answer. Where options are scored, take the one that was most often a train answer,
within the type or else overall; where none ever was, the floor is the chance of a guess. A model that does not beat
this floor has not been shown to look at anything. Gain is the paired difference of the two on the same examples.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar

import polars as pl

from eyechart.audits.measures import (
    MeasureFields,
    count_references,
    count_unscored,
    make_measure,
    measure_groups,
    score_rows,
)
from eyechart.data.dataset import Dataset
from eyechart.data.furniture import Furniture
from eyechart.data.predictions import Predictions
from eyechart.data.probes import PLAIN_CONDITION, Prober
from eyechart.data.protocols import Engine
from eyechart.data.result import Measure, Result, State, Verdict, View, measures_table, speak
from eyechart.language.answers import EVERY_TYPE, learn_majority, majority_answers, rank_options
from eyechart.scoring import OPTION_SCORES, chosen_score, score
from eyechart.statistics import mean, paired_difference, shares

QUESTION = "Better than guessing?"
_LOST = ", lost as wrong"


@dataclass(frozen=True)
class Accuracy:
    """Score the answers to the examples as they are.

    A gain whose interval lies below `margin` counts as none.
    """

    name: ClassVar[str] = "accuracy"
    needs: ClassVar[tuple[str, ...]] = ("answer",)
    gone: ClassVar[Mapping[str, str]] = {"split": "choose what is judged with --judge"}
    furniture: ClassVar[Furniture] = Furniture(scored="accuracy")

    score: str = "auto"
    by: tuple[str, ...] = ()
    margin: float = 0.01

    def study(self, data: Dataset, engine: Engine) -> Result:  # noqa: ARG002 - part of the contract
        """Learn the most frequent answers on train and score them on the judged examples."""
        parts = data.divided(learns=False)
        judged = parts.judge.take(pl.col("answer").is_not_null())
        how = chosen_score(self.score, judged.examples)
        train = _train(parts.learn)
        majority = learn_majority(train)
        rows = _floor(judged, train, majority, how)
        floor = make_measure(
            "floor",
            mean(rows["floor"].drop_nulls(), rows.drop_nulls("floor")["cluster"]),
            of="floor",
            condition=PLAIN_CONDITION,
            score=how,
            better="neither",
        )
        return Result(
            audit=self.name,
            subject=data.name,
            settings=asdict(self),
            measures=measures_table([floor] if floor.n else []),
            rows=rows,
            tables={"counts": count_references(data, parts), "majority": _with_intervals(majority, train)},
            views=(MAJORITY_VIEW,) if majority.height else (),
            verdict=Verdict(
                "not tested",
                QUESTION,
                "no model yet",
                _describe_floor(floor),
                floor.key if floor.n else None,
                self.margin,
            ),
        )

    def beyond_plain(self, data: Dataset) -> tuple[str, ...]:  # noqa: ARG002 - part of the contract
        """Ask nothing else."""
        return ()

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterator[tuple[str, pl.DataFrame]]:  # noqa: A002, ARG002
        """Ask for the judged examples as they are."""
        yield PLAIN_CONDITION, Prober(data).plain(study.rows["id"])

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        """Score the answers, overall and by group, and compare them with the floor."""
        examples = data.examples.join(study.rows, on="id", validate="1:1")
        how = chosen_score(self.score, examples)
        answered = predictions.beside(examples, PLAIN_CONDITION)
        rows = score_rows(answered, how, "floor", engine=engine)
        measures = list(_measure(rows, answered.lost, how))
        groups = [measure_groups(data, rows, measures[0], column, engine) for column in self.by] if rows.height else []
        return Result(
            audit=self.name,
            subject=predictions.model,
            settings=study.settings,
            measures=pl.concat([measures_table(measures), *groups]),
            rows=rows,
            tables={"counts": count_unscored(answered, rows)},
            views=tuple(_view_by(column) for column in self.by),
            verdict=self._decide(measures),
        )

    def _decide(self, measures: list[Measure]) -> Verdict:
        by_name = {measure.name: measure for measure in measures}
        if "gain" not in by_name:
            sentence = f"Accuracy is {speak(asdict(by_name['accuracy']))}; without a train split there is no floor."
            return Verdict("not tested", QUESTION, "no floor", sentence, by_name["accuracy"].key)
        gain = by_name["gain"]
        points = f"{speak(asdict(gain))} points over {_name_floor(gain.score)}"
        worst = by_name.get(f"gain{_LOST}", gain)
        state: State = "cannot tell"
        if gain.low > 0 >= worst.low:
            label = "too many answers lost"
            doubt = f"but {speak(asdict(worst))} if the lost answers count as wrong"
            sentence = f"Too many answers were lost to tell: {points}, {doubt}."
        elif gain.low > 0:
            state, label, sentence = "yes", "beats guessing", f"It beats the floor: {points}."
        elif gain.high < self.margin:
            state, label, sentence = "no", "no better than guessing", f"It does not beat the floor: {points}."
        else:
            label, sentence = "too few examples", f"Too few examples to tell it from the floor: {points}."
        return Verdict(state, QUESTION, label, sentence, gain.key, self.margin)


MAJORITY_VIEW = View(
    "bars",
    "majority",
    "How often the most frequent answer is right, by question type",
    "A long bar is a type whose most frequent train answer is often right, without looking at the image.",
    {"x": "share", "y": "question_type", "low": "low", "high": "high", "label": "answer", "n": "n"},
    units={"share": "points", "low": "points", "high": "points"},
)


def _view_by(column: str) -> View:
    drawn = {"x": "value", "y": "group", "low": "low", "high": "high", "n": "n"}
    reading = "A bar is the accuracy in a group; whiskers are 95 % intervals."
    return View("bars", "measures", f"Accuracy by {column}", reading, drawn, {"by": column})


def _train(learn: Dataset) -> pl.DataFrame:
    columns = [name for name in ("question_type", "answer") if name in learn.columns]
    return learn.examples.select(*columns, learn.clusters().alias("cluster"))


def _with_intervals(majority: pl.DataFrame, train: pl.DataFrame) -> pl.DataFrame:
    """Add the interval of each share, clustered by image."""
    key = ["question_type", "answer"]
    every = train.with_columns(pl.lit(EVERY_TYPE).alias("question_type"))
    parts = (each for each in (train, every) if "question_type" in each.columns)
    ends = [shares(each.drop_nulls(key), "answer", ["question_type"]).select(*key, "low", "high") for each in parts]
    return majority.join(pl.concat(ends), on=key, how="left", validate="1:1", maintain_order="left")


def _floor(judged: Dataset, train: pl.DataFrame, majority: pl.DataFrame, how: str) -> pl.DataFrame:
    examples = judged.examples
    if majority.is_empty():
        scores = pl.Series([None] * examples.height, dtype=pl.Float64)
    elif how in OPTION_SCORES and "choices" in examples.columns:
        scores = _score_options(examples, train)
    else:
        answers = majority_answers(examples, majority)
        answered = examples.with_columns(answers.alias("given"), pl.concat_list(answers.alias("ranking")))
        scores = score(answered, how)
    return examples.select("id", judged.clusters().alias("cluster"), scores.alias("floor")).sort("id")


def _score_options(examples: pl.DataFrame, train: pl.DataFrame) -> pl.Series:
    """Score the option most frequent in train; where none was ever an answer there, the mean over all options."""
    best = rank_options(examples, train).alias("best").list.first()
    was_answer = best.is_in(train["answer"].drop_nulls().unique().implode())
    options = pl.when(was_answer).then(pl.concat_list(best)).otherwise("choices").alias("given")
    rows = examples.select("answer", "choices", options).with_row_index("row").explode("given")
    scored = rows.with_columns(score(rows, "choice-text"))
    return scored.group_by("row", maintain_order=True).agg(pl.col("score").mean())["score"]


def _measure(rows: pl.DataFrame, lost: pl.DataFrame, how: str) -> Iterator[Measure]:
    fields = MeasureFields(condition=PLAIN_CONDITION, score=how, better="higher")
    yield make_measure("accuracy", mean(rows["accuracy"], rows["cluster"]), of="accuracy", **fields)
    both = rows.drop_nulls("floor")
    if both.height:
        gain = paired_difference(both["accuracy"], both["floor"], both["cluster"])
        yield make_measure("gain", gain, of=None, **fields)
    if lost.height:
        # Answers that were left out could hide mistakes: what if they had all been wrong?
        wrong = lost.select("cluster", pl.lit(0.0).alias("accuracy"), "floor")
        worst = pl.concat([rows.select("cluster", "accuracy", "floor"), wrong])
        yield make_measure(f"accuracy{_LOST}", mean(worst["accuracy"], worst["cluster"]), of=None, **fields)
        if both.height:
            both = worst.drop_nulls("floor")
            gain = paired_difference(both["accuracy"], both["floor"], both["cluster"])
            yield make_measure(f"gain{_LOST}", gain, of=None, **fields)


def _describe_floor(floor: Measure) -> str:
    if not floor.n:
        return "There is no train split to learn the most frequent answers from."
    return f"Answering with {_name_floor(floor.score)} scores {speak(asdict(floor))} points."


def _name_floor(how: str | None) -> str:
    return "the option most frequent in train, or else a guess" if how in OPTION_SCORES else "the most frequent answers"
