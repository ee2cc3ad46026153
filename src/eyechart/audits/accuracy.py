"""Accuracy by group, and how much of it guessing alone would reach.

Not a paper's method but the number that every other audit is read against, and the floor under it: the best of those
who guess without looking (see `Guesses`). They learn on train; without one they learn from the judged examples of other
images, so that no example teaches its own answer. Gain is the paired difference of model and floor on the same
examples. A lost answer counts as wrong, as it would in a published figure; accuracy over the others is given beside.
Whoever beats the floor knows more than how answers are distributed. That says nothing about looking.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl

from eyechart.audits.measures import (
    MeasureFields,
    count_references,
    count_unscored,
    make_measure,
    measure_groups,
    score_rows,
)
from eyechart.base.hashing import hash_text, uniform
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
MENTIONED = ", mentioned"  # answers that contain the reference among other words count as right
PARSED = ", parsed only"
FOLDS = 5  # of the images, where there is no train split
MAJORITY, OPTION, CHANCE = "majority", "option", "chance"
GUESSES = {
    MAJORITY: "the most frequent answer to questions of the type",
    OPTION: "the option that is most often an answer, or else a guess",
    CHANCE: "a guess among the options",
}


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
        """Let the guesses learn, score them on the judged examples, and take the best as the floor."""
        parts = data.divided(learns=False)
        judged = parts.judge.take(pl.col("answer").is_not_null())
        how = chosen_score(self.score, judged.examples)
        train = _teaching(parts.learn)
        guessed = _score_guesses(judged, train, how)
        guesses = _compare_guesses(guessed)
        best = guesses["guess"].first()
        floor = pl.lit(None, pl.Float64) if best is None else pl.col(str(best))
        rows = guessed.select("id", "cluster", floor.alias("floor"))
        measures = [_measure_floor(rows, how)] if best is not None else []
        majority = _with_intervals(train if train.height else _teaching(judged))
        return Result(
            audit=self.name,
            subject=data.name,
            settings=asdict(self),
            measures=measures_table(measures),
            rows=rows,
            tables={"counts": count_references(data, parts), "guesses": guesses, "majority": majority},
            views=(GUESSES_VIEW, MAJORITY_VIEW) if majority.height else (),
            verdict=Verdict(
                "not tested",
                QUESTION,
                "no model yet",
                _describe_floor(measures, guesses),
                measures[0].key if measures else None,
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
        parsed = score_rows(answered, how, "floor", engine=engine)
        rows = _with_lost(parsed, answered.lost)
        measures = list(_measure(rows, how))
        if answered.lost.height and parsed.height:
            measures += [replace(each, name=f"{each.name}{PARSED}", of=None) for each in _measure(parsed, how)]
        if any(each.name == "gain" and each.high < self.margin for each in measures):
            mentioned = _measure(_count_mentions(answered.table, how), how)
            measures += [replace(each, name=f"{each.name}{MENTIONED}", of=None) for each in mentioned]
        groups = [measure_groups(data, rows, measures[0], column, engine) for column in self.by] if rows.height else []
        return Result(
            audit=self.name,
            subject=predictions.model,
            settings=study.settings,
            measures=pl.concat([measures_table(measures), *groups]),
            rows=rows,
            tables={"counts": count_unscored(answered, parsed)},
            views=tuple(_view_by(column) for column in self.by),
            verdict=self._decide({measure.name: measure for measure in measures}, _name_floor(study)),
        )

    def _decide(self, by_name: Mapping[str, Measure], floor: str) -> Verdict:
        if "gain" not in by_name:
            sentence = f"Accuracy is {speak(asdict(by_name['accuracy']))}; nothing was there to learn a floor from."
            return Verdict("not tested", QUESTION, "no floor", sentence, by_name["accuracy"].key, self.margin)
        gain = by_name["gain"]
        parsed, mentioned = (by_name.get(f"gain{name}", gain) for name in (PARSED, MENTIONED))
        points = f"{speak(asdict(gain))} points over {floor}"
        state: State = "cannot tell"
        if gain.low > 0:
            state, label = "yes", "beats guessing"
            sentence = f"It beats the floor: {points}. That says nothing about looking."
        elif parsed.high >= self.margin > gain.high:
            label, doubt = "too many answers lost", f"but {speak(asdict(parsed))} over the answers that could be read"
            sentence = f"Too many answers were lost to tell: {points}, {doubt}."
        elif gain.high < self.margin <= mentioned.low:
            label, doubt = (
                "right in other words",
                f"but {speak(asdict(mentioned))} where answers only have to contain it",
            )
            sentence = (
                f"It does not beat the floor as its answers are read: {points}, {doubt}. Read them with extract=yes."
            )
        elif gain.high < self.margin:
            state, label, sentence = "no", "no better than guessing", f"It does not beat the floor: {points}."
        else:
            label, sentence = "too few examples", f"Too few examples to tell it from the floor: {points}."
        return Verdict(state, QUESTION, label, sentence, gain.key, self.margin)


GUESSES_VIEW = View(
    "bars",
    "guesses",
    "What guessing without looking would score",
    "The longest bar is the floor; a model has to beat it to show that it knows more than how answers are distributed.",
    {"x": "value", "y": "guess", "low": "low", "high": "high", "n": "n"},
    units={"value": "points", "low": "points", "high": "points"},
)
MAJORITY_VIEW = View(
    "bars",
    "majority",
    "How often the most frequent answer is right, by question type",
    "A long bar is a type whose most frequent answer is often right, without looking at the image.",
    {"x": "share", "y": "question_type", "low": "low", "high": "high", "label": "answer", "n": "n"},
    units={"share": "points", "low": "points", "high": "points"},
)


def _view_by(column: str) -> View:
    drawn = {"x": "value", "y": "group", "low": "low", "high": "high", "n": "n"}
    reading = "A bar is the accuracy in a group; whiskers are 95 % intervals."
    return View("bars", "measures", f"Accuracy by {column}", reading, drawn, {"by": column})


def _teaching(learn: Dataset) -> pl.DataFrame:
    columns = [name for name in ("question_type", "answer") if name in learn.columns]
    return learn.examples.select(*columns, learn.clusters().alias("cluster"))


def _with_intervals(train: pl.DataFrame) -> pl.DataFrame:
    """List the most frequent answer of each type, with the interval of its share, clustered by image."""
    majority, key = learn_majority(train), ["question_type", "answer"]
    every = train.with_columns(pl.lit(EVERY_TYPE).alias("question_type"))
    parts = (each for each in (train, every) if "question_type" in each.columns)
    ends = [shares(each.drop_nulls(key), "answer", ["question_type"]).select(*key, "low", "high") for each in parts]
    return majority.join(pl.concat(ends), on=key, how="left", validate="1:1", maintain_order="left")


def _score_guesses(judged: Dataset, train: pl.DataFrame, how: str) -> pl.DataFrame:
    """Score each guess on the judged examples (id, cluster, a column each), never taught by the example's own image."""
    examples = judged.examples.with_columns(judged.clusters().alias("cluster"))
    if train.height:
        return _guess(examples, train, how).sort("id")
    fold = pl.Series("fold", (uniform(hash_text(examples["cluster"])) * FOLDS).astype(np.int64))
    parts = [_guess(examples.filter(fold == k), examples.filter(fold != k), how) for k in range(FOLDS)]
    return pl.concat(part for part in parts if part.height).sort("id") if examples.height else parts[0]


def _guess(examples: pl.DataFrame, train: pl.DataFrame, how: str) -> pl.DataFrame:
    """Score what each guess that learned on train would answer; the majority is null where train has no answer."""
    majority = majority_answers(examples, learn_majority(train))
    given = examples.with_columns(majority.alias("given"), pl.concat_list(majority.alias("ranking")))
    columns = [score(given, how).fill_null(0).zip_with(majority.is_not_null(), _none(examples)).alias(MAJORITY)]
    if how in OPTION_SCORES and "choices" in examples.columns:
        best = rank_options(examples, train).alias("best").list.first()
        was_answer = best.is_in(train["answer"].drop_nulls().unique().implode())
        options = pl.when(was_answer).then(pl.concat_list(best)).otherwise("choices")
        columns += [_score_options(examples, options).alias(OPTION), _score_options(examples, "choices").alias(CHANCE)]
    return examples.select("id", "cluster", *columns)


def _none(examples: pl.DataFrame) -> pl.Series:
    return pl.Series([None] * examples.height, dtype=pl.Float64)


def _score_options(examples: pl.DataFrame, options: pl.Expr | str) -> pl.Series:
    """Return the mean score over some options of each example: what a guess among them would score."""
    offered = pl.col(options) if isinstance(options, str) else options
    rows = examples.select("answer", "choices", offered.alias("given")).with_row_index("row")
    rows = rows.explode("given", empty_as_null=True, keep_nulls=True)
    scored = rows.with_columns(score(rows, "choice-text"))
    return scored.group_by("row", maintain_order=True).agg(pl.col("score").mean())["score"]


def _compare_guesses(guessed: pl.DataFrame) -> pl.DataFrame:
    """List the guesses that were scored, the best first; of equal ones, the simplest."""
    names = [name for name in reversed(GUESSES) if name in guessed.columns and guessed[name].count()]
    estimates = [mean(guessed[name].drop_nulls(), guessed.drop_nulls(name)["cluster"]) for name in names]
    rows = [
        (name, GUESSES[name], each.value, each.low, each.high, each.n)
        for name, each in zip(names, estimates, strict=True)
    ]
    schema = {"guess": pl.String, "meaning": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    table = pl.DataFrame(rows, schema=schema | {"n": pl.Int64}, orient="row")
    return table.sort("value", descending=True, maintain_order=True)


def _measure_floor(rows: pl.DataFrame, how: str) -> Measure:
    known = rows.drop_nulls("floor")
    found = mean(known["floor"], known["cluster"])
    return make_measure("floor", found, of="floor", condition=PLAIN_CONDITION, score=how, better="neither")


def _with_lost(rows: pl.DataFrame, lost: pl.DataFrame) -> pl.DataFrame:
    """Add the examples whose answers were lost, as wrong."""
    wrong = lost.select("id", "cluster", "floor", pl.lit(0.0).alias("accuracy"))
    return pl.concat([rows.select("id", "cluster", "floor", "accuracy"), wrong])


def _count_mentions(answered: pl.DataFrame, how: str) -> pl.DataFrame:
    """Count answers that contain the reference as whole words, and no other option, as right as well."""
    given, reference = (_words(pl.col(name)) for name in ("given", "answer"))
    contains = given.str.contains(reference, literal=True) & (reference.str.strip_chars() != "")
    if "choices" in answered.columns:
        others = pl.col("choices").list.eval(_words(pl.element())).list.set_difference(pl.concat_list(reference))
        listed = answered.select(given.alias("given"), others.alias("other")).with_row_index("row").explode("other")
        named = listed.filter(pl.col("given").str.contains(pl.col("other"), literal=True))["row"]
        contains &= ~pl.int_range(pl.len()).is_in(named.implode())
    scored = answered.select("id", "cluster", "floor", score(answered, how).alias("score"), contains.alias("contains"))
    right = pl.max_horizontal("score", pl.col("contains").cast(pl.Float64)).mean().alias("accuracy")
    return scored.group_by("id", "cluster", "floor").agg(right).sort("id")


def _words(text: pl.Expr) -> pl.Expr:
    """Return the words of a text, in lower case, each between two spaces."""
    return pl.concat_str(pl.lit(" "), text.str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]+", " "), pl.lit(" "))


def _measure(rows: pl.DataFrame, how: str) -> Iterator[Measure]:
    fields = MeasureFields(condition=PLAIN_CONDITION, score=how, better="higher")
    yield make_measure("accuracy", mean(rows["accuracy"], rows["cluster"]), of="accuracy", **fields)
    both = rows.drop_nulls("floor")
    if both.height:
        gain = paired_difference(both["accuracy"], both["floor"], both["cluster"])
        yield make_measure("gain", gain, of=None, **fields)


def _describe_floor(measures: list[Measure], guesses: pl.DataFrame) -> str:
    if not measures:
        return "There are no answers to learn a floor from."
    return f"Answering with {guesses['meaning'][0]} scores {speak(asdict(measures[0]))} points."


def _name_floor(study: Result) -> str:
    """Say which guess is the floor; studies of an older version knew only one."""
    guesses = study.tables.get("guesses")
    return GUESSES[MAJORITY] if guesses is None or guesses.is_empty() else str(guesses["meaning"][0])
