"""How charts look: colours that follow the page, quiet axes, and SVG that can be inlined.

Every colour is a CSS variable with a fallback: inlined, a chart follows the page; saved as a file, it has colours too.
"""

import re
from html import escape
from typing import Any

from eyechart.reporting.palette import paint

FONT = 12
INK, SOFT, LINE, PAPER = map(paint, ("ink", "soft", "line", "paper"))
# After Okabe and Ito: told apart by readers with any kind of colour vision.
PALETTE = tuple(paint(f"series-{place}") for place in range(1, 9))
MARK, AGAINST = paint("mark"), paint("against")


def look() -> dict[str, Any]:
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


def inlined(svg: str, title: str, mark: str) -> str:
    """Give the ids of a chart names of its own, and the chart a name for those who hear the page."""
    places: dict[str, str] = {}

    def rename(found: re.Match[str]) -> str:
        new = places.setdefault(found["id"], f"{mark}-{len(places) + 1}")
        return f"{found['before']}{new}"

    def tidy(tag: re.Match[str]) -> str:
        named = re.sub(r'(?P<before> id="|url\(#|href="#)(?P<id>[^")]+)', rename, tag[0])
        bare = re.sub(r' (?:aria-[a-z]+|role|pointer-events|font-family|xmlns:xlink)="[^"]*"', "", named)
        return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", bare)

    svg = re.sub(r"<[^>]+>", tidy, svg)  # text between tags is the data's own and stays as it is
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(title)}" font-family="sans-serif"', 1)
