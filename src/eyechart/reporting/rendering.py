"""Fill templates to HTML that needs nothing else, and make the figures and tables that every page consists of."""

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Self

from markupsafe import Markup

from eyechart.data.result import State
from eyechart.reporting.charts import caption, drawable, make_spec, make_svg
from eyechart.reporting.drawing import Drawing
from eyechart.reporting.gallery import CardGroup, Thumbnails, arrange_cards
from eyechart.reporting.grid import Grid, drawing_grid
from eyechart.reporting.palette import NO_LOOKS, Palette

if TYPE_CHECKING:
    from jinja2 import Environment

FEW = 12  # rows of a table that stand open; longer ones are folded
MOST_POINTS = 200  # of a scatter that are also worth a table
BADGES: dict[State, tuple[str, str]] = {  # a sign and words, so that colour is never the only difference
    "yes": ("✓", "the answer to the audit's question is yes, which is good"),
    "no": ("✕", "the answer is no: the audit found the problem it looks for"),
    "cannot tell": ("?", "too few examples, or too many answers lost, to tell"),
    "not tested": ("\N{EN DASH}", "the audit describes, or lacks what its question needs"),
}


@dataclass(frozen=True)
class PageTable:
    """A grid with its name, folded where it is long."""

    title: str
    grid: Grid
    folded: bool


@dataclass(frozen=True)
class Figure:
    """A drawing on the page: its picture if it has one, and the table of its data where that stands nowhere else."""

    title: str
    reading: str
    caption: str
    svg: str | None
    spec: str | None
    cards: tuple[CardGroup, ...]
    table: PageTable | None

    @classmethod
    def of(cls, drawing: Drawing, mark: str, palette: Palette, thumbnails: Thumbnails) -> Self:
        """Draw what can be drawn; `mark` begins every id inside."""
        spec = make_spec(drawing, palette) if drawable(drawing) else None
        cards = arrange_cards(drawing, thumbnails, palette) if drawing.kind == "gallery" else ()
        return cls(
            drawing.title,
            drawing.reading,
            caption(drawing),
            # Vega escapes the text it draws; a test holds it to that.
            svg=Markup(make_svg(spec, drawing.title, mark)) if spec else None,  # noqa: S704
            spec=_embedded(spec) if spec else None,
            cards=cards,
            table=None if cards else _numbers(drawing),
        )


def fill(template: str, content: dict[str, Any], palette: Palette, *, alive: bool) -> str:
    """Fill a template with our own style and script, and with the runtime of charts where any comes alive."""
    style = _own("style.css") + Markup(palette.rules())  # noqa: S704 - only names of colours
    assets = {"style": style, "script": _own("page.js"), "runtime": _runtime() if alive else None}
    templates = open_templates("eyechart.reporting", ".", palette)
    return templates.get_template(template).render(**assets, **content).lstrip()


def open_templates(package: str, folder: str, palette: Palette = NO_LOOKS) -> "Environment":
    """Open the templates of a package with the colours of a palette; all that comes from data is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals["badges"] = BADGES
    templates.filters |= {"family": palette.family, "said": palette.describe, "slug": slug}
    return templates


def slug(state: State) -> str:
    """Return the class that a state has in style.css."""
    return state.replace(" ", "-")


def _own(name: str) -> Markup:
    return Markup(files("eyechart.reporting").joinpath(name).read_text(encoding="utf-8"))  # noqa: S704 - our own file


def _runtime() -> Markup:
    """Return the script that makes charts live; a page holds it once, however many charts there are."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # the stub asks for a snippet, the code does not
    return Markup(bundle.replace("</script", "<\\/script"))  # noqa: S704 - the library's own


def _numbers(drawing: Drawing) -> PageTable | None:
    """Lay out the data of a drawing, unless they stand elsewhere on the page or have too many rows."""
    grid, charted = drawing_grid(drawing), drawable(drawing)
    elsewhere = charted and drawing.table in ("measures", "summary")
    too_long = drawing.kind == "scatter" and len(grid.rows) > MOST_POINTS
    if not grid.rows or elsewhere or too_long:
        return None
    return PageTable(f"The numbers: {len(grid.rows):,} rows", grid, charted or len(grid.rows) > FEW)


def _embedded(spec: dict[str, Any]) -> Markup:
    """Write JSON that cannot end the script element it stands in."""
    return Markup(json.dumps(spec, ensure_ascii=False).replace("<", "\\u003c"))  # noqa: S704 - escaped here
