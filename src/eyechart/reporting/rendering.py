"""Render templates to self-contained HTML, and make the figures and tables that pages consist of."""

import base64
import json
import zlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Self

from markupsafe import Markup

from eyechart.data.result import State
from eyechart.reporting.charts import caption, drawable, make_spec
from eyechart.reporting.drawing import Drawing
from eyechart.reporting.gallery import CardGroup, Thumbnails, arrange_cards
from eyechart.reporting.grid import Grid, drawing_grid
from eyechart.reporting.palette import NO_LOOKS, Palette
from eyechart.reporting.policy import mark_templates, secure

if TYPE_CHECKING:
    from jinja2 import Environment

FEW = 12  # longer tables are folded
MOST_POINTS = 200  # larger scatter plots have no table
BADGES: dict[State, tuple[str, str]] = {  # signs and words, so that colour is never the only difference
    "yes": ("✓", "the answer to the audit's question is yes, which is good"),
    "no": ("✕", "the answer is no: the audit found the problem it looks for"),
    "cannot tell": ("?", "too few examples, or too many answers lost, to tell"),
    "not tested": ("\N{EN DASH}", "the audit only describes, or lacks what its question needs"),
}


@dataclass(frozen=True)
class PageTable:
    """A grid with a title, folded if it is long."""

    title: str
    grid: Grid
    folded: bool


@dataclass(frozen=True)
class Figure:
    """A drawing on the page: its chart or cards, and a table of its data if they are nowhere else on the page."""

    title: str
    reading: str
    caption: str
    spec: str | None
    cards: tuple[CardGroup, ...]
    table: PageTable | None

    @classmethod
    def of(cls, drawing: Drawing, palette: Palette, thumbnails: Thumbnails) -> Self:
        """Build a figure from a drawing."""
        spec = make_spec(drawing, palette) if drawable(drawing) else None
        cards = arrange_cards(drawing, thumbnails, palette) if drawing.kind == "gallery" else ()
        return cls(
            drawing.title,
            drawing.reading,
            caption(drawing),
            spec=_embedded(spec) if spec else None,
            cards=cards,
            table=None if cards else _numbers(drawing),
        )


def fill(template: str, content: dict[str, Any], palette: Palette, *, alive: bool) -> str:
    """Render a template with our style and script, and with the chart runtime if any chart is interactive."""
    style = _own("style.css") + Markup(palette.rules())  # noqa: S704 - only names of colours
    assets = {"style": style, "script": _own("page.js"), "runtime": _runtime() if alive else None}
    templates = open_templates("eyechart.reporting", ".", palette)
    mark = mark_templates(templates)
    return secure(templates.get_template(template).render(**assets, **content).lstrip(), mark)


def open_templates(package: str, folder: str, palette: Palette = NO_LOOKS) -> "Environment":
    """Open the templates of a package with the colours of a palette, escaping everything that comes from data."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals["badges"] = BADGES
    templates.filters |= {
        "family": palette.family,
        "described": palette.describe,
        "meaning": meaning,
        "pack": pack,
        "slug": slug,
    }
    return templates


def pack(text: str) -> str:
    """Compress text for the page's script, which unpacks it when it is opened."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")


def meaning(term: str) -> str:
    """Look a term up in the glossary; empty if it is not there."""
    return _glossary().get(term, "")


@cache
def _glossary() -> dict[str, str]:
    """Read the glossary of the documentation, which is a table of terms with their meanings."""
    text = files("eyechart.reporting").joinpath("glossary.md").read_text(encoding="utf-8")
    rows = (line.strip("| ").split(" | ", 1) for line in text.splitlines() if line.startswith("| "))
    return {name.strip("` "): row[1] for row in rows if len(row) > 1 for name in row[0].split(",")}


def slug(state: State) -> str:
    """Return the CSS class of a state in style.css."""
    return state.replace(" ", "-")


def _own(name: str) -> Markup:
    return Markup(files("eyechart.reporting").joinpath(name).read_text(encoding="utf-8"))  # noqa: S704 - our own file


def _runtime() -> Markup:
    """Return the script that makes charts interactive, which a page includes once."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # the stub asks for a snippet, the code does not
    return Markup(bundle.replace("</script", "<\\/script"))  # noqa: S704 - the library's own


def _numbers(drawing: Drawing) -> PageTable | None:
    """Lay out the data of a drawing, unless they are elsewhere on the page or have too many rows."""
    grid, is_chart = drawing_grid(drawing), drawable(drawing)
    is_elsewhere = is_chart and drawing.table in ("measures", "summary")
    is_too_long = drawing.kind == "scatter" and len(grid.rows) > MOST_POINTS
    if not grid.rows or is_elsewhere or is_too_long:
        return None
    return PageTable(f"The numbers: {len(grid.rows):,} rows", grid, is_chart or len(grid.rows) > FEW)


def _embedded(spec: dict[str, Any]) -> Markup:
    """Return JSON that cannot end the script element containing it."""
    return Markup(json.dumps(spec, ensure_ascii=False).replace("<", "\\u003c"))  # noqa: S704 - escaped here
