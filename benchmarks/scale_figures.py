"""Tables and figures of what `scale.py` measured."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from record import Row

IMAGES = Path(__file__).parent.parent / "docs" / "images"
FIGURES = {"cpu": ("scale-time", "processor seconds"), "mb": ("scale-memory", "peak memory, MB")}
VERBS = ("read", "study", "probe", "predict", "judge", "report", "export")
EACH = {"cpu": "µs an example", "mb": "bytes an example"}
TICKS = [1e4, 1e5, 1e6, 1e7]


def draw(rows: list[Row]) -> None:
    """Print a table for time and one for memory, and draw both."""
    IMAGES.mkdir(exist_ok=True)
    for what, (file, title) in FIGURES.items():
        print(f"\n{title}\n")
        print("\n".join(lay_out(rows, what)))
        (IMAGES / f"{file}.svg").write_text(picture(rows, what, title), encoding="utf-8")


def lay_out(rows: list[Row], what: str) -> Iterator[str]:
    """Write a row for each arrow: its figure at each size, and what a further example adds between the two largest.

    That is in microseconds, or in bytes; the start of Python, which is most of the small sizes, is not in it.
    """
    sizes = sorted({row["n"] for row in rows})
    yield f"| arrow | {' | '.join(f'{n:,}' for n in sizes)} | growth | {EACH[what]} |"
    yield "|---" * (len(sizes) + 3) + "|"
    for arrow in dict.fromkeys(row["arrow"] for row in rows):
        found = {row["n"]: row for row in rows if row["arrow"] == arrow}
        cells = " | ".join(_cell(found.get(n), what) for n in sizes)
        fitted = fit(found, what)
        yield f"| `{arrow}` | {cells} | {' | ' if fitted is None else f'{fitted.growth:.2f} | {fitted.each:,.1f}'} |"


def _cell(row: Row | None, what: str) -> str:
    if row is None or not (row["stopped"] or row[what]):
        return ""
    if row["stopped"]:
        return str(row["stopped"]).removesuffix(", which stopped")
    return f"{row[what]:,.0f}" if row[what] >= 100 else f"{row[what]:.1f}"


class Fit(NamedTuple):
    """How a figure grows between two sizes: the slope on logarithmic axes, and millionths for each further example."""

    growth: float
    each: float


def fit(found: dict[int, Row], what: str) -> Fit | None:
    """Fit the growth between the two largest sizes."""
    sizes = sorted(n for n, row in found.items() if not row["stopped"] and row[what])
    if len(sizes) < 2:
        return None
    small, large = sizes[-2:]
    before, after = found[small][what], found[large][what]
    return Fit(math.log(after / before) / math.log(large / small), (after - before) / (large - small) * 1e6)


def picture(rows: list[Row], what: str, title: str) -> str:
    """Draw the arrows as lines on logarithmic axes, one panel for each verb."""
    import altair as alt
    import vl_convert

    values = [_point(row, what) for row in rows if not row["stopped"] and row[what]]
    log = alt.Scale(type="log")
    chart = (
        alt.Chart(alt.InlineData(values=values))
        .mark_line(point=True)
        .encode(
            x=alt.X("n:Q", scale=log, title="examples", axis=alt.Axis(format="~s", values=TICKS)),
            y=alt.Y("value:Q", scale=log, title=title),
            color=alt.Color("of:N", title=None),
            facet=alt.Facet("verb:N", columns=3, title=None, sort=list(VERBS)),
        )
        .properties(width=190, height=150)
        .configure(padding={"left": 5, "top": 5, "bottom": 5, "right": 20})  # fonts of browsers are wider
    )
    return str(vl_convert.vegalite_to_svg(chart.to_json()))


def _point(row: Row, what: str) -> Row:
    verb, _, of = row["arrow"].partition(" ")
    return {"verb": verb, "of": of, "n": row["n"], "value": row[what]}
