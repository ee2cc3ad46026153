"""Score answers and make measures of estimates, the same way in every audit."""

from typing import TypedDict

import polars as pl

from eyechart.audits.batches import means_by_key, scores
from eyechart.base.errors import SettingError
from eyechart.data.dataset import NOT_JUDGED, Dataset, DatasetParts
from eyechart.data.predictions import AnsweredExamples
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.protocols import Engine
from eyechart.data.result import Better, Measure, Unit
from eyechart.data.tables import COUNTS, MEASURES, empty
from eyechart.engines import Local
from eyechart.statistics import Difference, Estimate

# Who is right on this share of the hardest examples resists a shortcut most of the time, as one does who looks at so
# many questions and follows shortcuts in the rest: no verdict calls that failing.
RESISTS = 0.7


class MeasureFields(TypedDict):
    """What several measures of an audit have in common, as arguments of `make_measure`."""

    condition: str
    score: str
    better: Better


def count_references(data: Dataset, parts: DatasetParts) -> pl.DataFrame:
    """Count the judged examples, those without a reference answer, and those in neither part."""
    missing = int(parts.judge.examples["answer"].null_count())
    rows = [
        (None, "judged", None, parts.judge.height - missing),
        (None, "left out", "no reference answer", missing),
        (None, "left out", "in another split", count_apart(data, parts)),
    ]
    return pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row").filter(pl.col("n") > 0)


def count_apart(data: Dataset, parts: DatasetParts) -> int:
    """Count the examples that are neither learned from nor judged."""
    return data.height - parts.learn.height - parts.judge.height


def score_rows(answered: AnsweredExamples, how: str, *kept: str, engine: Engine | None = None) -> pl.DataFrame:
    """Score every draw and average over the draws of an example, keeping its id, cluster and further columns."""
    accuracy = scores(answered.table, how, engine or Local())
    scored = answered.table.with_columns(accuracy.alias("accuracy")).drop_nulls("accuracy")
    return scored.group_by("id", "cluster", *kept, maintain_order=True).agg(pl.col("accuracy").mean())


def count_unscored(answered: AnsweredExamples, rows: pl.DataFrame) -> pl.DataFrame:
    """Count the usable answers to which the score does not apply, such as a word where it needs a number."""
    unscored_rows = answered.table.join(rows, on="id", how="anti").unique("id", keep="first", maintain_order=True)
    by_status = unscored_rows.group_by("status").agg(pl.len().cast(pl.Int64).alias("lost"))
    scored = answered.counts.join(by_status, on="status", how="left", validate="m:1").select(
        "condition", "status", "reason", pl.col("n") - pl.col("lost").fill_null(0)
    )
    row = (PLAIN_CONDITION, "unscored", "the score does not apply to this answer", unscored_rows.height)
    unscored = pl.DataFrame([row], schema=scored.schema, orient="row")
    return pl.concat([scored, unscored]).filter(pl.col("n") > 0).sort("status")


def make_measure(
    name: str,
    found: Estimate | Difference,
    *,
    of: str | None,
    condition: str,
    score: str,
    unit: Unit = "points",
    better: Better,
) -> Measure:
    """Build a measure from an estimate, its name and the better direction; a difference keeps its p-value."""
    return Measure(
        name,
        found.value,
        found.low,
        found.high,
        found.n,
        found.clusters,
        of,
        condition,
        score=score,
        unit=unit,
        better=better,
        p=found.p if isinstance(found, Difference) else None,
        note=f"95 % interval: {found.method}",
    )


def measure_groups(data: Dataset, rows: pl.DataFrame, like: Measure, column: str, engine: Engine) -> pl.DataFrame:
    """Measure what `like` measures for every group of a column of the examples.

    If the column comes from another study, only examples that both judged count.
    """
    groups = data.scan(column).select("id", _group_name(data, column)).collect()
    grouped = rows.join(
        groups.filter(pl.col("group") != NOT_JUDGED), on="id", how="inner", validate="1:1", maintain_order="left"
    )
    estimates = means_by_key(grouped, str(like.of), ["group"], engine)
    constant = {"name": like.name, "of": like.of, "condition": like.condition, "by": column, "score": like.score}
    filled = estimates.with_columns(
        *(pl.lit(value).alias(name) for name, value in constant.items()),
        pl.lit(like.unit).alias("unit"),
        pl.lit(like.better).alias("better"),
        (pl.lit("95 % interval: ") + pl.col("method")).alias("note"),
    )
    return filled.select(
        (pl.col(name) if name in filled.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in empty(MEASURES).schema.items()
    )


def _group_name(data: Dataset, column: str) -> pl.Expr:
    dtype = data.columns[column]
    if dtype.is_nested():
        advice = "name a column of text or numbers"
        raise SettingError("a plain column to group by", f"{column!r} of type {dtype}", advice)
    return pl.col(column).cast(pl.String).fill_null("(none)").alias("group")
