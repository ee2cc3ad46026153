"""What can be scored without looking at anything, and where low scores come from.

The baseline is the most frequent train answer, in the form that each score needs:

text       the most frequent answer, over all or of each answer or question type
options    the option that was most often an answer in train
rankings   the candidates in the order of their train frequency
numbers    the train median
Ties go to the first in the alphabet; an unseen type gets the most usual overall.

The paper's two analyses of bias follow. Table 2: for first words whose questions are answered without looking, how
often the model says each usual answer, and how often that is the reference in the judged and in the train examples.
Table 3: the sentiment of a text against the label.
"""

from typing import NamedTuple

import polars as pl

from eyechart.audits.perception.draws import UNIT, drawn, draws_of
from eyechart.base.errors import DataError, MissingExtraError
from eyechart.data.dataset import Dataset
from eyechart.language.answers import learn_majority, majority_answers, rank_options, rank_texts
from eyechart.language.questions import question_words
from eyechart.scoring import OPTION_SCORES, SCORES, score
from eyechart.statistics import mean, mean_by, shares

NEUTRAL = 0.05  # the authors' threshold of the compound score, on either side of 0


def sentiment(texts: pl.Series) -> pl.Series:
    """Compute the compound score of each text, from -1 to 1; each distinct text is scored once, null stays null."""
    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    except ImportError:
        found, advice = "no such package", "pip install 'eyechart[text]'"
        raise MissingExtraError("the package vaderSentiment, for the sentiment of texts", found, advice) from None
    reader = SentimentIntensityAnalyzer()
    distinct = texts.drop_nulls().unique().sort()
    scores = [reader.polarity_scores(text)["compound"] for text in distinct]
    known = pl.DataFrame({"text": distinct, "compound": pl.Series(scores, dtype=pl.Float64)})
    return texts.to_frame("text").join(known, on="text", how="left", validate="m:1", maintain_order="left")["compound"]


def feeling(compound: pl.Expr) -> pl.Expr:
    """Name a compound score: negative, neutral or positive; null stays null."""
    named = pl.when(compound >= NEUTRAL).then(pl.lit("positive")).when(compound <= -NEUTRAL).then(pl.lit("negative"))
    return pl.when(compound.is_not_null()).then(named.otherwise(pl.lit("neutral")))


GLOBAL = "global"
SCOPE = "question_type"  # the groups that the majority is learned by, whatever their column
NUMBERS = "one-minus-mape"
OPTIONS = "choice-text"
TOKENS = 8  # first words that are shown
ANSWERS = 2  # usual answers of each
LEAST = 20  # examples that a first word must have


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
    train_scoped, test = _scoped(train, scope), _scoped(judged, scope)
    form = _median if how == NUMBERS else _ordered if _wants_order(how, judged) else _most_frequent
    scored = score(form(train_scoped, test), OPTIONS if how in OPTION_SCORES else how)
    splits = ", ".join(map(repr, learn.splits()))
    note = f"most frequent answer learned on {train.height:,} examples of {splits}, scope {scope}"
    return Baseline(scored.alias("majority"), note, learn_majority(train_scoped))


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
    overall = train.select(number.median()).item()
    joined = judged.join(by_scope, on=SCOPE, how="left", validate="m:1", maintain_order="left")
    return joined.with_columns(pl.col("median").fill_null(overall).cast(pl.String).alias("given"))


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


def first_words(n: int) -> pl.Expr:
    """Join the first n words of each question; null where there is no question."""
    words = question_words(pl.col("question")).list.head(n).list.join(" ")
    return pl.when(pl.col("question").is_not_null()).then(words)


def label_sentiment(column: str | None, data: Dataset, judged: Dataset) -> dict[str, pl.DataFrame]:
    """Count how often each label occurs with each sentiment of a text (Table 3)."""
    if column is None:
        return {}
    labels = judged.examples.select("id", judged.clusters().alias("cluster"), pl.col("answer").alias("label"))
    labelled = feelings(column, data, judged).join(labels, on="id", validate="1:1").drop_nulls()
    table = shares(labelled, "label", ["sentiment"])
    return {"sentiment": table.sort("sentiment", "hits", "label", descending=[False, True, False])}


def feelings(column: str, data: Dataset, judged: Dataset) -> pl.DataFrame:
    """Classify the sentiment of a text of each judged example."""
    data.scan(column)
    if judged.examples.schema[column] != pl.String:
        found = f"{column!r} of type {judged.examples.schema[column]}"
        raise DataError("a column of text for the sentiment", found, "name another column")
    scores = sentiment(judged.examples[column]).alias("compound")
    return judged.examples.select("id", scores).select("id", feeling(pl.col("compound")).alias("sentiment"))


def answer_proportions(
    rows: pl.DataFrame, answers: pl.DataFrame, data: Dataset, learn: Dataset, score: str
) -> pl.DataFrame:
    """Compare predicted, judged and train shares of the usual answers of low-scoring first words (Table 2)."""
    kept = [name for name in (UNIT, drawn(score)) if name in rows.columns]
    judged = rows.select("id", score, *kept).join(_by_first_word(data), on="id", validate="1:1").sort("id")
    judged = judged.join(answers, on="id", how="left", validate="1:1")
    low = _least_perceived(judged.drop_nulls(["token", score]), score)
    usual = _usual(judged.join(low, on="token", how="semi"))
    table = low.join(usual, on="token")
    for name, rows_of, column in (
        ("predicted", judged, "given"),
        ("judged", judged, "answer"),
        ("train", _by_first_word(learn), "answer"),
    ):
        part = _shares(rows_of.select("token", "cluster", pl.col(column).alias("given")).drop_nulls(), usual)
        named = {"value": name, **{each: f"{name} {each}" for each in ("low", "high", "n")}}
        named_shares = part.rename(named).select("token", "answer", *named.values())
        table = table.join(named_shares, on=["token", "answer"], how="left", validate="1:1")
    return table.sort("perception", "token", "judged", "answer", descending=[False, False, True, False])


def _by_first_word(data: Dataset) -> pl.DataFrame:
    return data.examples.select("id", data.clusters().alias("cluster"), "answer", first_words(1).alias("token"))


def _least_perceived(rows: pl.DataFrame, score: str) -> pl.DataFrame:
    """Choose the first words of the lowest scores, with intervals."""
    counted = rows.group_by("token").agg(pl.col(score).mean(), pl.len().alias("n")).filter(pl.col("n") >= LEAST)
    lines = []
    for token in counted.sort(score, "token").head(TOKENS)["token"]:
        part = rows.filter(pl.col("token") == token)
        it = mean(part[score], part["cluster"], kind="differences", draws=draws_of(part, score))
        lines.append((token, it.value, it.low, it.high, it.n))
    numbers = dict.fromkeys(("perception", "perception low", "perception high"), pl.Float64)
    schema = {"token": pl.String} | numbers | {"examples": pl.Int64}
    return pl.DataFrame(lines, schema=schema, orient="row").sort("perception", "token")


def _usual(rows: pl.DataFrame) -> pl.DataFrame:
    """List the most frequent references of each first word."""
    counted = rows.drop_nulls("answer").group_by("token", "answer").agg(pl.len().alias("n"))
    order = counted.sort("n", "answer", descending=[True, False])
    return order.group_by("token", maintain_order=True).head(ANSWERS).select("token", "answer")


def _shares(rows: pl.DataFrame, usual: pl.DataFrame) -> pl.DataFrame:
    """Measure how often each usual answer is given, including those never given."""
    pairs = rows.join(usual, on="token")
    hits = pairs.with_columns((pl.col("given") == pl.col("answer")).cast(pl.Float64).alias("hit"))
    return mean_by(hits, "hit", ["token", "answer"], "cluster")
