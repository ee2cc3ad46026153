"""Where low scores come from: the paper's two analyses of bias, as tables.

Table 2: for first words whose questions are answered without looking, how often the model says each usual answer, and
how often that is the reference in the judged and in the train examples. Table 3: the sentiment of a text against the
label.
"""

import polars as pl

from eyechart.dataset import Dataset
from eyechart.encode.sentiment import feeling, sentiment
from eyechart.encode.words import question_words
from eyechart.errors import DataError
from eyechart.statistics import mean_by, shares

TOKENS = 8  # first words that are shown
ANSWERS = 2  # usual answers of each
LEAST = 20  # examples that a first word must have


def first_words(n: int) -> pl.Expr:
    """Join the first n words of each question; null where there is no question."""
    words = question_words(pl.col("question")).list.head(n).list.join(" ")
    return pl.when(pl.col("question").is_not_null()).then(words)


def label_sentiment(column: str | None, data: Dataset, judged: Dataset) -> dict[str, pl.DataFrame]:
    """Count how often each label goes with each sentiment of a text (Table 3)."""
    if column is None:
        return {}
    labels = judged.examples.select("id", judged.clusters().alias("cluster"), pl.col("answer").alias("label"))
    felt = feelings(column, data, judged).join(labels, on="id", validate="1:1").drop_nulls()
    table = shares(felt, "label", ["sentiment"])
    return {"sentiment": table.sort("sentiment", "hits", "label", descending=[False, True, False])}


def feelings(column: str, data: Dataset, judged: Dataset) -> pl.DataFrame:
    """Name the sentiment of a text of each judged example."""
    data.scan(column)
    if judged.examples.schema[column] != pl.String:
        found = f"{column!r} of type {judged.examples.schema[column]}"
        raise DataError("a column of text for the sentiment", found, "name another column")
    scores = sentiment(judged.examples[column]).alias("compound")
    return judged.examples.select("id", scores).select("id", feeling(pl.col("compound")).alias("sentiment"))


def answer_proportions(
    rows: pl.DataFrame, said: pl.DataFrame, data: Dataset, learn: Dataset, score: str
) -> pl.DataFrame:
    """Set predicted, judged and train shares of the usual answers of low-scoring first words side by side (Table 2)."""
    asked = _by_first_word(data)
    here = rows.select("id", score).join(asked, on="id", validate="1:1").join(said, on="id", how="left", validate="1:1")
    low = _least_perceived(here.drop_nulls(["token", score]), score)
    usual = _usual(here.join(low, on="token", how="semi"))
    shown = low.join(usual, on="token")
    for name, rows_of, column in (
        ("predicted", here, "said"),
        ("judged", here, "answer"),
        ("train", _by_first_word(learn), "answer"),
    ):
        part = _shares(rows_of.select("token", "cluster", pl.col(column).alias("given")).drop_nulls(), usual)
        named = {"value": name, **{each: f"{name} {each}" for each in ("low", "high", "n")}}
        found = part.rename(named).select("token", "answer", *named.values())
        shown = shown.join(found, on=["token", "answer"], how="left", validate="1:1")
    return shown.sort("perception", "token", "judged", "answer", descending=[False, False, True, False])


def _by_first_word(data: Dataset) -> pl.DataFrame:
    return data.examples.select("id", data.clusters().alias("cluster"), "answer", first_words(1).alias("token"))


def _least_perceived(rows: pl.DataFrame, score: str) -> pl.DataFrame:
    """Choose the first words of the lowest scores, with intervals."""
    found = mean_by(rows, score, ["token"], "cluster", kind="differences").filter(pl.col("n") >= LEAST)
    named = {"value": "perception", "low": "perception low", "high": "perception high", "n": "examples"}
    return found.rename(named).select("token", *named.values()).sort("perception", "token").head(TOKENS)


def _usual(rows: pl.DataFrame) -> pl.DataFrame:
    """List the most frequent references of each first word."""
    counted = rows.drop_nulls("answer").group_by("token", "answer").agg(pl.len().alias("n"))
    order = counted.sort("token", "n", "answer", descending=[False, True, False])
    return order.group_by("token", maintain_order=True).head(ANSWERS).select("token", "answer")


def _shares(rows: pl.DataFrame, usual: pl.DataFrame) -> pl.DataFrame:
    """Measure how often each usual answer is given, never included."""
    pairs = rows.join(usual, on="token")
    hits = pairs.with_columns((pl.col("given") == pl.col("answer")).cast(pl.Float64).alias("hit"))
    return mean_by(hits, "hit", ["token", "answer"], "cluster")
