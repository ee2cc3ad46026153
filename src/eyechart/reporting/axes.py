"""What all charts share: their width, scales with a title and a unit, and what is told of a mark."""

from collections.abc import Iterable
from typing import Any

from eyechart.reporting.drawing import Column, Drawing

WIDTH = 340


def has_values(drawing: Drawing, role: str) -> bool:
    """Tell whether any row has a value in a role; a scale of none would be endless."""
    return any(record.get(role) is not None for record in drawing.records())


def title_of(column: Column | None) -> str:
    """Name a column with its unit."""
    name = column.name if column else ""
    return f"{name} (points)" if column and column.kind == "points" else name


def make_axis(drawing: Drawing, role: str, along: Iterable[str], *, whole: bool = True) -> dict[str, Any]:
    """Scale an axis: shares of something over the whole 0 to 100, differences and anything else over their values."""
    import altair as alt

    column = drawing.column(role)
    known = [row[name] for row in drawing.records() for name in along if isinstance(row.get(name), int | float)]
    part = column is not None and column.kind == "points" and drawing.kind != "intervals"
    full = part and min(known, default=0) >= 0 and max(known, default=0) <= 100
    scale = alt.Scale(domain=[0, 100], nice=False) if full else alt.Scale(zero=whole)
    return {"scale": scale, "title": title_of(column), "axis": alt.Axis(tickCount=5)}


def tell_all(drawing: Drawing) -> list[Any]:
    """Say everything about a mark when it is pointed at."""
    import altair as alt

    formats = {"points": ",.1f", "number": ",.4~r", "ratio": ",.4~r", "count": ","}
    return [
        alt.Tooltip(f"{column.role}:Q", title=title_of(column), format=formats[column.kind])
        if column.kind in formats
        else alt.Tooltip(f"{column.role}:N", title=column.name)
        for column in drawing.columns
        if column.role
    ]
