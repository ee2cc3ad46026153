"""The answers under one condition: which option each names, how right it is, and how far that is from guessing.

An answer that names one of k options scores 1 / k less than its accuracy, which is 0 on average for whoever guesses. A
refusal, or whatever else names no option, scores 0: it is counted as what it is, and is not below chance.
"""

from typing import NamedTuple

import polars as pl

from eyechart.audits.decoys.options import CHANCE
from eyechart.audits.decoys.probing import Condition
from eyechart.audits.measures import count_unscored
from eyechart.data.predictions import AnsweredExamples, Predictions
from eyechart.data.tables import COUNTS, empty
from eyechart.scoring import names_option, score

OVER = "over chance"
TARGET, OTHER, NONE, REFUSED, LOST = "target", "other option", "no option", "refused", "lost"
NAMED = (TARGET, OTHER, NONE, REFUSED, LOST)


class ConditionAnswers(NamedTuple):
    """The answers under one condition: joined, scored, and counted."""

    condition: Condition
    answered: AnsweredExamples
    rows: pl.DataFrame  # id, cluster, chance, accuracy
    over: pl.DataFrame  # id, cluster, over chance; with the answers that could not be read
    counts: pl.DataFrame
    named: dict[str, int]  # what the answers name, by NAMED

    @property
    def n(self) -> int:
        """Count the answers, lost ones among them."""
        return sum(self.named.values())

    @property
    def choosing(self) -> int:
        """Count the answers that name an option."""
        return self.named[TARGET] + self.named[OTHER]


def score_condition(
    condition: Condition, examples: pl.DataFrame, predictions: Predictions, how: str
) -> ConditionAnswers:
    """Score the answers to examples with the options of a condition."""
    guess = examples.with_columns((1 / pl.col("choices").list.len()).alias(CHANCE))
    answered = predictions.beside(guess, condition.name)
    scored = answered.table.with_columns(score(answered.table, how).alias("accuracy"))
    scored = scored.with_columns((names_option(scored, how) | (pl.col("accuracy") > 0)).alias("names"))
    scored = scored.drop_nulls("accuracy").with_columns(
        (pl.col("accuracy") - pl.col("names") * pl.col(CHANCE)).alias(OVER)
    )
    means = scored.group_by("id", "cluster", CHANCE, maintain_order=True).agg(pl.col("accuracy", OVER).mean())
    unread = answered.lost.filter(pl.col("status") == "unparsed").select("id", "cluster", pl.lit(0.0).alias(OVER))
    rows = means.drop(OVER)
    counts = count_unscored(answered, rows).with_columns(pl.lit(condition.name).alias("condition"))
    over = pl.concat([means.select("id", "cluster", OVER), unread])
    return ConditionAnswers(condition, answered, rows, over, counts, _count_named(scored, answered.lost))


def _count_named(scored: pl.DataFrame, lost: pl.DataFrame) -> dict[str, int]:
    refused, names = pl.col("status") == "refused", pl.col("names")
    kinds = pl.when(pl.col("accuracy") > 0).then(pl.lit(TARGET)).when(names).then(pl.lit(OTHER))
    found = scored.select(kinds.when(refused).then(pl.lit(REFUSED)).otherwise(pl.lit(NONE)).alias("kind"))
    counted = dict(found["kind"].value_counts(name="n").iter_rows())
    return {kind: int(counted.get(kind, 0)) for kind in NAMED[:-1]} | {LOST: lost.height}


def named_table(answers: list[ConditionAnswers]) -> pl.DataFrame:
    """List by condition how many answers name the target, another option, or none."""
    rows = [{"condition": one.condition.name, "answers": one.n} | one.named for one in answers]
    return pl.DataFrame(rows, schema={"condition": pl.String} | dict.fromkeys(("answers", *NAMED), pl.Int64))


def count_without_donor(condition: Condition, left_out: int) -> pl.DataFrame:
    """Count the examples that no other example can stand in for."""
    row = (condition.name, "left out", "no other example whose answers are not offered", left_out)
    return pl.DataFrame([row], schema=empty(COUNTS).schema, orient="row").filter(pl.col("n") > 0)
