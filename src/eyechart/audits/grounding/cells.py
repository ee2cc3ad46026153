"""The measures of single questions: grounded or not, right or wrong, and how far probabilities fall."""

from collections.abc import Iterator

import polars as pl

from eyechart.audits.grounding.answers import Heard, by_question, same_as, side_by_side
from eyechart.audits.grounding.furniture import EVIDENCE, REST
from eyechart.probes import OWN

CONDITIONS = (OWN, EVIDENCE, REST)
ACCURACIES = {OWN: "acc_all", EVIDENCE: "acc_rel", REST: "acc_irrel"}
CELLS = {
    "grounded_right": "grounded, right",
    "grounded_wrong": "grounded, wrong",
    "ungrounded_right": "not grounded, right",
    "ungrounded_wrong": "not grounded, wrong",
}
FALLS = {"sufficiency": EVIDENCE, "comprehensiveness": REST}


def question_rows(heard: Heard) -> pl.DataFrame:
    """Measure every question that was answered usably under all three conditions."""
    return by_question(side_by_side(heard, CONDITIONS), _columns())


def grounded() -> pl.Expr:
    """Say whether the answer stays with the evidence and goes without it."""
    return same_as(EVIDENCE) & ~same_as(REST)  # Eq. 4


def _columns() -> Iterator[pl.Expr]:
    right = pl.col(f"right {OWN}")
    yield grounded().cast(pl.Float64).alias("grounded")
    yield (~grounded()).cast(pl.Float64).alias("not_grounded")  # Eq. 6
    values = (
        grounded() * right,  # Eq. 9
        grounded() * (1 - right),  # Eq. 10
        ~grounded() * right,  # Eq. 11
        ~grounded() * (1 - right),  # Eq. 12
    )
    yield from (value.alias(name) for name, value in zip(CELLS, values, strict=True))
    yield from (pl.col(f"right {condition}").alias(name) for condition, name in ACCURACIES.items())
    yield same_as(EVIDENCE).cast(pl.Float64).alias("kept")  # appendix C
    yield (~same_as(REST)).cast(pl.Float64).alias("changed")
    yield from (fall(condition).alias(name) for name, condition in FALLS.items())


def fall(condition: str) -> pl.Expr:
    """Say by how much the probability of the answer to the whole picture falls."""
    return pl.col(f"p {OWN}") - pl.col(f"p {condition}")  # Eq. 7, Eq. 8


def graded_rows(heard: Heard, conditions: list[str]) -> pl.DataFrame:
    """Measure the conditions of graded deletion, each over the questions that were answered there."""
    rows = heard.tables[OWN].select("id", "cluster").unique().sort("id")
    for condition in conditions:
        columns = (
            same_as(condition).cast(pl.Float64).alias(f"same {condition}"),
            pl.col(f"right {condition}").alias(f"accuracy {condition}"),
            fall(condition).alias(f"fall {condition}"),
        )
        found = by_question(side_by_side(heard, (OWN, condition)), columns).drop("cluster")
        rows = rows.join(found, on="id", how="left", validate="1:1", maintain_order="left")
    return rows
