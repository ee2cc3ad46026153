"""The style of charts: colours that follow the page, quiet axes, short names, and SVG that can be inlined.

Every colour is a CSS variable with a fallback: an inlined chart follows the page, and a saved file has colours too.
A condition has its own colour, everything else the next one of the palette. Long names are cut in the middle, because
models of a family differ at the end.
"""

import json
from collections.abc import Iterable
from typing import Any, TypeAlias

from eyechart.reporting.drawing import Drawing, DrawingColumn, format_name
from eyechart.reporting.palette import Palette, paint

FONT = 12
INK, SOFT, LINE, PAPER = map(paint, ("ink", "soft", "line", "paper"))
# After Okabe and Ito: distinguishable with any kind of colour vision.
PALETTE = tuple(paint(f"series-{number}") for number in range(1, 9))
MARK, AGAINST = paint("mark"), paint("against")
WIDTH = 340
MOST_COLORS = 8
OTHER_NAMES = "(other)"
PALEST = 0.4  # opacity of the last among bars that share a colour
LETTERS = 32  # of a name, unless names need more to differ

Records: TypeAlias = list[dict[str, Any]]
Chart: TypeAlias = Any  # an Altair chart; Altair is loaded when the first one is drawn


def chart_config() -> dict[str, Any]:
    """Configure Altair: transparent, quiet axes, nothing bold."""
    axis = {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "titleFontWeight": "normal",
        "labelFontSize": FONT,
        "titleFontSize": FONT,
        "gridColor": LINE,
        "domainColor": LINE,
        "tickColor": LINE,
        "labelLimit": 200,
        "titlePadding": 8,
    }
    legend = {
        "labelColor": INK,
        "titleColor": SOFT,
        "titleFontWeight": "normal",
        "labelFontSize": FONT,
        "titleFontSize": FONT,
        "orient": "top",
        "symbolOpacity": 1,
        "columnPadding": 24,
    }
    return {
        "aria": False,
        "background": "transparent",
        "font": "sans-serif",
        "axis": axis,
        "legend": legend,
        "text": {"fontSize": FONT},
        "view": {"stroke": None},
    }


def has_values(drawing: Drawing, role: str) -> bool:
    """Return whether any row has a value in a role, as a scale needs at least one."""
    return any(record.get(role) is not None for record in drawing.records())


def axis_title(column: DrawingColumn | None) -> str:
    """Return the name of a column with its unit."""
    name = column.name if column else ""
    return f"{name} (points)" if column and column.kind == "points" else name


def make_axis(drawing: Drawing, role: str, along: Iterable[str], *, whole: bool = True) -> dict[str, Any]:
    """Scale an axis: shares from 0 to 100, differences and everything else over the range of their values."""
    import altair as alt

    column = drawing.column(role)
    known = [row[name] for row in drawing.records() for name in along if isinstance(row.get(name), int | float)]
    share = column is not None and column.kind == "points" and drawing.kind != "intervals"
    full = share and min(known, default=0) >= 0 and max(known, default=0) <= 100
    scale = alt.Scale(domain=[0, 100], nice=False) if full else alt.Scale(zero=whole)
    return {"scale": scale, "title": axis_title(column), "axis": alt.Axis(tickCount=5)}


def make_tooltips(drawing: Drawing) -> list[Any]:
    """List all values of a mark for its tooltip."""
    import altair as alt

    formats = {"points": ",.1f", "number": ",.4~r", "ratio": ",.4~r", "count": ","}
    return [
        alt.Tooltip(f"{column.role}:Q", title=axis_title(column), format=formats[column.kind])
        if column.kind in formats
        else alt.Tooltip(f"{column.role}:N", title=column.name)
        for column in drawing.columns
        if column.role
    ]


def few_colors(rows: Records) -> Records:
    """Keep as many coloured names as are distinguishable, and merge the rest under one name."""
    names = dict.fromkeys(format_name(row["color"]) for row in rows if "color" in row)
    kept = list(names) if len(names) <= MOST_COLORS else list(names)[: MOST_COLORS - 1]
    return [row | ({"color": _kept(row["color"], kept)} if "color" in row else {}) for row in rows]


def _kept(value: object, names: list[str]) -> str:
    return format_name(value) if format_name(value) in names else OTHER_NAMES


def color_bars(drawing: Drawing, rows: Records, palette: Palette) -> dict[str, Any]:
    """Colour bars by condition if all are named after conditions; the name next to a bar serves as its legend."""
    import altair as alt

    names = list(dict.fromkeys(format_name(row["y"]) for row in rows))
    if drawing.column("color"):
        colored = color(drawing, rows, palette)
        return colored | _shades(rows, colored["color"], palette)
    if not palette.are_conditions(names):
        return color(drawing, rows, palette)
    return {"color": alt.Color("y:N", scale=_scale(names, palette), legend=None)}


def color(drawing: Drawing, rows: Records, palette: Palette) -> dict[str, Any]:
    """Colour marks by the names in the role `color`, if there is one."""
    import altair as alt

    column = drawing.column("color")
    if column is None:
        return {"color": alt.ColorValue(MARK)}
    shared = drawing.names if len(drawing.names) <= MOST_COLORS else ()
    names = list(shared or dict.fromkeys(format_name(row["color"]) for row in rows))
    legend = alt.Legend(**relabel(names))
    return {"color": alt.Color("color:N", scale=_scale(names, palette), title=column.name, legend=legend, sort=None)}


def _shades(rows: Records, colored: Chart, palette: Palette) -> dict[str, Any]:
    """Make the bars of one family of conditions, which share a colour, increasingly pale."""
    import altair as alt

    names = list(dict.fromkeys(row["color"] for row in rows))
    paints = _scale(names, palette).range
    alike = [[name for name, paint in zip(names, paints, strict=True) if paint == each] for each in paints]
    if all(len(each) == 1 for each in alike):
        return {}
    steps = [each.index(name) / max(1, len(each) - 1) for name, each in zip(names, alike, strict=True)]
    scale = alt.Scale(type="ordinal", domain=names, range=[1 - (1 - PALEST) * step for step in steps])
    # With the same title and legend as the colours, so that both share one legend.
    return {"opacity": alt.Opacity("color:O", scale=scale, title=colored["title"], legend=colored["legend"])}


def _scale(names: list[str], palette: Palette) -> Chart:
    """Fix the colour of every name: a condition's own, or else the next one of the palette."""
    import altair as alt

    if palette.are_conditions(name for name in names if name != OTHER_NAMES):
        return alt.Scale(domain=names, range=[palette.paint_condition(name) for name in names])
    return alt.Scale(domain=names, range=[PALETTE[index % len(PALETTE)] for index in range(len(names))])


def shorten(names: Iterable[str]) -> dict[str, str]:
    """Cut long names in the middle, keeping them as long as needed to stay distinct."""
    whole = list(dict.fromkeys(names))
    longest = max(map(len, whole), default=0)
    for letters in range(min(LETTERS, longest), longest):
        for kept in sorted(range(letters), key=lambda kept: abs(2 * kept + 1 - letters)):
            short = [_cut(name, letters, kept) for name in whole]
            if len(set(short)) == len(whole):
                return dict(zip(whole, short, strict=True))
    return dict(zip(whole, whole, strict=True))


def relabel(names: Iterable[str]) -> dict[str, Any]:
    """Return the settings that make a legend or an axis use the shortened names, if any is shortened."""
    cut = {whole: short for whole, short in shorten(names).items() if whole != short}
    if not cut:
        return {}
    return {"labelExpr": f"({json.dumps(cut)})[datum.label] || datum.label", "labelLimit": 0}


def _cut(name: str, letters: int, kept: int) -> str:
    """Keep the first `kept` letters, and as many of the last as there is room for."""
    if len(name) <= letters:
        return name
    end = letters - kept - 1
    return f"{name[:kept]}…{name[len(name) - end :]}"
