"""Colours of charts: a condition has its own, everything else the next one of the palette."""

from typing import Any, TypeAlias

from eyechart.reporting.drawing import Drawing, say_text
from eyechart.reporting.look import MARK, PALETTE
from eyechart.reporting.naming import relabel
from eyechart.reporting.palette import Palette

MOST_COLORS = 8
OTHER = "(other)"
PALEST = 0.4

Records: TypeAlias = list[dict[str, Any]]
Chart: TypeAlias = Any  # an Altair chart; Altair is loaded when the first one is drawn


def few_colors(rows: Records) -> Records:
    """Keep as many names of colours as eyes can tell apart."""
    names = dict.fromkeys(say_text(row["color"]) for row in rows if "color" in row)
    kept = list(names) if len(names) <= MOST_COLORS else list(names)[: MOST_COLORS - 1]
    return [row | ({"color": _kept(row["color"], kept)} if "color" in row else {}) for row in rows]


def _kept(value: object, names: list[str]) -> str:
    return say_text(value) if say_text(value) in names else OTHER


def color_bars(drawing: Drawing, rows: Records, palette: Palette) -> dict[str, Any]:
    """Give bars that are named by conditions the colours of these; the name beside a bar is its legend."""
    import altair as alt

    names = list(dict.fromkeys(say_text(row["y"]) for row in rows))
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
        return {"color": alt.value(MARK)}
    shared = drawing.names if len(drawing.names) <= MOST_COLORS else ()
    names = list(shared or dict.fromkeys(say_text(row["color"]) for row in rows))
    legend = alt.Legend(**relabel(names))
    return {"color": alt.Color("color:N", scale=_scale(names, palette), title=column.name, legend=legend, sort=None)}


def _shades(rows: Records, colored: Chart, palette: Palette) -> dict[str, Any]:
    """Make bars of one family of conditions paler and paler, for they share its colour."""
    import altair as alt

    names = list(dict.fromkeys(row["color"] for row in rows))
    paints = _scale(names, palette).range
    alike = [[name for name, paint in zip(names, paints, strict=True) if paint == each] for each in paints]
    if all(len(each) == 1 for each in alike):
        return {}
    steps = [each.index(name) / max(1, len(each) - 1) for name, each in zip(names, alike, strict=True)]
    scale = alt.Scale(type="ordinal", domain=names, range=[1 - (1 - PALEST) * step for step in steps])
    # Of the same title and legend as the colours, so that there is one legend for both.
    return {"opacity": alt.Opacity("color:O", scale=scale, title=colored["title"], legend=colored["legend"])}


def _scale(names: list[str], palette: Palette) -> Chart:
    """Fix the colour of every name: of a condition its own, of anything else the next one."""
    import altair as alt

    if palette.are_conditions(name for name in names if name != OTHER):
        return alt.Scale(domain=names, range=[palette.paint_condition(name) for name in names])
    return alt.Scale(domain=names, range=[PALETTE[place % len(PALETTE)] for place in range(len(names))])
