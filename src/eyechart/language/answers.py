"""Handle reference answers: those of humans, their numbers in a list, and the most frequent ones of each question type.

The most frequent answers, alone or among the options of a question, show what is possible without looking.
"""

import numpy as np
import polars as pl

EVERY_TYPE = "(every type)"


def human_answers(examples: pl.DataFrame) -> pl.Series:
    """List the human answers, or only the reference if there are none."""
    reference = pl.concat_list("answer").list.drop_nulls()
    if "answers" not in examples.columns:
        return examples.select(reference.alias("answers")).to_series()
    several = pl.when(pl.col("answers").list.len() > 0).then(pl.col("answers").list.drop_nulls())
    return examples.select(pl.coalesce(several, reference).alias("answers")).to_series()


def number(texts: pl.Series, known: pl.Series) -> pl.Series:
    """Return each text's index in a list of distinct texts, null if it is not in the list."""
    table = pl.DataFrame({"text": known.cast(pl.String), "number": np.arange(len(known), dtype=np.int32)})
    rows = texts.cast(pl.String).to_frame("text")
    return rows.join(table, on="text", how="left", validate="m:1", maintain_order="left")["number"]


def learn_majority(examples: pl.DataFrame) -> pl.DataFrame:
    """Find the most frequent answer of each question type and overall; ties go to the alphabetically first.

    Columns: question_type, answer, hits, n, share.
    """
    typed = _types(examples).drop_nulls(["question_type", "answer"])
    overall = typed.clear() if examples.is_empty() else _types(examples).drop_nulls("answer")
    counted = pl.concat([typed, overall.with_columns(pl.lit(EVERY_TYPE).alias("question_type"))])
    return (
        counted.group_by("question_type", "answer")
        .agg(pl.len().cast(pl.Int64).alias("hits"))
        .sort(["hits", "answer"], descending=[True, False])
        .group_by("question_type", maintain_order=True)
        .agg(pl.col("answer").first(), pl.col("hits").first(), pl.col("hits").sum().alias("n"))
        .with_columns((pl.col("hits") / pl.col("n")).alias("share"))
        .sort(["n", "question_type"], descending=[True, False])
    )


def majority_answers(examples: pl.DataFrame, majority: pl.DataFrame) -> pl.Series:
    """Answer each example with its type's most frequent answer, or with the overall one if the type is new."""
    typical = majority.select("question_type", pl.col("answer").alias("majority"))
    overall = typical.filter(pl.col("question_type") == EVERY_TYPE)["majority"]
    joined = _types(examples).join(typical, on="question_type", how="left", validate="m:1", maintain_order="left")
    return joined["majority"].fill_null(overall[0]) if len(overall) else joined["majority"]


def rank_options(examples: pl.DataFrame, train: pl.DataFrame) -> pl.Series:
    """Order the options of each example as `rank_texts` does; null if it has none."""
    rows = _types(examples, "choices").rename({"choices": "text"}).with_row_index("row")
    ranking = rank_texts(rows.explode("text", empty_as_null=False, keep_nulls=False), train, "row")
    return rows.join(ranking, on="row", how="left", validate="1:1", maintain_order="left")["ranking"]


def rank_texts(offered: pl.DataFrame, train: pl.DataFrame, key: str) -> pl.DataFrame:
    """List the texts of each key by descending count among train answers of the type, then overall, then by text.

    A null type counts as no type, as in `majority_answers`. Columns of the result: the key, and `ranking`.
    """
    named = _types(train).rename({"answer": "text"})
    by_type = named.group_by("question_type", "text").agg(pl.len().alias("n"))
    overall = named.group_by("text").agg(pl.len().alias("whole"))
    counted = offered.join(by_type, on=["question_type", "text"], how="left", validate="m:1")
    counted = counted.join(overall, on="text", how="left", validate="m:1").with_columns(
        pl.col("n", "whole").fill_null(0)
    )
    best_first = counted.sort(key, "n", "whole", "text", descending=[False, True, True, False])
    return best_first.group_by(key, maintain_order=True).agg(pl.col("text").alias("ranking"))


def _types(examples: pl.DataFrame, column: str = "answer") -> pl.DataFrame:
    known = "question_type" in examples.columns
    kind = pl.col("question_type") if known else pl.lit(None, pl.String).alias("question_type")
    return examples.select(kind, column)
