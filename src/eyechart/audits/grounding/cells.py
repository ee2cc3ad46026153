"""The measures of single questions, grounded or not and right or wrong (Eq. 4 to 12), and the questions' groups."""

from collections.abc import Iterator

import polars as pl

from eyechart.audits.grounding.answers import AnswersByCondition, by_question, fall, same_as
from eyechart.audits.grounding.settings import EVIDENCE, REST, GroundingSettings
from eyechart.data.dataset import NOT_JUDGED, Dataset
from eyechart.data.probes import PLAIN_CONDITION

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
