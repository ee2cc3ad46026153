"""Prepare the charts of models side by side: values, differences from the base, and differences by group."""

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from eyechart.data.result import Better, Key
from eyechart.reporting.comparison_table import order_sentence
from eyechart.reporting.drawing import ColumnKind, Drawing, DrawingColumn, DrawingKind, plain
from eyechart.reporting.grid import format_p

MOST_CONDITIONS = 4  # of one measure to draw; the table has all


def draw_standings(table: pl.DataFrame, headline: Key, base: str, models: tuple[str, ...]) -> Iterator[Drawing]:
    """Draw a measure over all examples, under the chosen condition and then others, and by group."""
    rows = table.filter(pl.col("name") == headline.name)
    others = tuple(model for model in models if model != base)
    whole = rows.filter(pl.col("by").is_null())
    conditions = dict.fromkeys([headline.condition, *whole["condition"]])
    for condition in list(conditions)[:MOST_CONDITIONS]:
        part = whole.filter(is_under(condition))
        title = headline.name if condition in (None, "plain") else f"{headline.name} under {condition}"
        yield _values(part, title, headline.name)
        if part["delta"].is_not_null().any():
            yield _differences(part, f"{title}: difference from {base}")
    same = rows.filter(is_under(headline.condition), pl.col("delta").is_not_null())
    for column in same["by"].drop_nulls().unique(maintain_order=True):
        title = f"{headline.name} by {column}: difference from {base}"
        yield _by_group(same.filter(pl.col("by") == column), title, others)


def is_under(condition: str | None) -> pl.Expr:
    """Select the rows of one condition, or those without any."""
    return pl.col("condition").eq_missing(pl.lit(condition, pl.String))


def best_first(part: pl.DataFrame) -> pl.DataFrame:
    """Sort models by rank, and those without a rank by value."""
    return part.sort("rank", "value", descending=[False, better_of(part) != "lower"], nulls_last=True)


def better_of(part: pl.DataFrame) -> Better:
    """Return the better direction of a measure."""
    better: Better = part["better"][0] if part.height else "neither"
    return better


def _values(part: pl.DataFrame, title: str, measure: str) -> Drawing:
    kind = _kind(part)
    columns = (
        DrawingColumn("model", "y", "text"),
        DrawingColumn(measure, "x", kind),
        DrawingColumn("low", "low", kind),
        DrawingColumn("high", "high", kind),
        DrawingColumn("n", "n", "count"),
        DrawingColumn("samples led", "label", "text"),
    )
    label = pl.when(pl.col("rank").is_not_null()).then(pl.format("leads in {} %", _points("first")))
    reading = (
        f"{order_sentence(better_of(part))} Whiskers show the interval of each model on its own; differences are below."
    )
    rows = best_first(part).select("model", "value", "low", "high", "n", label.alias("samples led"))
    return _drawing(title, reading, "bars", columns, rows)


def _differences(part: pl.DataFrame, title: str) -> Drawing:
    reading = "Model minus base, on the same examples. A filled point has an interval that excludes 0."
    shown = part.filter(pl.col("delta").is_not_null()).sort("delta", descending=better_of(part) != "lower")
    columns = (DrawingColumn("model", "y", "text"), *_difference_columns(part))
    return _drawing(title, reading, "intervals", columns, _difference_rows(shown, "model"))


def _by_group(part: pl.DataFrame, title: str, models: tuple[str, ...]) -> Drawing:
    reading = "Model minus base, on the same examples of each group. A filled point has an interval that excludes 0."
    columns = (DrawingColumn("group", "y", "text"), *_difference_columns(part))
    if part["model"].n_unique() == 1:
        return _drawing(title, reading, "intervals", columns, _difference_rows(part, "group"))
    colored = (*columns, DrawingColumn("model", "color", "text"))
    return replace(
        _drawing(title, reading, "intervals", colored, _difference_rows(part, "group", "model")), names=models
    )


def _difference_columns(part: pl.DataFrame) -> tuple[DrawingColumn, ...]:
    kind = _kind(part)
    ends = (DrawingColumn("low", "low", kind), DrawingColumn("high", "high", kind))
    return (
        DrawingColumn("difference", "x", kind),
        *ends,
        DrawingColumn("n", "n", "count"),
        DrawingColumn("q", "label", "text"),
    )


def _difference_rows(part: pl.DataFrame, name: str, *more: str) -> pl.DataFrame:
    chance = pl.Series("q", [f"q {format_p(value)}" for value in part["q"]], dtype=pl.String)
    return part.select(name, "delta", "delta_low", "delta_high", "common", chance, *more)


def _drawing(
    title: str, reading: str, kind: DrawingKind, columns: tuple[DrawingColumn, ...], rows: pl.DataFrame
) -> Drawing:
    plain_rows = tuple(tuple(plain(value) for value in row) for row in rows.iter_rows())
    return Drawing(title, reading, kind, "summary", columns, plain_rows)


def _kind(part: pl.DataFrame) -> ColumnKind:
    kind: ColumnKind = part["unit"][0] if part.height else "number"
    return kind


def _points(column: str) -> pl.Expr:
    return (100 * pl.col(column)).round(0).cast(pl.Int64, strict=False)
