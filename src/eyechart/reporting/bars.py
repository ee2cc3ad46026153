"""Draw bars, and differences around 0: one line for each row, with names to the left and numbers to the right."""

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
    """Draw values from 0 on, each with its interval and, where it is known, the chance of a guess."""
    import altair as alt

    rows = _labelled(_together(drawing.records()[:MOST_BARS]), drawing)
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=alt.Y("at:O", axis=None), tooltip=make_tooltips(drawing))
    axis = make_axis(drawing, "x", ("x", "low", "high", "chance"))
    # Past the edge of the scale an interval is cut, not drawn over the names.
    layers = [base.mark_bar(clip=True, size=15).encode(x=alt.X("x:Q", **axis), **color_bars(drawing, rows, palette))]
    # Over a bar of any colour a line is only seen with an edge of the colour of the page.
    if has_values(drawing, "chance"):
        ticks = (base.mark_tick(size=24, opacity=1, color=c, thickness=w) for c, w in ((PAPER, 5), (AGAINST, 2.5)))
        layers += [tick.encode(x=alt.X("chance:Q", **axis)) for tick in ticks]
    if has_values(drawing, "low") and has_values(drawing, "high"):
        rules = (base.mark_rule(clip=True, color=c, strokeWidth=w) for c, w in ((PAPER, 4), (INK, 1.4)))
        layers += [rule.encode(x=alt.X("low:Q", **axis), x2="high:Q") for rule in rules]
    return alt.layer(*layers, *_words_beside(base)).properties(width=WIDTH, height=alt.Step(26), padding=_room(rows))


def draw_intervals(drawing: Drawing, palette: Palette) -> Chart:
    """Draw differences around 0; a point is full where the interval leaves 0 out."""
    import altair as alt

    rows = _labelled(_together(drawing.records()[:MOST_BARS]), drawing)
    for row in rows:
        row["sure"] = _leaves_out_zero(row)
    axis = make_axis(drawing, "x", ("x", "low", "high"))
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=alt.Y("at:O", axis=None), tooltip=make_tooltips(drawing))
    zero = alt.Chart(alt.InlineData(values=[{"x": 0}])).mark_rule(color=SOFT, strokeWidth=1).encode(x="x:Q")
    colored = color(drawing, rows, palette)
    whisker = base.mark_rule(strokeWidth=2.2).encode(x=alt.X("low:Q", **axis), x2="high:Q", **colored)
    dots = base.mark_circle(size=80, opacity=1).encode(x=alt.X("x:Q", **axis), **colored)
    seen = alt.condition("datum.sure", alt.value(0), alt.value(1))
    holes = base.mark_circle(size=26, color=PAPER).encode(x=alt.X("x:Q", **axis), opacity=seen)
    chart = alt.layer(zero, whisker, dots, holes, *_words_beside(base))
    return chart.properties(width=WIDTH, height=alt.Step(26), padding=_room(rows))


def _leaves_out_zero(row: dict[str, Any]) -> bool:
    low, high = row.get("low"), row.get("high")
    return low is not None and high is not None and (low > 0 or high < 0)


def _together(rows: Records) -> Records:
    """Bring the bars of one name together, in the order in which the names come first."""
    order = list(dict.fromkeys(format_name(row["y"]) for row in rows))
    return few_colors(sorted(rows, key=lambda row: order.index(format_name(row["y"]))))


def _labelled(rows: Records, drawing: Drawing) -> Records:
    """Put rows below each other, each with its numbers and its name, which stands once for those that share it."""
    names = shorten(format_name(row["y"]) for row in rows)
    colors = shorten(row["color"] for row in rows if "color" in row)
    for index, row in enumerate(rows):
        before = rows[index - 1] if index else {}
        row["at"] = index
        row["name"] = "" if "color" in row and before.get("y", row) == row["y"] else names[format_name(row["y"])]
        row["said"] = _label(row, drawing, colors)
    return rows


def _words_beside(base: Chart) -> tuple[Chart, Chart]:
    """Write names to the left of the marks and numbers to the right."""
    import altair as alt

    names = base.mark_text(align="right", color=INK).encode(x=alt.value(-10), text="name:N")
    numbers = base.mark_text(align="left", color=SOFT, limit=460).encode(x=alt.value(WIDTH + 12), text="said:N")
    return names, numbers


def _label(row: dict[str, Any], drawing: Drawing, colors: dict[str, str]) -> str:
    """Write beside a bar what it stands for: the number, its interval, n, the name of its colour, and its label."""
    digits = 1 if (column := drawing.column("x")) and column.kind == "points" else 3
    value, low, high = (_number(row.get(role), digits) for role in ("x", "low", "high"))
    value = f"+{value}" if drawing.kind == "intervals" and (row["x"] or 0) > 0 else value
    interval = f" [{low}, {high}]" if "low" in row and "high" in row else ""
    n = [f"n {row['n']:,}"] if row.get("n") is not None else []
    painted = [colors[row["color"]]] if "color" in row else []
    label = [format_name(row["label"])] if row.get("label") is not None else []
    return " · ".join([f"{value}{interval}", *n, *painted, *label])


def _room(rows: Records) -> dict[str, float]:
    """Leave room around names and numbers, for a reader's font may be wider than ours."""
    left, right = (max(len(row[side]) for row in rows) for side in ("name", "said"))
    return {"left": 4 + 1.2 * left, "right": 4 + 1.2 * min(right, 72), "top": 4, "bottom": 4}


def _number(value: float | None, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:z.{digits}f}"
