"""Draw bars, and differences around 0: one line per row, with names on the left and numbers on the right."""

from typing import Any

from eyechart.reporting.chart_style import (
    AGAINST,
    INK,
    PAPER,
    SOFT,
    WIDTH,
    Chart,
    Records,
    color,
    color_bars,
    few_colors,
    has_values,
    make_axis,
    make_tooltips,
    shorten,
)
from eyechart.reporting.drawing import Drawing, format_name
from eyechart.reporting.palette import Palette

MOST_BARS = 30


def draw_bars(drawing: Drawing, palette: Palette) -> Chart:
    """Draw values as bars from 0, each with its interval and, if known, the chance level."""
    import altair as alt

    rows = _labelled(_together(drawing.records()[:MOST_BARS]), drawing)
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=alt.Y("at:O", axis=None), tooltip=make_tooltips(drawing))
    axis = make_axis(drawing, "x", ("x", "low", "high", "chance"))
    # Clip intervals at the edge of the scale, so that they are not drawn over the names.
    layers = [base.mark_bar(clip=True, size=15).encode(x=alt.X("x:Q", **axis), **color_bars(drawing, rows, palette))]
    # On a bar of any colour a line only shows up with an edge in the colour of the page.
    if has_values(drawing, "chance"):
        ticks = (base.mark_tick(size=24, opacity=1, color=c, thickness=w) for c, w in ((PAPER, 5), (AGAINST, 2.5)))
        layers += [tick.encode(x=alt.X("chance:Q", **axis)) for tick in ticks]
    if has_values(drawing, "low") and has_values(drawing, "high"):
        rules = (base.mark_rule(clip=True, color=c, strokeWidth=w) for c, w in ((PAPER, 4), (INK, 1.4)))
        layers += [rule.encode(x=alt.X("low:Q", **axis), x2="high:Q") for rule in rules]
    return alt.layer(*layers, *_side_texts(base)).properties(width=WIDTH, height=alt.Step(26), padding=_room(rows))


def draw_intervals(drawing: Drawing, palette: Palette) -> Chart:
    """Draw differences around 0, with filled points where the interval excludes 0."""
    import altair as alt

    rows = _labelled(_together(drawing.records()[:MOST_BARS]), drawing)
    for row in rows:
        row["sure"] = _excludes_zero(row)
    axis = make_axis(drawing, "x", ("x", "low", "high"))
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=alt.Y("at:O", axis=None), tooltip=make_tooltips(drawing))
    zero = alt.Chart(alt.InlineData(values=[{"x": 0}])).mark_rule(color=SOFT, strokeWidth=1).encode(x="x:Q")
    colored = color(drawing, rows, palette)
    whisker = base.mark_rule(strokeWidth=2.2).encode(x=alt.X("low:Q", **axis), x2="high:Q", **colored)
    dots = base.mark_circle(size=80, opacity=1).encode(x=alt.X("x:Q", **axis), **colored)
    opacity = alt.condition("datum.sure", alt.value(0), alt.value(1))
    holes = base.mark_circle(size=26, color=PAPER).encode(x=alt.X("x:Q", **axis), opacity=opacity)
    chart = alt.layer(zero, whisker, dots, holes, *_side_texts(base))
    return chart.properties(width=WIDTH, height=alt.Step(26), padding=_room(rows))


def _excludes_zero(row: dict[str, Any]) -> bool:
    low, high = row.get("low"), row.get("high")
    return low is not None and high is not None and (low > 0 or high < 0)


def _together(rows: Records) -> Records:
    """Group the bars by name, in the order in which the names first occur."""
    order = list(dict.fromkeys(format_name(row["y"]) for row in rows))
    return few_colors(sorted(rows, key=lambda row: order.index(format_name(row["y"]))))


def _labelled(rows: Records, drawing: Drawing) -> Records:
    """Add to each row its position, its numbers and its name, which is written once for consecutive rows."""
    names = shorten(format_name(row["y"]) for row in rows)
    colors = shorten(row["color"] for row in rows if "color" in row)
    for index, row in enumerate(rows):
        before = rows[index - 1] if index else {}
        row["at"] = index
        row["name"] = "" if "color" in row and before.get("y", row) == row["y"] else names[format_name(row["y"])]
        row["said"] = _label(row, drawing, colors)
    return rows


def _side_texts(base: Chart) -> tuple[Chart, Chart]:
    """Write names to the left of the marks and numbers to the right."""
    import altair as alt

    names = base.mark_text(align="right", color=INK).encode(x=alt.value(-10), text="name:N")
    numbers = base.mark_text(align="left", color=SOFT, limit=460).encode(x=alt.value(WIDTH + 12), text="said:N")
    return names, numbers


def _label(row: dict[str, Any], drawing: Drawing, colors: dict[str, str]) -> str:
    """Write the text next to a bar: the value, its interval, n, the name of its colour, and its label."""
    digits = 1 if (column := drawing.column("x")) and column.kind == "points" else 3
    value, low, high = (_number(row.get(role), digits) for role in ("x", "low", "high"))
    value = f"+{value}" if drawing.kind == "intervals" and (row["x"] or 0) > 0 else value
    interval = f" [{low}, {high}]" if "low" in row and "high" in row else ""
    n = [f"n {row['n']:,}"] if row.get("n") is not None else []
    color_name = [colors[row["color"]]] if "color" in row else []
    label = [format_name(row["label"])] if row.get("label") is not None else []
    return " · ".join([f"{value}{interval}", *n, *color_name, *label])


def _room(rows: Records) -> dict[str, float]:
    """Leave some padding around names and numbers, since the reader's font may be wider than ours."""
    left, right = (max(len(row[side]) for row in rows) for side in ("name", "said"))
    return {"left": 4 + 1.2 * left, "right": 4 + 1.2 * min(right, 72), "top": 4, "bottom": 4}


def _number(value: float | None, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:z.{digits}f}"
