"""Turn estimates into rows of the measures table, the same way in every audit."""

from typing import TypedDict

import polars as pl

from eyechart.audits.keyed import means_by_key, scores
from eyechart.dataset import NOT_JUDGED, Dataset, Parts
from eyechart.engines.local import Local
from eyechart.errors import SettingError
from eyechart.predictions import Answered
from eyechart.probes import OWN
from eyechart.protocols import Engine
from eyechart.result import Better, Measure, Unit
from eyechart.statistics import Difference, Estimate
from eyechart.tables import COUNTS, MEASURES, empty


class Said(TypedDict):
    """What several measures of an audit have in common, to be handed to `measured`."""

    condition: str
    score: str
    better: Better


def count_references(data: Dataset, parts: Parts) -> pl.DataFrame:
    """Count the judged examples, those without a reference answer, and those of no part."""
    lacking = int(parts.judge.examples["answer"].null_count())
    rows = [
        (None, "judged", None, parts.judge.height - lacking),
        (None, "left out", "no reference answer", lacking),
        (None, "left out", "in another split", count_apart(data, parts)),
    ]
    return pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row").filter(pl.col("n") > 0)


def count_apart(data: Dataset, parts: Parts) -> int:
    """Count the examples that are neither learned from nor judged."""
    return data.height - parts.learn.height - parts.judge.height


def score_rows(answered: Answered, how: str, *kept: str, engine: Engine | None = None) -> pl.DataFrame:
    """Score every draw and average over the draws of an example, keeping its id, cluster and further columns."""
    found = scores(answered.table, how, engine or Local())
    scored = answered.table.with_columns(found.alias("accuracy")).drop_nulls("accuracy")
    return scored.group_by("id", "cluster", *kept, maintain_order=True).agg(pl.col("accuracy").mean())


def count_unscored(answered: Answered, rows: pl.DataFrame) -> pl.DataFrame:
    """Give the usable answers that the score does not apply to, as a word where it wants a number, their own count."""
    lost = answered.table.join(rows, on="id", how="anti").unique("id", keep="first", maintain_order=True)
    by_status = lost.group_by("status").agg(pl.len().cast(pl.Int64).alias("lost"))
    left = answered.counts.join(by_status, on="status", how="left", validate="m:1").select(
        "condition", "status", "reason", pl.col("n") - pl.col("lost").fill_null(0)
    )
    row = (OWN, "unscored", "the score does not apply to this answer", lost.height)
    unscored = pl.DataFrame([row], schema=left.schema, orient="row")
    return pl.concat([left, unscored]).filter(pl.col("n") > 0).sort("status")


def measured(
    name: str,
    found: Estimate | Difference,
    *,
    of: str | None,
    condition: str,
    score: str,
    unit: Unit = "points",
    better: Better,
) -> Measure:
    """Name an estimate and say which way is better; a difference brings its p-value along."""
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


def measured_by(data: Dataset, rows: pl.DataFrame, like: Measure, column: str, engine: Engine) -> pl.DataFrame:
    """Measure what `like` measures for every group of a column of the examples.

    Of a column that another study lends, only the examples that both judged count.
    """
    groups = data.scan(column).select("id", _group_name(data, column)).collect()
    grouped = rows.join(
        groups.filter(pl.col("group") != NOT_JUDGED), on="id", how="inner", validate="1:1", maintain_order="left"
    )
    found = means_by_key(grouped, str(like.of), ["group"], engine)
    constant = {"name": like.name, "of": like.of, "condition": like.condition, "by": column, "score": like.score}
    filled = found.with_columns(
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
