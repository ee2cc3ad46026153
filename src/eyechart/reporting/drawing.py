"""Prepare a view for drawing: select the few rows and columns to show, as plain values."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from eyechart.data.result import Result, Unit, View, ViewKind

ColumnKind = Literal["text"] | Unit
DrawingKind = ViewKind | Literal["intervals"]  # intervals: differences around 0

MOST_ROWS = 60  # a page is for reading; the run folder has the whole tables
MOST_CELLS = 400  # of a matrix
MOST_POINTS = 2000
BINS = 20
SMALLEST = 0.001  # closer to 0 than this, only a bound is written
VALUE_ROLES: dict[DrawingKind, tuple[str, ...]] = {
    "bars": ("x",),
    "intervals": ("x",),
    "histogram": ("x",),
    "lines": ("y",),
    "matrix": ("color",),
    "scatter": ("x", "y"),
    "table": ("x",),
    "gallery": ("x",),
}
INTERVAL_ROLES = ("low", "high")
RANKED = ("measures", "rows")  # stored by key; an audit's own tables are in the order it chose


@dataclass(frozen=True)
class DrawingColumn:
    """One column to show: its name, its role in the drawing, and how to format its values."""

    name: str
    role: str | None
    kind: ColumnKind


@dataclass(frozen=True)
class Drawing:
    """A view with its data: everything needed to draw it or to lay it out as a table."""

    title: str
    reading: str
    kind: DrawingKind
    table: str
    columns: tuple[DrawingColumn, ...]
    rows: tuple[tuple[Any, ...], ...]
    left_out: int = 0  # rows of the table beyond the ones above
    names: tuple[str, ...] = ()  # of colours, where several drawings share them

    def column(self, role: str) -> DrawingColumn | None:
        """Find the column with a role."""
        return next((column for column in self.columns if column.role == role), None)

    def records(self) -> list[dict[str, Any]]:
        """List the rows as values by role, multiplying those in points by a hundred."""
        scales = [100 if column.kind == "points" else 1 for column in self.columns]
        roles = [column.role or column.name for column in self.columns]
        return [
            {
                role: value if scale == 1 or value is None else value * scale
                for role, scale, value in zip(roles, scales, row, strict=True)
            }
            for row in self.rows
        ]


class _Selection(NamedTuple):
    """The rows to show, with the column of each role and the units of columns."""

    kind: ViewKind
    table: pl.DataFrame
    roles: Mapping[str, str]
    units: Mapping[str, Unit]
    left_out: int


def prepare(result: Result, view: View) -> Drawing:
    """Select, sort and thin out the rows that a view of a result draws."""
    return prepare_table(result.table(view.table), view)


def prepare_table(table: pl.DataFrame, view: View) -> Drawing:
    """Do the same with a table that is in no result."""
    wanted = (pl.col(name).cast(pl.String).eq_missing(pl.lit(value, pl.String)) for name, value in view.where.items())
    shown = _arrange(table.filter(pl.lit(value=True), *wanted), view)
    columns = tuple(_columns(shown))
    rows = tuple(tuple(plain(row[column.name]) for column in columns) for row in shown.table.iter_rows(named=True))
    return Drawing(view.title, view.reading, shown.kind, view.table, columns, rows, shown.left_out)


def plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Convert a value of a table to one that JSON can hold; numbers that are not finite become None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | pl.Series):
        return [plain(part) for part in value]
    return value if value is None or isinstance(value, str | int) else str(value)


def format_value(value: object, kind: ColumnKind) -> str:
    """Format a value of a column, with shares as percentages and None as a dash."""
    if value is None:
        return "-"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value * 100:z.1f}" if kind == "points" else _format_number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {format_value(part, kind)}" for key, part in value.items())
    return ", ".join(format_value(part, kind) for part in value) if isinstance(value, list) else str(value)


def format_name(value: object) -> str:
    """Format a value that is a name."""
    return format_value(value, "text")


def _format_number(value: float) -> str:
    if 0 < abs(value) < SMALLEST:
        return f"< {SMALLEST}" if value > 0 else f"> -{SMALLEST}"
    return f"{value:z,.3f}"


def _arrange(table: pl.DataFrame, view: View) -> _Selection:
    roles, units = view.columns, _units(table, view)
    if view.kind == "histogram" and {"x", "to", "n"} <= roles.keys():
        return _Selection(view.kind, table, roles, units, 0)
    if view.kind == "histogram" and "x" in roles:
        numeric = table.schema[roles["x"]].is_numeric()
        return _binned(table, roles, units.get(roles["x"])) if numeric else _counted(table, roles)
    if view.kind == "bars" and view.table in RANKED:
        table = _ranked(table, roles)
    if view.kind == "scatter":
        kept = table.gather_every(max(1, math.ceil(table.height / MOST_POINTS)))
    else:
        kept = table.head(MOST_CELLS if view.kind == "matrix" else MOST_ROWS)
    return _Selection(view.kind, kept, roles, units, table.height - kept.height)


def _units(table: pl.DataFrame, view: View) -> Mapping[str, Unit]:
    """Return the units of columns: those the view declares, or for measures the one that all rows share."""
    if view.table != "measures":
        return view.units
    units = table["unit"].unique().to_list()
    return dict.fromkeys(("value", *INTERVAL_ROLES), units[0]) if len(units) == 1 else {}


def _ranked(table: pl.DataFrame, roles: Mapping[str, str]) -> pl.DataFrame:
    """Sort bars by the number of examples, else by length, in descending order; names break ties."""
    order = [(roles[role], role in ("n", "x")) for role in ("n", "x", "y", "color") if role in roles]
    if not order:
        return table
    return table.sort([name for name, _ in order], descending=[down for _, down in order], nulls_last=True)


def _binned(table: pl.DataFrame, roles: Mapping[str, str], unit: Unit | None) -> _Selection:
    """Count values in equal bins, so that a page never contains one row per example."""
    value, color = pl.col(roles["x"]), roles.get("color")
    group = pl.col(color).cast(pl.String).alias("group") if color else pl.lit(None, pl.String).alias("group")
    known = table.filter(value.cast(pl.Float64).is_finite().fill_null(value=False)).select(value.alias("x"), group)
    counts = [_count_bins(part, _edges(known["x"], unit)) for part in known.partition_by("group")]
    if not counts:
        return _Selection("histogram", table.select(value).clear(), {"x": roles["x"]}, {}, table.height)
    names = {"x": f"{roles['x']} from", "to": f"{roles['x']} to", "n": "count"} | ({"color": color} if color else {})
    binned = pl.concat(counts).sort("color", "x", nulls_last=True)
    units: dict[str, Unit] = {} if unit is None else dict.fromkeys((names["x"], names["to"]), unit)
    return _Selection("histogram", binned.select(*names).rename(names), names, units, table.height - known.height)


def _counted(table: pl.DataFrame, roles: Mapping[str, str]) -> _Selection:
    """Count each text, the most frequent first: texts have no bins, so their histogram becomes bars."""
    shown = {"y": roles["x"], "x": "count"} | ({"color": roles["color"]} if "color" in roles else {})
    by = list(dict.fromkeys(name for name in shown.values() if name != "count"))
    counted = table.drop_nulls(roles["x"]).group_by(by).agg(pl.len().cast(pl.Int64).alias("count"))
    kept = _ranked(counted, shown).head(MOST_ROWS)
    return _Selection("bars", kept, shown, {}, counted.height - kept.height)


def _edges(values: pl.Series, unit: Unit | None) -> np.ndarray:
    """Choose bins: over the whole range of a share, one per integer if they are few, else equal parts."""
    low, high = float(values.cast(pl.Float64).min()), float(values.cast(pl.Float64).max())  # type: ignore[arg-type]
    if unit == "points" and low >= -1 and high <= 1:
        return np.linspace(0 if low >= 0 else -1, 1, BINS + 1)
    if values.dtype.is_integer() and high - low < BINS:
        return np.arange(low - 0.5, high + 1)
    return np.histogram_bin_edges([low, high], BINS)


def _count_bins(part: pl.DataFrame, edges: np.ndarray) -> pl.DataFrame:
    n, _ = np.histogram(part["x"].to_numpy().astype(float), edges)
    table = pl.DataFrame({"x": edges[:-1], "to": edges[1:], "n": n.astype(np.int64)})
    return table.with_columns(pl.lit(part["group"][0], pl.String).alias("color"))


def _columns(shown: _Selection) -> Iterator[DrawingColumn]:
    named = shown.roles.items() if shown.roles else ((None, name) for name in shown.table.columns)
    for role, name in named:
        yield DrawingColumn(name, role, _kind(shown.table.schema[name], shown.units.get(name)))


def _kind(dtype: pl.DataType, unit: Unit | None) -> ColumnKind:
    if not dtype.is_numeric():
        return "text"
    return unit or ("count" if dtype.is_integer() else "number")
