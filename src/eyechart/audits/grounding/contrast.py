"""The contrast of evidence and placebo: how much oftener answers hang on the evidence than on other boxes like it.

With the placebo in the place of the evidence, an answer is grounded in it as in Eq. 4, and of the same question and
draw

    contrast = grounded in the evidence - grounded in the placebo

A model that looks at the evidence of a share s of the questions, and at no boxes of the others, has a mean contrast of
s; one whose answers change with whatever is hidden has 0.
"""

from collections.abc import Iterator

import polars as pl

from eyechart.audits.grounding.answers import AnswersByCondition, by_question, same_as
from eyechart.audits.grounding.cells import CONDITIONS, grounded_in
from eyechart.audits.grounding.settings import EVIDENCE, PLACEBO, REST, REST_PLACEBO
from eyechart.audits.grounding.study import MATCHED
from eyechart.audits.measures import make_measure
from eyechart.data.result import Better, Measure
from eyechart.statistics import mean
from eyechart.statistics.intervals import Kind

PLACEBOS = (PLACEBO, REST_PLACEBO)
CONTRAST = "grounded beyond placebo"
LOST_FOR, LOST_AGAINST = "grounded beyond placebo, lost as such", "grounded beyond placebo, lost as not"
BOXES = {"grounded_evidence": EVIDENCE, "grounded_placebo": PLACEBO}


def with_contrast(rows: pl.DataFrame, answers: AnswersByCondition, matched: pl.Series) -> pl.DataFrame:
    """Add the contrast of every question that has usable answers under all five conditions."""
    told = rows.with_columns(pl.col("id").is_in(matched.implode()).cast(pl.Float64).alias(MATCHED))
    if not has_placebo(answers):
        return told
    evidence, placebo = grounded_in(EVIDENCE, REST), grounded_in(PLACEBO, REST_PLACEBO)
    columns = (
        evidence.cast(pl.Float64).alias("grounded_evidence"),
        placebo.cast(pl.Float64).alias("grounded_placebo"),
        (evidence.cast(pl.Float64) - placebo.cast(pl.Float64)).alias("contrast"),
        same_as(PLACEBO).cast(pl.Float64).alias("kept_placebo"),
        *(pl.col(f"right {condition}").alias(f"acc_{condition}") for condition in PLACEBOS),
    )
    compared = by_question(answers.side_by_side((*CONDITIONS, *PLACEBOS)), columns).drop("cluster")
    return told.join(compared, on="id", how="left", validate="1:1", maintain_order="left")


def has_placebo(answers: AnswersByCondition) -> bool:
    """Return whether the placebo conditions were asked and answered."""
    return all(name in answers.tables for name in PLACEBOS)


def measure_contrast(
    rows: pl.DataFrame, answers: AnswersByCondition, matched: pl.Series, how: str
) -> Iterator[Measure]:
    """Measure the share with a placebo, the contrast, its other side, and the accuracy under the placebo conditions."""
    yield _mean(rows, MATCHED, (MATCHED, PLACEBO), how)
    if not has_placebo(answers):
        return
    yield _mean(rows, "contrast", (CONTRAST, PLACEBO), how, "higher")
    yield _mean(rows, "grounded_placebo", ("grounded", PLACEBO), how, "lower")
    yield _mean(rows, "kept_placebo", ("kept", PLACEBO), how)
    for condition in PLACEBOS:
        yield _mean(rows, f"acc_{condition}", ("accuracy", condition), how)
    yield from _bounds(rows, answers.lost.filter(pl.col("id").is_in(matched.implode())), how)


def _mean(rows: pl.DataFrame, column: str, key: tuple[str, str], how: str, better: Better = "neither") -> Measure:
    present = rows.drop_nulls(column)
    kind: Kind = "differences" if column == "contrast" else "scores"
    estimate = mean(present[column], present["cluster"], kind=kind)
    return make_measure(key[0], estimate, of=column, condition=key[1], score=how, better=better)


def _bounds(rows: pl.DataFrame, lost: pl.DataFrame, how: str) -> Iterator[Measure]:
    """Measure the contrast as if every lost answer had been grounded in the evidence alone, and as if none had."""
    present = rows.drop_nulls("contrast")
    missing = lost.join(present, on="id", how="anti")
    for name, value in ((LOST_FOR, 1.0), (LOST_AGAINST, 0.0)) if missing.height else ():
        filled = pl.concat([present["contrast"], pl.repeat(value, missing.height, dtype=pl.Float64, eager=True)])
        estimate = mean(filled, pl.concat([present["cluster"], missing["cluster"]]), kind="differences")
        yield make_measure(name, estimate, of=None, condition=PLACEBO, score=how, better="higher")


def contrast_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Compare the boxes that answers are grounded in, on the questions that have both."""
    lines = []
    for column, name in BOXES.items() if "contrast" in rows.columns else ():
        present = rows.drop_nulls("contrast")
        estimate = mean(present[column], present["cluster"])
        lines.append((name, estimate.value, estimate.low, estimate.high, estimate.n))
    schema = {"boxes": pl.String, "share": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}
    return pl.DataFrame(lines, schema=schema, orient="row")
