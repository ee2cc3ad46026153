"""Draw still and interactive charts with Altair, by the roles of columns and never by an audit's column names.

A chart is a Vega-Lite specification with its data inside, and the SVG made from it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from eyechart.reporting.chart_style import (
    AGAINST,
    INK,
    MARK,
    PAPER,
    SOFT,
    WIDTH,
    Chart,
    Records,
    axis_title,
    chart_config,
    color,
    color_bars,
    few_colors,
    has_values,
    make_axis,
    make_tooltips,
    relabel,
    shorten,
)
from eyechart.reporting.drawing import VALUE_ROLES, Drawing, DrawingColumn, DrawingKind, format_name
from eyechart.reporting.palette import NO_LOOKS, Palette

MOST_BARS = 30


def draw_bars(drawing: Drawing, palette: Palette) -> Chart:
    """Draw values as bars from 0, each with its interval and, if known, the chance level."""
    import altair as alt

    rows = _labelled(_together(drawing.records()[:MOST_BARS]), drawing)
    base = alt.Chart().encode(y=alt.Y("line:O", axis=None), tooltip=make_tooltips(drawing))
    axis = make_axis(drawing, "x", ("x", "low", "high", "chance"))
    # Clip intervals at the edge of the scale, so that they are not drawn over the names.
    layers = [base.mark_bar(clip=True, size=15).encode(x=alt.X("x:Q", **axis), **color_bars(drawing, rows, palette))]
    # On a bar of any colour a line only shows up with an edge in the colour of the page.
    if has_values(drawing, "chance"):
        ticks = (base.mark_tick(size=24, opacity=1, color=c, thickness=w) for c, w in ((PAPER, 5), (AGAINST, 2.5)))
        layers += [tick.encode(x=alt.X("chance:Q", **axis)) for tick in ticks]
    if has_values(drawing, "low") and has_values(drawing, "high"):
        rules = (base.mark_rule(clip=True, color=c, strokeWidth=w) for c, w in ((PAPER, 4), (INK, 1.4)))
        layers += [rule.encode(x=alt.X("low:Q", **axis), x2=alt.X2("high:Q")) for rule in rules]
    return _over(rows, *layers, *_side_texts(base), width=WIDTH, height=alt.Step(26), padding=_room(rows))


def draw_intervals(drawing: Drawing, palette: Palette) -> Chart:
    """Draw differences around 0, with filled points where the interval excludes 0."""
    import altair as alt

    rows = _labelled(_together(drawing.records()[:MOST_BARS]), drawing)
    for row in rows:
        row["sure"] = _excludes_zero(row)
    axis = make_axis(drawing, "x", ("x", "low", "high"))
    base = alt.Chart().encode(y=alt.Y("line:O", axis=None), tooltip=make_tooltips(drawing))
    zero = alt.Chart(alt.InlineData(values=[{"x": 0}])).mark_rule(color=SOFT, strokeWidth=1).encode(x=alt.X("x:Q"))
    colored = color(drawing, rows, palette)
    whisker = base.mark_rule(strokeWidth=2.2).encode(x=alt.X("low:Q", **axis), x2=alt.X2("high:Q"), **colored)
    dots = base.mark_circle(size=80, opacity=1).encode(x=alt.X("x:Q", **axis), **colored)
    opacity = alt.OpacityValue(1, condition={"test": "datum.sure", "value": 0})
    holes = base.mark_circle(size=26, color=PAPER).encode(x=alt.X("x:Q", **axis), opacity=opacity)
    layers = (zero, whisker, dots, holes, *_side_texts(base))
    return _over(rows, *layers, width=WIDTH, height=alt.Step(26), padding=_room(rows))


def _over(rows: Records, *layers: Chart, **properties: Any) -> Chart:  # noqa: ANN401 - of any chart
    """Lay charts over each other; the data come last, since Altair copies them with every chart made from another."""
    import altair as alt

    return alt.layer(*layers, data=alt.InlineData(values=rows), **properties)


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
        row["line"] = index
        row["name"] = "" if "color" in row and before.get("y", row) == row["y"] else names[format_name(row["y"])]
        row["text"] = _label(row, drawing, colors)
    return rows


def _side_texts(base: Chart) -> tuple[Chart, Chart]:
    """Write names to the left of the marks and numbers to the right."""
    import altair as alt

    left, right = (alt.XValue(x) for x in (-10, WIDTH + 12))  # type: ignore[no-untyped-call]
    names = base.mark_text(align="right", color=INK).encode(x=left, text=alt.Text("name:N"))
    numbers = base.mark_text(align="left", color=SOFT, limit=460)
    return names, numbers.encode(x=right, text=alt.Text("text:N"))


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
    left, right = (max(len(row[side]) for row in rows) for side in ("name", "text"))
    return {"left": 4 + 1.2 * left, "right": 4 + 1.2 * min(right, 72), "top": 4, "bottom": 4}


def _number(value: float | None, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:z.{digits}f}"


BARRED = ("bars", "intervals")  # drawn with one line per row
MOST_LABELS = 15


def drawable(drawing: Drawing) -> bool:
    """Return whether a drawing can become a chart; others become tables."""
    kinds = {column.role: column.kind for column in drawing.columns}
    needed, numbers = NEEDED.get(drawing.kind, ("?",)), VALUE_ROLES[drawing.kind]
    fits = kinds.keys() >= set(needed) and all(kinds[role] != "text" for role in numbers)
    return fits and all(has_values(drawing, role) for role in numbers)


def make_spec(drawing: Drawing, palette: Palette = NO_LOOKS) -> dict[str, Any]:
    """Build the Vega-Lite specification of a chart, including its data.

    Altair takes longer to hold it against the schema of Vega-Lite than to build it; a test does that for every kind.
    """
    import altair as alt

    chart = CHARTS[drawing.kind](drawing, palette)
    chart.config = alt.Config(**chart_config())  # `configure` would copy the data
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return spec


def caption(drawing: Drawing) -> str:
    """Say which rows of the table are missing from the drawing."""
    kept, whole = len(drawing.rows), len(drawing.rows) + drawing.left_out
    if drawing.kind == "histogram":
        return f"{drawing.left_out:,} rows without a value are not drawn." if drawing.left_out else ""
    if drawing.kind == "scatter" and drawing.left_out:
        return f"Showing {kept:,} of {whole:,} points, evenly spaced in the table."
    drawn = _drawn(drawing)
    if drawn == kept:
        return f"Showing the first {kept:,} of {whole:,} rows." if kept < whole else ""
    all_listed = kept == whole or drawing.table == "measures"
    rest = "are in the table" if all_listed else f"are not drawn (the table has the first {kept:,})"
    return f"Showing the first {drawn:,}; {whole - drawn:,} more {rest}."


def _histogram(drawing: Drawing, palette: Palette) -> Chart:
    import altair as alt

    axis = make_axis(drawing, "x", ("x", "to"), whole=False) | {"title": _binned(drawing.column("x"))}
    bins = alt.X("left:Q", bin="binned", **axis)
    counts = alt.Y("n:Q", title="count", stack=None, axis=alt.Axis(tickCount=4))
    rows = _side_by_side(few_colors(drawing.records()))
    chart = alt.Chart(alt.InlineData(values=rows)).mark_bar(binSpacing=1, stroke=None)
    ends = {"x": bins, "x2": alt.X2("right:Q")}
    bars = chart.encode(**ends, y=counts, tooltip=make_tooltips(drawing), **color(drawing, rows, palette))
    return bars.properties(width=WIDTH + 200, height=180)


def _side_by_side(rows: Records) -> Records:
    """Divide every bin among the colours, so that all bars start at 0 and none hides another."""
    colors = list(dict.fromkeys(row.get("color") for row in rows))
    for row in rows:
        index, width = colors.index(row.get("color")), (row["to"] - row["x"]) / len(colors)
        row["left"], row["right"] = row["x"] + index * width, row["x"] + (index + 1) * width
    return rows


def _lines(drawing: Drawing, palette: Palette) -> Chart:
    import altair as alt

    rows = few_colors(drawing.records())
    numeric = all(isinstance(row["x"], int | float) for row in rows)
    plain = alt.Axis(grid=False, tickCount=6, labelAngle=0)
    x = alt.X(f"x:{'Q' if numeric else 'O'}", title=axis_title(drawing.column("x")), sort=None, axis=plain)
    if numeric:
        x = x.scale(zero=False, nice=False, padding=8)
    axis = make_axis(drawing, "y", ("y", "low", "high"))
    base = alt.Chart().encode(x=x, tooltip=make_tooltips(drawing), **color(drawing, rows, palette))
    layers = []
    if has_values(drawing, "low") and has_values(drawing, "high"):
        layers.append(base.mark_area(opacity=0.18).encode(y=alt.Y("low:Q", **axis), y2=alt.Y2("high:Q")))
    line = base.mark_line(point=alt.OverlayMarkDef(filled=True, size=42), strokeWidth=2)
    layers.append(line.encode(y=alt.Y("y:Q", **axis)))
    return _over(rows, *layers, width=WIDTH + 200, height=240)


def _matrix(drawing: Drawing, _palette: Palette) -> Chart:
    import altair as alt

    value = drawing.column("color")
    in_points = value is not None and value.kind == "points"
    rows = _corner(drawing)
    for row in rows:
        number = isinstance(row["color"], int | float)
        row["depth"], row["below"] = (abs(row["color"]), row["color"] < 0) if number else (None, False)
        row["text"] = f"{row['color']:z.1f}" if number and in_points else format_name(row["color"])
    x_labels, y_labels = (relabel(format_name(row[role]) for row in rows) for role in ("x", "y"))
    top = alt.Axis(orient="top", labelAngle=-35, **x_labels)
    x = alt.X("x:N", title=axis_title(drawing.column("x")), sort=None, axis=top)
    y = alt.Y("y:N", title=axis_title(drawing.column("y")), sort=None, axis=alt.Axis(**y_labels))
    base = alt.Chart().encode(x=x, y=y, tooltip=make_tooltips(drawing))
    # Depth by opacity, not by a colour ramp: it works on any background, with the number on top.
    depth = alt.Opacity("depth:Q", scale=alt.Scale(range=[0.06, 0.6]), legend=None)
    side = alt.ColorValue(MARK, condition={"test": "datum.below", "value": AGAINST})
    cells = base.mark_rect().encode(opacity=depth, color=side)
    numbers = base.mark_text(color=INK).encode(text=alt.Text("text:N"))
    return _over(rows, cells, numbers, width=alt.Step(62), height=alt.Step(30))


def _scatter(drawing: Drawing, palette: Palette) -> Chart:
    import altair as alt

    rows = few_colors(drawing.records())
    x, y = (make_axis(drawing, role, (role,), whole=False) for role in ("x", "y"))
    for axis in (x, y):
        axis["scale"].padding = 10  # so that points at the edges are whole
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y))
    dots = base.mark_circle(size=46, opacity=0.65).encode(
        tooltip=make_tooltips(drawing), **color(drawing, rows, palette)
    )
    if drawing.column("label") and len(rows) <= MOST_LABELS:
        known = [row["x"] for row in rows if row["x"] is not None]
        dots += _labels_within(base, x["scale"].to_dict().get("domain", (min(known), max(known))))
    # Allows panning and zooming on an interactive page; the still picture is the same.
    return dots.properties(width=WIDTH + 200, height=300).interactive()


def _labels_within(base: Chart, ends: tuple[float, float]) -> Chart:
    """Write labels on the inner side of their points, where there is room."""
    import altair as alt

    words, middle = base.encode(text=alt.Text("label:N")), sum(ends) / 2
    right = words.mark_text(align="left", dx=8, color=INK, limit=160).transform_filter(f"datum.x <= {middle}")
    return right + words.mark_text(align="right", dx=-8, color=INK, limit=160).transform_filter(f"datum.x > {middle}")


CHARTS: dict[DrawingKind, Callable[[Drawing, Palette], Chart]] = {
    "bars": draw_bars,
    "histogram": _histogram,
    "intervals": draw_intervals,
    "lines": _lines,
    "matrix": _matrix,
    "scatter": _scatter,
}
NEEDED: dict[DrawingKind, tuple[str, ...]] = {
    "bars": ("x", "y"),
    "histogram": ("x", "to", "n"),
    "intervals": ("x", "y", "low", "high"),
    "lines": ("x", "y"),
    "matrix": ("x", "y", "color"),
    "scatter": ("x", "y"),
}


def _drawn(drawing: Drawing) -> int:
    """Count the rows that the chart shows."""
    if drawable(drawing) and drawing.kind == "matrix":
        return len(_corner(drawing))
    return min(MOST_BARS, len(drawing.rows)) if drawable(drawing) and drawing.kind in BARRED else len(drawing.rows)


def _corner(drawing: Drawing) -> Records:
    """Keep the first rows and columns of a large matrix."""
    rows = drawing.records()
    sides = [list(dict.fromkeys(row[role] for row in rows))[:MOST_BARS] for role in ("x", "y")]
    return [row for row in rows if row["x"] in sides[0] and row["y"] in sides[1]]


def _binned(column: DrawingColumn | None) -> str:
    """Return the axis title for bins, whose column is named after where each begins."""
    if column is None:
        return ""
    name = column.name.removesuffix("from").rstrip()
    return axis_title(replace(column, name=name)) if name else "points" if column.kind == "points" else ""
