"""Turn estimates into rows of the measures table, the same way in every audit."""

import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import SettingError
from eyechart.result import Measure
from eyechart.statistics import Difference, Estimate, mean_by
from eyechart.tables import MEASURES, empty


def measured(name: str, found: Estimate | Difference, *, of: str | None, condition: str, score: str) -> Measure:
    """Name an estimate; a difference brings its p-value along."""
    p = found.p if isinstance(found, Difference) else None
    note = f"95 % interval: {found.method}"
    return Measure(
        name, found.value, found.low, found.high, found.n, found.clusters, of, condition, score=score, p=p, note=note
    )


def measured_by(data: Dataset, rows: pl.DataFrame, like: Measure, column: str) -> pl.DataFrame:
    """Measure what `like` measures for every group of a column of the examples."""
    groups = data.scan(column).select("id", _group_name(data, column)).collect()
    grouped = rows.join(groups, on="id", how="left", validate="1:1")
    found = mean_by(grouped, str(like.of), ["group"], "cluster")
    constant = {"name": like.name, "of": like.of, "condition": like.condition, "by": column, "score": like.score}
    filled = found.with_columns(
        *(pl.lit(value).alias(name) for name, value in constant.items()),
        pl.lit(like.unit).alias("unit"),
        (pl.lit("95 % interval: ") + pl.col("method")).alias("note"),
    )
    return filled.select(
        (pl.col(name) if name in filled.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in empty(MEASURES).schema.items()
    )


def _group_name(data: Dataset, column: str) -> pl.Expr:
    dtype = data.examples.schema[column]
    if dtype.is_nested():
        advice = "name a column of text or numbers"
        raise SettingError("a plain column to group by", f"{column!r} of type {dtype}", advice)
    return pl.col(column).cast(pl.String).fill_null("(none)").alias("group")
