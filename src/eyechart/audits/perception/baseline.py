"""What can be had without looking at anything: the most frequent train answer, in the form each score wants.

text       the most frequent answer, over all or of each answer or question type
options    the option that was most often an answer in train
rankings   the candidates in the order of their train frequency
numbers    the train median
Ties go to the first in the alphabet; a type never met gets what is usual over all.
"""

from typing import NamedTuple

import polars as pl

from eyechart.dataset import Dataset
from eyechart.encode.majority import learn_majority, majority_answers, rank_options, rank_texts
from eyechart.scoring import OPTION_SCORES, SCORES, score

GLOBAL = "global"
SCOPE = "question_type"  # what the majority is learned by, whatever column it comes from
NUMBERS = "one-minus-mape"
OPTIONS = "choice-text"


class Baseline(NamedTuple):
    """The score of the most frequent answer on each judged example (null: none), how it came about, and the answers."""

    scores: pl.Series
    note: str
    majority: pl.DataFrame


def score_baseline(learn: Dataset, judged: pl.DataFrame, how: str, scope: str) -> Baseline:
    """Learn the most frequent answers of a part of the data and score them on the judged examples."""
    train = learn.examples.filter(pl.col("answer").is_not_null())
    if train.is_empty():
        nothing = pl.Series("majority", [None] * judged.height, dtype=pl.Float64)
        note = "no examples to learn the most frequent answer from: no task-normalised scores"
        return Baseline(nothing, note, learn_majority(train))
    if scope != GLOBAL:
        learn.scan(scope)  # says so where there is no such column
    known, test = _scoped(train, scope), _scoped(judged, scope)
    form = _median if how == NUMBERS else _ordered if _wants_order(how, judged) else _most_frequent
    given = form(known, test)
    scored = score(given, OPTIONS if how in OPTION_SCORES else how)
    splits = ", ".join(map(repr, learn.splits()))
    note = f"most frequent answer learned on {train.height:,} examples of {splits}, scope {scope}"
    return Baseline(scored.alias("majority"), note, learn_majority(known))


def _scoped(examples: pl.DataFrame, scope: str) -> pl.DataFrame:
    column = pl.lit(None, pl.String) if scope == GLOBAL else pl.col(scope)
    return examples.with_columns(column.alias(SCOPE))


def _wants_order(how: str, judged: pl.DataFrame) -> bool:
    return "ranking" in SCORES[how].needs or (how in OPTION_SCORES and "choices" in judged.columns)


def _most_frequent(train: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    return judged.with_columns(majority_answers(judged, learn_majority(train)).alias("given"))


def _median(train: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    number = pl.col("answer").cast(pl.Float64, strict=False)
    by_scope = train.group_by(SCOPE).agg(number.median().alias("median"))
    whole = train.select(number.median()).item()
    found = judged.join(by_scope, on=SCOPE, how="left", validate="m:1", maintain_order="left")
    return found.with_columns(pl.col("median").fill_null(whole).cast(pl.String).alias("given"))


def _ordered(train: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Order the options of each example, else all train answers, by how often they were answers in train."""
    if "choices" in judged.columns:
        ranked = judged.with_columns(rank_options(judged, train))
    else:
        # Without options the order is the same for a whole scope, so each is ordered once.
        answers = train.select(pl.col("answer").unique().alias("text"))
        ranking = rank_texts(judged.select(SCOPE).unique().join(answers, how="cross"), train, SCOPE)
        ranked = judged.join(ranking, on=SCOPE, how="left", nulls_equal=True, validate="m:1", maintain_order="left")
    return ranked.with_columns(pl.col("ranking").list.first().alias("given"))
