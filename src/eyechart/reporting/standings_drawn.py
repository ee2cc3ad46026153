"""Drawings of models side by side: values, differences to the base, and differences by group."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from eyechart.reporting.comparing import order_of
from eyechart.reporting.drawing import Column, ColumnKind, Drawing, DrawingKind, plain
from eyechart.reporting.grid import say_chance
from eyechart.result import Better

MOST_CONDITIONS = 4  # of one measure that are drawn; the table has all


class Chosen(NamedTuple):
    """The measure that is drawn."""

    name: str
    condition: str | None


def draw_standings(table: pl.DataFrame, headline: Chosen, base: str, models: tuple[str, ...]) -> Iterator[Drawing]:
    """Draw a measure: over all examples, the chosen condition first and then others, and by group."""
    of = table.filter(pl.col("name") == headline.name)
    others = tuple(model for model in models if model != base)
    whole = of.filter(pl.col("by").is_null())
    conditions = dict.fromkeys([headline.condition, *whole["condition"]])
    for condition in list(conditions)[:MOST_CONDITIONS]:
        part = whole.filter(_under(condition))
        named = headline.name if condition in (None, "plain") else f"{headline.name} under {condition}"
        yield _values(part, named, headline.name)
        if part["delta"].is_not_null().any():
            yield _differences(part, f"{named}: difference to {base}")
    same = of.filter(
        pl.col("condition").eq_missing(pl.lit(headline.condition, pl.String)), pl.col("delta").is_not_null()
    )
    for column in same["by"].drop_nulls().unique(maintain_order=True):
        title = f"{headline.name} by {column}: difference to {base}"
        yield _by_group(same.filter(pl.col("by") == column), title, others)


def _under(condition: str | None) -> pl.Expr:
    return pl.col("condition").eq_missing(pl.lit(condition, pl.String))


def best_first(part: pl.DataFrame) -> pl.DataFrame:
    """Order models by rank, those without by their values."""
    return part.sort("rank", "value", descending=[False, better_of(part) != "lower"], nulls_last=True)


def better_of(part: pl.DataFrame) -> Better:
    """Tell which way is better by a measure."""
    better: Better = part["better"][0] if part.height else "neither"
    return better


def _values(part: pl.DataFrame, title: str, measure: str) -> Drawing:
    kind = _kind(part)
    columns = (
        Column("model", "y", "text"),
        Column(measure, "x", kind),
        Column("low", "low", kind),
        Column("high", "high", kind),
        Column("n", "n", "count"),
        Column("samples led", "label", "text"),
    )
    label = pl.when(pl.col("rank").is_not_null()).then(pl.format("leads in {} %", _points("first")))
    reading = f"{order_of(better_of(part))} Whiskers are the interval of each model alone; differences are below."
    rows = best_first(part).select("model", "value", "low", "high", "n", label.alias("samples led"))
    return _drawing(title, reading, "bars", columns, rows)


def _differences(part: pl.DataFrame, title: str) -> Drawing:
    reading = "On the same examples, model minus base. A full point has an interval without 0."
    shown = part.filter(pl.col("delta").is_not_null()).sort("delta", descending=better_of(part) != "lower")
    columns = (Column("model", "y", "text"), *_difference_columns(part))
    return _drawing(title, reading, "intervals", columns, _difference_rows(shown, "model"))


def _by_group(part: pl.DataFrame, title: str, models: tuple[str, ...]) -> Drawing:
    reading = "On the same examples of each group, model minus base. A full point has an interval without 0."
    columns = (Column("group", "y", "text"), *_difference_columns(part))
    if part["model"].n_unique() == 1:
        return _drawing(title, reading, "intervals", columns, _difference_rows(part, "group"))
    colored = (*columns, Column("model", "color", "text"))
    return replace(
        _drawing(title, reading, "intervals", colored, _difference_rows(part, "group", "model")), names=models
    )


def _difference_columns(part: pl.DataFrame) -> tuple[Column, ...]:
    kind = _kind(part)
    ends = (Column("low", "low", kind), Column("high", "high", kind))
    return (Column("difference", "x", kind), *ends, Column("n", "n", "count"), Column("q", "label", "text"))


def _difference_rows(part: pl.DataFrame, name: str, *more: str) -> pl.DataFrame:
    chance = pl.Series("q", [f"q {say_chance(value)}" for value in part["q"]], dtype=pl.String)
    return part.select(name, "delta", "delta_low", "delta_high", "common", chance, *more)


def _drawing(title: str, reading: str, kind: DrawingKind, columns: tuple[Column, ...], rows: pl.DataFrame) -> Drawing:
    plainly = tuple(tuple(plain(value) for value in row) for row in rows.iter_rows())
    return Drawing(title, reading, kind, "summary", columns, plainly)


def _kind(part: pl.DataFrame) -> ColumnKind:
    kind: ColumnKind = part["unit"][0] if part.height else "number"
    return kind


def _points(column: str) -> pl.Expr:
    return (100 * pl.col(column)).round(0).cast(pl.Int64, strict=False)
