"""Gather the answers under every condition: one row for each question and draw.

Two answers are the same if their normal forms are (with `same="raw"`, their texts); a refusal is an answer of its own,
the same as any other refusal. p is the probability of the answer that was given to the whole picture.
"""

from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from eyechart.audits.batches import scores
from eyechart.audits.grounding.settings import GroundingSettings
from eyechart.base.text import clean_answer, normalize_answer
from eyechart.data.predictions import Predictions
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.protocols import Engine

KEY = ["id", "draw"]


class AnswersByCondition(NamedTuple):
    """Usable answers by condition (id, draw, response, right, p, ...), questions without any, and counts of probes."""

    tables: dict[str, pl.DataFrame]
    lost: pl.DataFrame
    counts: pl.DataFrame

    def side_by_side(self, conditions: Iterable[str]) -> pl.DataFrame:
        """Join the answers under several conditions by question and draw, with `response`, `right` and `p` of each."""
        names = list(conditions)
        joined = self._columns(names[0], "id", "draw", "cluster")
        for name in names[1:]:
            joined = joined.join(self._columns(name, *KEY), on=KEY, validate="1:1")
        return joined.sort(KEY)

    def _columns(self, condition: str, *kept: str) -> pl.DataFrame:
        named = (pl.col(column).alias(f"{column} {condition}") for column in ("response", "right", "p"))
        return self.tables[condition].select(*kept, *named)


def gather_answers(
    settings: GroundingSettings, predictions: Predictions, asked: dict[str, pl.DataFrame], how: str, engine: Engine
) -> AnswersByCondition:
    """Gather the answers to the examples that were asked under each condition, `plain` first."""
    tables: dict[str, pl.DataFrame] = {}
    counts, lost_ids = [], []
    for condition, examples in asked.items():
        answered = predictions.beside(examples, condition)
        counts.append(answered.counts)
        lost_ids.append(answered.lost.select("id", "cluster"))
        table = answered.table.with_columns(
            _responses(answered.table, settings.same), scores(answered.table, how, engine).alias("right")
        )
        reference = table if condition == PLAIN_CONDITION else tables[PLAIN_CONDITION]
        tables[condition] = table.with_columns(probability_of(table, reference.select(*KEY, "response"), settings.same))
    return AnswersByCondition(tables, pl.concat(lost_ids).unique().sort("id"), pl.concat(counts))


def _responses(table: pl.DataFrame, same: str) -> pl.Series:
    answers = table.select(pl.when(pl.col("status") != "refused").then("given")).to_series()
    return comparable(answers, same).alias("response")


def comparable(texts: pl.Series, same: str) -> pl.Series:
    """Convert answers to the form in which they are compared; each distinct text is converted once."""
    if same == "raw":
        return texts
    distinct = texts.unique().to_frame("text").with_columns(form=normalize_answer(clean_answer(pl.col("text"))))
    return texts.to_frame("text").join(distinct, on="text", how="left", validate="m:1", maintain_order="left")["form"]


def probability_of(table: pl.DataFrame, responses: pl.DataFrame, same: str) -> pl.Series:
    """Look up the probability of each response in the scores of its row: null without scores, 0 if it has none."""
    if "scores" not in table.columns or table["scores"].null_count() == table.height:
        return pl.Series("p", [None] * table.height, pl.Float64)
    kind = pl.col("score_kind") if "score_kind" in table.columns else pl.lit(None, pl.String)
    rows = table.select(*KEY, "scores", kind.fill_null("prob").alias("kind"))
    rows = rows.join(responses, on=KEY, how="left", validate="1:1", maintain_order="left")
    flat = rows.with_row_index("row").explode("scores", empty_as_null=False, keep_nulls=False).unnest("scores")
    flat = flat.with_columns(comparable(flat["answer"], same).alias("answer"), _probability().alias("p"))
    hits = flat.filter(pl.col("answer") == pl.col("response")).group_by("row").agg(pl.col("p").sum())
    joined = rows.with_row_index("row").join(hits, on="row", how="left", validate="1:1", maintain_order="left")
    defined = (pl.col("scores").list.len() > 0) & pl.col("response").is_not_null()
    return joined.select(pl.when(defined).then(pl.col("p").fill_null(0.0)).alias("p")).to_series()


def _probability() -> pl.Expr:
    """Convert scores of any kind to probabilities; the softmax of logits is over the listed answers."""
    power = (pl.col("score") - pl.col("score").max().over("row")).exp()
    kind = pl.col("kind")
    return (
        pl.when(kind == "logit")
        .then(power / power.sum().over("row"))
        .when(kind == "logprob")
        .then(pl.col("score").exp())
        .otherwise(pl.col("score"))
    )


def same_as(condition: str) -> pl.Expr:
    """Compare the answer under a condition with the one to the whole picture."""
    return pl.col(f"response {PLAIN_CONDITION}").eq_missing(pl.col(f"response {condition}"))


def fall(condition: str) -> pl.Expr:
    """Subtract the probability under a condition from that of the answer to the whole picture."""
    return pl.col(f"p {PLAIN_CONDITION}") - pl.col(f"p {condition}")  # Eq. 7, Eq. 8


def by_question(joined: pl.DataFrame, columns: Iterable[pl.Expr]) -> pl.DataFrame:
    """Compute columns for every draw and average them over the draws of a question."""
    computed = joined.select("id", "cluster", *columns)
    means = pl.exclude("id", "cluster").mean()
    return computed.group_by("id", "cluster", maintain_order=True).agg(means)
