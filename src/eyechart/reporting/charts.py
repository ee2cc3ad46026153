"""Draw charts with Altair, to look at and to play with; all is named by roles, never by an audit's columns."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from eyechart.reporting.coloring import Chart, Records, color, color_bars, few_colors
from eyechart.reporting.drawing import VALUE_ROLES, Column, Drawing, DrawingKind, say
from eyechart.reporting.look import AGAINST, INK, MARK, PAPER, SOFT, inlined, look

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
    axis = _axis(drawing, "x", ("x", "low", "high"))
    # Past the edge of the scale an interval is cut, not drawn over the names.
    layers = [base.mark_bar(clip=True, size=15).encode(x=alt.X("x:Q", **axis), **color_bars(drawing, rows))]
    if _known(drawing, "low") and _known(drawing, "high"):
        whisker = base.mark_rule(clip=True, color=INK, strokeWidth=1.4)
        layers.append(whisker.encode(x=alt.X("low:Q", **axis), x2="high:Q"))
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
    for place, row in enumerate(rows):
        before = rows[place - 1] if place else {}
        row["at"] = place
        row["name"] = "" if "color" in row and before.get("y", row) == row["y"] else _text(row["y"])
        row["said"] = _said(row, drawing)
    return rows


def _words_beside(base: Chart) -> tuple[Chart, Chart]:
    """Write names to the left of the marks and numbers to the right."""
    import altair as alt

    names = base.mark_text(align="right", color=INK, limit=210).encode(x=alt.value(-10), text="name:N")
    numbers = base.mark_text(align="left", color=SOFT, limit=300).encode(x=alt.value(WIDTH + 12), text="said:N")
    return names, numbers


def _histogram(drawing: Drawing) -> Chart:
    import altair as alt

    bins = alt.X("x:Q", bin="binned", **_axis(drawing, "x", ("x", "to"), whole=False))
    counts = alt.Y("n:Q", title="count", axis=alt.Axis(tickCount=4))
    rows = few_colors(drawing.records())
    chart = alt.Chart(alt.InlineData(values=rows)).mark_bar(binSpacing=1, stroke=None)
    bars = chart.encode(x=bins, x2="to:Q", y=counts, tooltip=_tips(drawing), **color(drawing, rows))
    return bars.properties(width=WIDTH + 200, height=180)


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
    rows = _corner(drawing)
    for row in rows:
        number = isinstance(row["color"], int | float)
        row["depth"], row["below"] = (abs(row["color"]), row["color"] < 0) if number else (None, False)
        row["said"] = f"{row['color']:.1f}" if number and value and value.kind == "share" else say(row["color"], "text")
    x = alt.X("x:N", title=_titled(drawing.column("x")), sort=None, axis=alt.Axis(orient="top", labelAngle=-35))
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=x, y=alt.Y("y:N", title=_titled(drawing.column("y")), sort=None), tooltip=_tips(drawing)
    )
    # Depth by opacity, not by a ramp of colours: it works on any background, and the number stands on top.
    depth = alt.Opacity("depth:Q", scale=alt.Scale(range=[0.06, 0.6]), legend=None)
    side = alt.condition("datum.below", alt.value(AGAINST), alt.value(MARK))
    cells = base.mark_rect().encode(opacity=depth, color=side)
    return (cells + base.mark_text(color=INK).encode(text="said:N")).properties(width=alt.Step(62), height=alt.Step(30))


def _scatter(drawing: Drawing) -> Chart:
    import altair as alt

    rows = few_colors(drawing.records())
    x, y = (_axis(drawing, role, (role,), whole=False) for role in ("x", "y"))
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y))
    dots = base.mark_circle(size=46, opacity=0.65).encode(tooltip=_tips(drawing), **color(drawing, rows))
    if drawing.column("label") and len(rows) <= MOST_LABELS:
        dots += base.mark_text(align="left", dx=8, color=INK, limit=160).encode(text="label:N")
    # Dragged and zoomed where the page is live; the picture is the same without.
    return dots.properties(width=WIDTH + 200, height=300).interactive()


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


def _said(row: dict[str, Any], drawing: Drawing) -> str:
    """Write beside a bar what it stands for, the name of its colour too: the number, its interval, n and labels."""
    digits = 1 if (column := drawing.column("x")) and column.kind == "share" else 3
    value, low, high = (_number(row.get(role), digits) for role in ("x", "low", "high"))
    value = f"+{value}" if drawing.kind == "intervals" and (row["x"] or 0) > 0 else value
    interval = f" [{low}, {high}]" if "low" in row and "high" in row else ""
    n = [f"n {row['n']:,}"] if row.get("n") is not None else []
    label = [_text(row[role]) for role in ("color", "label") if row.get(role) is not None]
    return " · ".join([f"{value}{interval}", *n, *label])


def _room(rows: Records) -> dict[str, float]:
    """Leave room around names and numbers: a reader's font may be wider than the one they were measured in."""
    left, right = (max(len(row[side]) for row in rows) for side in ("name", "said"))
    return {"left": 4 + 1.2 * min(left, 34), "right": 4 + 1.2 * min(right, 48), "top": 4, "bottom": 4}


def _number(value: float | None, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"


def _text(value: object) -> str:
    return say(value, "text")


def _titled(column: Column | None) -> str:
    name = column.name.removesuffix(" from") if column else ""
    return f"{name} (points)" if column and column.kind == "share" else name


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

    formats = {"share": ",.1f", "number": ",.4~g", "count": ","}
    return [
        alt.Tooltip(f"{column.role}:Q", title=_titled(column), format=formats[column.kind])
        if column.kind in formats
        else alt.Tooltip(f"{column.role}:N", title=column.name)
        for column in drawing.columns
        if column.role
    ]
