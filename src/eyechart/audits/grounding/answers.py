"""The answers of every condition beside each other: one row for each question and draw.

Two answers are the same if their normal forms are (or, as they are, with `same="raw"`); a refusal is an answer of its
own, the same as another refusal. p is the probability of the answer that was given to the whole picture.
"""

from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from eyechart.audits.grounding.audit import GroundingAudit
from eyechart.audits.keyed import scores
from eyechart.predictions import Predictions
from eyechart.probes import OWN
from eyechart.protocols import Engine
from eyechart.text import clean_answer, normalize_answer

KEY = ["id", "draw"]


class Heard(NamedTuple):
    """Usable answers by condition (id, draw, said, right, p, ...), questions without any, and all probes counted."""

    tables: dict[str, pl.DataFrame]
    lost: pl.DataFrame
    counts: pl.DataFrame


def hear(
    audit: GroundingAudit, predictions: Predictions, asked: dict[str, pl.DataFrame], how: str, engine: Engine
) -> Heard:
    """Gather the answers to the examples that were asked under each condition; `plain` comes first."""
    tables: dict[str, pl.DataFrame] = {}
    counts, lost = [], []
    for condition, examples in asked.items():
        answered = predictions.beside(examples, condition)
        counts.append(answered.counts)
        lost.append(answered.lost.select("id", "cluster"))
        table = answered.table.with_columns(
            _said(answered.table, audit.same), scores(answered.table, how, engine).alias("right")
        )
        given = table if condition == OWN else tables[OWN]
        tables[condition] = table.with_columns(chance_of(table, given.select(*KEY, "said"), audit.same))
    return Heard(tables, pl.concat(lost).unique().sort("id"), pl.concat(counts))


def _said(table: pl.DataFrame, same: str) -> pl.Series:
    answer = table.select(pl.when(pl.col("status") != "refused").then("given")).to_series()
    return same_form(answer, same).alias("said")


def same_form(texts: pl.Series, same: str) -> pl.Series:
    """Bring answers into the form in which they are compared; each different text is worked on once."""
    if same == "raw":
        return texts
    different = texts.unique().to_frame("text").with_columns(form=normalize_answer(clean_answer(pl.col("text"))))
    return texts.to_frame("text").join(different, on="text", how="left", validate="m:1", maintain_order="left")["form"]


def chance_of(table: pl.DataFrame, given: pl.DataFrame, same: str) -> pl.Series:
    """Find p of the given answers among the scores of each row; null without scores, 0 where the answer has none."""
    if "scores" not in table.columns or table["scores"].null_count() == table.height:
        return pl.Series("p", [None] * table.height, pl.Float64)
    kind = pl.col("score_kind") if "score_kind" in table.columns else pl.lit(None, pl.String)
    rows = table.select(*KEY, "scores", kind.fill_null("prob").alias("kind"))
    rows = rows.join(given.rename({"said": "wanted"}), on=KEY, how="left", validate="1:1", maintain_order="left")
    flat = rows.with_row_index("row").explode("scores", empty_as_null=False, keep_nulls=False).unnest("scores")
    flat = flat.with_columns(same_form(flat["answer"], same).alias("answer"), _probability().alias("p"))
    hits = flat.filter(pl.col("answer") == pl.col("wanted")).group_by("row").agg(pl.col("p").sum())
    known = rows.with_row_index("row").join(hits, on="row", how="left", validate="1:1", maintain_order="left")
    told = (pl.col("scores").list.len() > 0) & pl.col("wanted").is_not_null()
    return known.select(pl.when(told).then(pl.col("p").fill_null(0.0)).alias("p")).to_series()


def _probability() -> pl.Expr:
    """Turn scores of any kind into probabilities; logits are those of all answers that are listed."""
    power = (pl.col("score") - pl.col("score").max().over("row")).exp()
    kind = pl.col("kind")
    return (
        pl.when(kind == "logit")
        .then(power / power.sum().over("row"))
        .when(kind == "logprob")
        .then(pl.col("score").exp())
        .otherwise(pl.col("score"))
    )


def side_by_side(heard: Heard, conditions: Iterable[str]) -> pl.DataFrame:
    """Join the answers of several conditions by question and draw, with `said`, `right` and `p` of each."""
    names = list(conditions)
    joined = _own(heard, names[0], "id", "draw", "cluster")
    for name in names[1:]:
        joined = joined.join(_own(heard, name, *KEY), on=KEY, validate="1:1")
    return joined.sort(KEY)


def _own(heard: Heard, condition: str, *kept: str) -> pl.DataFrame:
    own = (pl.col(column).alias(f"{column} {condition}") for column in ("said", "right", "p"))
    return heard.tables[condition].select(*kept, *own)


def same_as(condition: str) -> pl.Expr:
    """Say whether an answer is the one to the whole picture."""
    return pl.col(f"said {OWN}").eq_missing(pl.col(f"said {condition}"))


def by_question(joined: pl.DataFrame, columns: Iterable[pl.Expr]) -> pl.DataFrame:
    """Compute columns for every draw and average them over the draws of a question."""
    computed = joined.select("id", "cluster", *columns)
    means = pl.exclude("id", "cluster").mean()
    return computed.group_by("id", "cluster", maintain_order=True).agg(means)
