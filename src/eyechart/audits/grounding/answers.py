"""Gather the answers under every condition: one row for each question and draw.

Two answers are the same if their normal forms are (with `same="raw"`, their texts); a refusal is an answer of its own,
the same as any other refusal. p is the probability of the answer that was given to the whole picture.

From them come the measures of single questions, grounded or not and right or wrong (Eq. 4 to 12), and their groups.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import polars as pl

from eyechart.audits.batches import scores
from eyechart.audits.grounding.settings import EVIDENCE, REST, GroundingSettings
from eyechart.base.text import clean_answer, normalize_answer
from eyechart.data.dataset import NOT_JUDGED, Dataset
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


CONDITIONS = (PLAIN_CONDITION, EVIDENCE, REST)
ACCURACIES = {PLAIN_CONDITION: "acc_all", EVIDENCE: "acc_rel", REST: "acc_irrel"}
CELLS = {
    "grounded_right": "grounded, right",
    "grounded_wrong": "grounded, wrong",
    "ungrounded_right": "not grounded, right",
    "ungrounded_wrong": "not grounded, wrong",
}
FALLS = {"sufficiency": EVIDENCE, "comprehensiveness": REST}
GROUNDING = {"grounding": ("grounded", "not grounded"), "keeping": ("kept", "not kept")}  # Eq. 4, appendix C
IN, OUT = "id", "ood"  # in and out of distribution
PLACES = (IN, OUT)
KNOWN_OUT, KNOWN_IN = ("ood", "tail", "counterexample"), ("id", "head", "easy")
BEST, MEDIUM, WORST = "best", "medium", "worst"
CLASSES = {"sufficiency_class": "sufficiency", "comprehensiveness_class": "comprehensiveness"}


def question_rows(answers: AnswersByCondition) -> pl.DataFrame:
    """Measure every question that has usable answers under all three conditions."""
    return by_question(answers.side_by_side(CONDITIONS), _columns())


def _columns() -> Iterator[pl.Expr]:
    right = pl.col(f"right {PLAIN_CONDITION}")
    grounded = grounded_in(EVIDENCE, REST)
    yield grounded.cast(pl.Float64).alias("grounded")
    yield (~grounded).cast(pl.Float64).alias("not_grounded")  # Eq. 6
    values = (
        grounded * right,  # Eq. 9
        grounded * (1 - right),  # Eq. 10
        ~grounded * right,  # Eq. 11
        ~grounded * (1 - right),  # Eq. 12
    )
    yield from (value.alias(name) for name, value in zip(CELLS, values, strict=True))
    yield from (pl.col(f"right {condition}").alias(name) for condition, name in ACCURACIES.items())
    yield pl.when(right >= 0.5).then(grounded.cast(pl.Float64)).alias("right_grounded")
    yield same_as(EVIDENCE).cast(pl.Float64).alias("kept")  # appendix C
    yield (~same_as(REST)).cast(pl.Float64).alias("changed")
    yield from (fall(condition).alias(name) for name, condition in FALLS.items())


def grounded_in(alone: str, rest: str) -> pl.Expr:
    """Check whether an answer stays the same with some boxes alone and changes without them."""
    return same_as(alone) & ~same_as(rest)  # Eq. 4


def graded_rows(answers: AnswersByCondition, conditions: list[str]) -> pl.DataFrame:
    """Measure the conditions of graded deletion, each over the questions that were answered there."""
    rows = answers.tables[PLAIN_CONDITION].select("id", "cluster").unique().sort("id")
    for condition in conditions:
        columns = (
            same_as(condition).cast(pl.Float64).alias(f"same {condition}"),
            pl.col(f"right {condition}").alias(f"accuracy {condition}"),
            fall(condition).alias(f"fall {condition}"),
        )
        step = by_question(answers.side_by_side((PLAIN_CONDITION, condition)), columns).drop("cluster")
        rows = rows.join(step, on="id", how="left", validate="1:1", maintain_order="left")
    return rows


def with_groups(rows: pl.DataFrame, settings: GroundingSettings, data: Dataset) -> pl.DataFrame:
    """Add a text column for each grouping; null where a question is in no group."""
    grouped = rows.with_columns(
        _either("grounded", GROUNDING["grounding"]).alias("grounding"),
        _either("kept", GROUNDING["keeping"]).alias("keeping"),
        *_classes(),
    )
    if not settings.ood:
        return grouped
    places = data.scan(settings.ood).select("id", _place(settings).alias("place")).collect()
    placed = grouped.join(places, on="id", how="left", validate="1:1", maintain_order="left")
    return placed.with_columns(
        pl.concat_str(name, "place", separator=", ").alias(f"{name}_place") for name in GROUNDING
    )


def _either(column: str, names: tuple[str, str]) -> pl.Expr:
    """Choose the first name where most draws agree, else the second."""
    return pl.when(pl.col(column) >= 0.5).then(pl.lit(names[0])).otherwise(pl.lit(names[1]))


def _place(settings: GroundingSettings) -> pl.Expr:
    text = pl.col(settings.ood).cast(pl.String)
    value = pl.when(text != NOT_JUDGED).then(text)  # where the column comes from another study
    if settings.ood_value:
        place = pl.when(value == settings.ood_value).then(pl.lit(OUT)).otherwise(pl.lit(IN))
        return pl.when(value.is_not_null()).then(place)
    return pl.when(value.is_in(KNOWN_OUT)).then(pl.lit(OUT)).when(value.is_in(KNOWN_IN)).then(pl.lit(IN))


def _classes() -> tuple[pl.Expr, pl.Expr]:
    """Classify the falls as in Fig. 3 and 4; the bound of a bad sufficiency, not printed there, mirrors the other."""
    suff, comp = pl.col("sufficiency"), pl.col("comprehensiveness")
    best, worst = pl.lit(BEST), pl.lit(WORST)
    medium = pl.lit(MEDIUM)
    by_kept = pl.when(suff < 0.01).then(best).when(suff >= 0.2).then(worst).when(suff.is_not_null()).then(medium)
    by_lost = pl.when(comp >= 0.4).then(best).when(comp < 0.2).then(worst).when(comp.is_not_null()).then(medium)
    return by_kept.alias("sufficiency_class"), by_lost.alias("comprehensiveness_class")
