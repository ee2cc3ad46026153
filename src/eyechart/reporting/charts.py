"""Draw charts with Altair, to look at and to play with; all is named by roles, never by an audit's columns."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from eyechart.reporting.coloring import Chart, Records, color, color_bars, few_colors
from eyechart.reporting.drawing import VALUE_ROLES, Column, Drawing, DrawingKind, say
from eyechart.reporting.look import AGAINST, INK, MARK, PAPER, SOFT, inlined, look
from eyechart.reporting.naming import relabel, shorten

MOST_BARS = 30
BARRED = ("bars", "intervals")  # drawn as one line a row
MOST_LABELS = 15
WIDTH = 340


def drawable(drawing: Drawing) -> bool:
    """Tell whether a drawing becomes a chart; the others are tables."""
    found = {column.role: column.kind for column in drawing.columns}
    needed, numbers = NEEDED.get(drawing.kind, ("?",)), VALUE_ROLES[drawing.kind]
    fits = found.keys() >= set(needed) and all(found[role] != "text" for role in numbers)
    return fits and all(_known(drawing, role) for role in numbers)


class Drawn(NamedTuple):
    """A chart, both as a Vega-Lite specification with its data inside and as SVG text."""

    spec: dict[str, Any]
    svg: str


def draw(drawing: Drawing, mark: str = "chart") -> Drawn:
    """Draw a chart; `mark` begins every id inside, so that it must differ between the charts of one page."""
    import vl_convert

    spec: dict[str, Any] = CHARTS[drawing.kind](drawing).configure(**look()).to_dict()
    svg = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    return Drawn(spec, inlined(svg, drawing.title, mark))


def caption(drawing: Drawing) -> str:
    """Say what of the table is not in the drawing."""
    kept, whole = len(drawing.rows), len(drawing.rows) + drawing.left_out
    if drawing.kind == "histogram":
        return f"{drawing.left_out:,} rows without a value are not drawn." if drawing.left_out else ""
    if drawing.kind == "scatter" and drawing.left_out:
        return f"Drawn are {kept:,} of {whole:,} points, evenly taken."
    drawn = _drawn(drawing)
    if drawn == kept:
        return f"Shown are the first {kept:,} of {whole:,} rows." if kept < whole else ""
    listed = kept == whole or drawing.table == "measures"
    below = "they are in the table" if listed else f"the table has the first {kept:,}"
    return f"Drawn are the first {drawn:,}, and {whole - drawn:,} more are not: {below}."


def _bars(drawing: Drawing) -> Chart:
    import altair as alt

    rows = _labelled(_together(drawing.records()[:MOST_BARS]), drawing)
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=alt.Y("at:O", axis=None), tooltip=_tips(drawing))
    axis = _axis(drawing, "x", ("x", "low", "high", "chance"))
    # Past the edge of the scale an interval is cut, not drawn over the names.
    layers = [base.mark_bar(clip=True, size=15).encode(x=alt.X("x:Q", **axis), **color_bars(drawing, rows))]
    # Over a bar of any colour a line is only seen with an edge of the colour of the page.
    if _known(drawing, "chance"):
        ticks = (base.mark_tick(size=24, opacity=1, color=c, thickness=w) for c, w in ((PAPER, 5), (AGAINST, 2.5)))
        layers += [tick.encode(x=alt.X("chance:Q", **axis)) for tick in ticks]
    if _known(drawing, "low") and _known(drawing, "high"):
        rules = (base.mark_rule(clip=True, color=c, strokeWidth=w) for c, w in ((PAPER, 4), (INK, 1.4)))
        layers += [rule.encode(x=alt.X("low:Q", **axis), x2="high:Q") for rule in rules]
    return alt.layer(*layers, *_words_beside(base)).properties(width=WIDTH, height=alt.Step(26), padding=_room(rows))


def _intervals(drawing: Drawing) -> Chart:
    """Set differences around 0; a point is full where the interval leaves 0 out."""
    import altair as alt

    rows = _labelled(_together(drawing.records()[:MOST_BARS]), drawing)
    for row in rows:
        row["sure"] = _leaves_out_zero(row)
    axis = _axis(drawing, "x", ("x", "low", "high"))
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=alt.Y("at:O", axis=None), tooltip=_tips(drawing))
    zero = alt.Chart(alt.InlineData(values=[{"x": 0}])).mark_rule(color=SOFT, strokeWidth=1).encode(x="x:Q")
    whisker = base.mark_rule(strokeWidth=2.2).encode(x=alt.X("low:Q", **axis), x2="high:Q", **color(drawing, rows))
    dots = base.mark_circle(size=80, opacity=1).encode(x=alt.X("x:Q", **axis), **color(drawing, rows))
    seen = alt.condition("datum.sure", alt.value(0), alt.value(1))
    holes = base.mark_circle(size=26, color=PAPER).encode(x=alt.X("x:Q", **axis), opacity=seen)
    chart = alt.layer(zero, whisker, dots, holes, *_words_beside(base))
    return chart.properties(width=WIDTH, height=alt.Step(26), padding=_room(rows))


def _leaves_out_zero(row: dict[str, Any]) -> bool:
    low, high = row.get("low"), row.get("high")
    return low is not None and high is not None and (low > 0 or high < 0)


def _labelled(rows: Records, drawing: Drawing) -> Records:
    """Place rows below each other, each with its name, said once for those that share it, and its numbers."""
    names = shorten(_text(row["y"]) for row in rows)
    colors = shorten(row["color"] for row in rows if "color" in row)
    for place, row in enumerate(rows):
        before = rows[place - 1] if place else {}
        row["at"] = place
        row["name"] = "" if "color" in row and before.get("y", row) == row["y"] else names[_text(row["y"])]
        row["said"] = _said(row, drawing, colors)
    return rows


def _words_beside(base: Chart) -> tuple[Chart, Chart]:
    """Write names to the left of the marks and numbers to the right."""
    import altair as alt

    names = base.mark_text(align="right", color=INK).encode(x=alt.value(-10), text="name:N")
    numbers = base.mark_text(align="left", color=SOFT, limit=460).encode(x=alt.value(WIDTH + 12), text="said:N")
    return names, numbers


def _histogram(drawing: Drawing) -> Chart:
    import altair as alt

    axis = _axis(drawing, "x", ("x", "to"), whole=False) | {"title": _binned(drawing.column("x"))}
    bins = alt.X("left:Q", bin="binned", **axis)
    counts = alt.Y("n:Q", title="count", stack=None, axis=alt.Axis(tickCount=4))
    rows = _side_by_side(few_colors(drawing.records()))
    chart = alt.Chart(alt.InlineData(values=rows)).mark_bar(binSpacing=1, stroke=None)
    bars = chart.encode(x=bins, x2="right:Q", y=counts, tooltip=_tips(drawing), **color(drawing, rows))
    return bars.properties(width=WIDTH + 200, height=180)


def _side_by_side(rows: Records) -> Records:
    """Part every bin among the colours, so that each bar stands on the ground and none hides another."""
    colors = list(dict.fromkeys(row.get("color") for row in rows))
    for row in rows:
        place, width = colors.index(row.get("color")), (row["to"] - row["x"]) / len(colors)
        row["left"], row["right"] = row["x"] + place * width, row["x"] + (place + 1) * width
    return rows


def _lines(drawing: Drawing) -> Chart:
    import altair as alt

    rows = few_colors(drawing.records())
    numeric = all(isinstance(row["x"], int | float) for row in rows)
    plain = alt.Axis(grid=False, tickCount=6, labelAngle=0)
    x = alt.X(f"x:{'Q' if numeric else 'O'}", title=_titled(drawing.column("x")), sort=None, axis=plain)
    if numeric:
        x = x.scale(zero=False, nice=False, padding=8)
    axis = _axis(drawing, "y", ("y", "low", "high"))
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, tooltip=_tips(drawing), **color(drawing, rows))
    layers = []
    if _known(drawing, "low") and _known(drawing, "high"):
        layers.append(base.mark_area(opacity=0.18).encode(y=alt.Y("low:Q", **axis), y2="high:Q"))
    line = base.mark_line(point=alt.OverlayMarkDef(filled=True, size=42), strokeWidth=2)
    layers.append(line.encode(y=alt.Y("y:Q", **axis)))
    return alt.layer(*layers).properties(width=WIDTH + 200, height=240)


def _matrix(drawing: Drawing) -> Chart:
    import altair as alt

    value = drawing.column("color")
    in_points = value is not None and value.kind == "share"
    rows = _corner(drawing)
    for row in rows:
        number = isinstance(row["color"], int | float)
        row["depth"], row["below"] = (abs(row["color"]), row["color"] < 0) if number else (None, False)
        row["said"] = f"{row['color']:z.1f}" if number and in_points else _text(row["color"])
    above, beside = (relabel(_text(row[role]) for row in rows) for role in ("x", "y"))
    top = alt.Axis(orient="top", labelAngle=-35, **above)
    x = alt.X("x:N", title=_titled(drawing.column("x")), sort=None, axis=top)
    y = alt.Y("y:N", title=_titled(drawing.column("y")), sort=None, axis=alt.Axis(**beside))
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, y=y, tooltip=_tips(drawing))
    # Depth by opacity, not by a ramp of colours: it works on any background, and the number stands on top.
    depth = alt.Opacity("depth:Q", scale=alt.Scale(range=[0.06, 0.6]), legend=None)
    side = alt.condition("datum.below", alt.value(AGAINST), alt.value(MARK))
    cells = base.mark_rect().encode(opacity=depth, color=side)
    return (cells + base.mark_text(color=INK).encode(text="said:N")).properties(width=alt.Step(62), height=alt.Step(30))


def _scatter(drawing: Drawing) -> Chart:
    import altair as alt

    rows = few_colors(drawing.records())
    x, y = (_axis(drawing, role, (role,), whole=False) for role in ("x", "y"))
    for axis in (x, y):
        axis["scale"].padding = 10  # so that points at the edges are whole
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y))
    dots = base.mark_circle(size=46, opacity=0.65).encode(tooltip=_tips(drawing), **color(drawing, rows))
    if drawing.column("label") and len(rows) <= MOST_LABELS:
        known = [row["x"] for row in rows if row["x"] is not None]
        dots += _labels_within(base, x["scale"].to_dict().get("domain", (min(known), max(known))))
    # Dragged and zoomed where the page is live; the picture is the same without.
    return dots.properties(width=WIDTH + 200, height=300).interactive()


def _labels_within(base: Chart, ends: tuple[float, float]) -> Chart:
    """Write labels on the side of their points that is towards the middle, where there is room."""
    words, middle = base.encode(text="label:N"), sum(ends) / 2
    right = words.mark_text(align="left", dx=8, color=INK, limit=160).transform_filter(f"datum.x <= {middle}")
    return right + words.mark_text(align="right", dx=-8, color=INK, limit=160).transform_filter(f"datum.x > {middle}")


CHARTS: dict[DrawingKind, Callable[[Drawing], Chart]] = {
    "bars": _bars,
    "histogram": _histogram,
    "intervals": _intervals,
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


def _known(drawing: Drawing, role: str) -> bool:
    """Tell whether any row has a value in a role; a scale of none would be endless."""
    return any(record.get(role) is not None for record in drawing.records())


def _drawn(drawing: Drawing) -> int:
    """Count the rows that are in the chart."""
    if drawable(drawing) and drawing.kind == "matrix":
        return len(_corner(drawing))
    return min(MOST_BARS, len(drawing.rows)) if drawable(drawing) and drawing.kind in BARRED else len(drawing.rows)


def _together(rows: Records) -> Records:
    """Bring the bars of one name together, in the order in which the names come first."""
    order = list(dict.fromkeys(_text(row["y"]) for row in rows))
    return few_colors(sorted(rows, key=lambda row: order.index(_text(row["y"]))))


def _corner(drawing: Drawing) -> Records:
    """Keep the first rows and columns of a large matrix."""
    rows = drawing.records()
    sides = [list(dict.fromkeys(row[role] for row in rows))[:MOST_BARS] for role in ("x", "y")]
    return [row for row in rows if row["x"] in sides[0] and row["y"] in sides[1]]


def _said(row: dict[str, Any], drawing: Drawing, colors: dict[str, str]) -> str:
    """Write beside a bar what it stands for, the name of its colour too: the number, its interval, n and labels."""
    digits = 1 if (column := drawing.column("x")) and column.kind == "share" else 3
    value, low, high = (_number(row.get(role), digits) for role in ("x", "low", "high"))
    value = f"+{value}" if drawing.kind == "intervals" and (row["x"] or 0) > 0 else value
    interval = f" [{low}, {high}]" if "low" in row and "high" in row else ""
    n = [f"n {row['n']:,}"] if row.get("n") is not None else []
    painted = [colors[row["color"]]] if "color" in row else []
    label = [_text(row["label"])] if row.get("label") is not None else []
    return " · ".join([f"{value}{interval}", *n, *painted, *label])


def _room(rows: Records) -> dict[str, float]:
    """Leave room around names and numbers: a reader's font may be wider than the one they were measured in."""
    left, right = (max(len(row[side]) for row in rows) for side in ("name", "said"))
    return {"left": 4 + 1.2 * left, "right": 4 + 1.2 * min(right, 72), "top": 4, "bottom": 4}


def _number(value: float | None, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:z.{digits}f}"


def _text(value: object) -> str:
    return say(value, "text")


def _titled(column: Column | None) -> str:
    """Name a column with its unit."""
    name = column.name if column else ""
    return f"{name} (points)" if column and column.kind == "share" else name


def _binned(column: Column | None) -> str:
    """Name what bins are bins of: the column says where each begins."""
    if column is None:
        return ""
    name = column.name.removesuffix("from").rstrip()
    return _titled(replace(column, name=name)) if name else "points" if column.kind == "share" else ""


def _axis(drawing: Drawing, role: str, along: Iterable[str], *, whole: bool = True) -> dict[str, Any]:
    """Scale an axis: shares of something over the whole 0 to 100, differences and anything else over their values."""
    import altair as alt

    column = drawing.column(role)
    known = [row[name] for row in drawing.records() for name in along if isinstance(row.get(name), int | float)]
    part = column is not None and column.kind == "share" and drawing.kind != "intervals"
    full = part and min(known, default=0) >= 0 and max(known, default=0) <= 100
    scale = alt.Scale(domain=[0, 100], nice=False) if full else alt.Scale(zero=whole)
    return {"scale": scale, "title": _titled(column), "axis": alt.Axis(tickCount=5)}


def _tips(drawing: Drawing) -> list[Any]:
    """Say everything about a mark when it is pointed at."""
    import altair as alt

    formats = {"share": ",.1f", "number": ",.4~r", "count": ","}
    return [
        alt.Tooltip(f"{column.role}:Q", title=_titled(column), format=formats[column.kind])
        if column.kind in formats
        else alt.Tooltip(f"{column.role}:N", title=column.name)
        for column in drawing.columns
        if column.role
    ]
