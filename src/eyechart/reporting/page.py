"""Set a page as one HTML file that needs nothing else: no request, no font; without scripts all is there too."""

import json
from dataclasses import asdict, dataclass
from importlib.resources import files
from itertools import groupby
from typing import Any

from markupsafe import Markup

from eyechart.reporting.charts import caption, draw, drawable
from eyechart.reporting.comparing import TextGrid
from eyechart.reporting.contents import Comparison, Coverage, MeasureRow, Page, Section
from eyechart.reporting.drawing import Drawing
from eyechart.reporting.gallery import CardGroup, Thumbnails, arrange_cards
from eyechart.reporting.grid import Grid, Head, count_grid, coverage_grid, drawing_grid, measure_grid, stock_grid
from eyechart.reporting.links import as_csv
from eyechart.result import State

FEW = 12  # rows of a table that stand open; longer ones are folded
WORDS = ("said", "note")  # of a measure, which stand on the page
FEW_MODELS = 2  # whose sections stand open
MOST_POINTS = 200  # of a scatter that are also worth a table
BADGES: dict[State, tuple[str, str]] = {  # a sign and words, so that colour is never the only difference
    "clear": ("✓", "the audit looked for a problem and did not find it"),
    "caught": ("✕", "the audit found the problem it looks for"),
    "undecided": ("?", "too few examples to tell"),
    "none": ("\N{EN DASH}", "the audit describes and does not judge"),
}


@dataclass(frozen=True)
class Table:
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
    table: Table | None


@dataclass(frozen=True)
class Beside:
    """A comparison of models on the page: over all examples, and folded by group."""

    audit: str
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class Block:
    """A section as it is set."""

    anchor: str
    section: Section
    measures: Table
    groups: tuple[Table, ...]
    figures: tuple[Figure, ...]
    counts: Grid
    csv: str  # a link to all measures
    open: bool


@dataclass(frozen=True)
class Settings:
    """The settings that some subjects of an audit share."""

    audit: str
    subjects: tuple[str, ...]
    values: dict[str, str]


def render(page: Page, thumbnails: Thumbnails | None = None) -> str:
    """Set a page as HTML; all that comes from data is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    room = Environment(
        loader=PackageLoader("eyechart.reporting", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return room.get_template("template.html").render(**_content(page, thumbnails or {})).lstrip()


def _content(page: Page, thumbnails: Thumbnails) -> dict[str, Any]:
    few = len({section.subject for section in page.sections if section.role == "result"}) <= FEW_MODELS
    numbered = enumerate(page.sections, start=1)
    blocks = [_block(section, f"section-{place}", thumbnails, few=few) for place, section in numbered]
    overviews = [_figure(drawing, f"overview-{place}", {}) for place, drawing in enumerate(page.overviews, start=1)]
    figures = [*overviews, *(figure for block in blocks for figure in block.figures)]
    return {
        "page": page,
        "style": _own("style.css"),
        "script": _own("page.js"),
        "runtime": _runtime() if any(figure.spec for figure in figures) else None,
        "badges": BADGES,
        "read": count_grid(page.facts.counts) if page.facts else None,
        "coverage": _cover(page.coverage),
        "stocks": stock_grid(page.stocks),
        "summary": [(row, f"section-{place}") for place, row in enumerate(page.summary, start=1)],
        "overviews": overviews,
        "comparisons": tuple(map(_beside, page.comparisons)),
        "audits": [(audit, list(found)) for audit, found in groupby(blocks, key=lambda block: block.section.audit)],
        "settings": _settings(page.sections),
    }


def _own(name: str) -> Markup:
    return Markup(files("eyechart.reporting").joinpath(name).read_text(encoding="utf-8"))  # noqa: S704 - our own file


def _runtime() -> Markup:
    """Fetch the runtime that makes charts live; it stands on the page once, however many charts there are."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # the stub asks for a snippet, the code does not
    return Markup(bundle.replace("</script", "<\\/script"))  # noqa: S704 - the library's own


def _block(section: Section, anchor: str, thumbnails: Thumbnails, *, few: bool) -> Block:
    whole = [row for row in section.measures if row.by is None]
    drawings = enumerate(section.drawings, start=1)
    return Block(
        anchor=anchor,
        section=section,
        measures=_measures(f"measures of {section.subject}", whole),
        groups=_groups(section.measures),
        figures=tuple(_figure(drawing, f"{anchor}-{place}", thumbnails) for place, drawing in drawings),
        counts=count_grid(section.counts),
        csv=as_csv(
            [{name: value for name, value in asdict(row).items() if name not in WORDS} for row in section.measures]
        ),
        open=section.role == "study" or few,
    )


def _groups(measures: tuple[MeasureRow, ...]) -> tuple[Table, ...]:
    """Make a table of the measures for each column they are broken down by."""
    names = sorted({row.by for row in measures if row.by})
    chosen = {name: [row for row in measures if row.by == name] for name in names}
    return tuple(_measures(f"{len(rows)} measures by {name}", rows) for name, rows in chosen.items())


def _measures(title: str, rows: list[MeasureRow]) -> Table:
    grid = measure_grid(rows)
    return Table(title, grid, len(grid.rows) > FEW)


def _figure(drawing: Drawing, mark: str, thumbnails: Thumbnails) -> Figure:
    drawn = draw(drawing, mark) if drawable(drawing) else None
    cards = arrange_cards(drawing, thumbnails) if drawing.kind == "gallery" else ()
    return Figure(
        drawing.title,
        drawing.reading,
        caption(drawing),
        # Vega escapes the text it draws; a test holds it to that.
        svg=Markup(drawn.svg) if drawn else None,  # noqa: S704
        spec=_embedded(drawn.spec) if drawn else None,
        cards=cards,
        table=None if cards else _numbers(drawing),
    )


def _numbers(drawing: Drawing) -> Table | None:
    """Lay out the data of a drawing, unless they stand elsewhere on the page or are endless."""
    grid, pictured = drawing_grid(drawing), drawable(drawing)
    elsewhere = pictured and drawing.table in ("measures", "summary")
    endless = drawing.kind == "scatter" and len(grid.rows) > MOST_POINTS
    if not grid.rows or elsewhere or endless:
        return None
    return Table(f"The numbers: {len(grid.rows):,} rows", grid, pictured or len(grid.rows) > FEW)


def _embedded(spec: dict[str, Any]) -> Markup:
    """Write JSON that cannot end the script element it stands in."""
    return Markup(json.dumps(spec, ensure_ascii=False).replace("<", "\\u003c"))  # noqa: S704 - escaped here


def _beside(comparison: Comparison) -> Beside:
    whole, groups = (Grid(tuple(map(Head, part.columns)), part.rows) for part in (comparison.whole, comparison.groups))
    tables = (Table(comparison.whole.title, whole, folded=False),)
    folded = Table(f"{len(groups.rows)} measures by group", groups, folded=True)
    return Beside(comparison.audit, (*tables, folded) if groups.rows else tables)


def _in_lines(part: TextGrid) -> Grid:
    """Set a difference below the value it belongs to."""
    rows = tuple((name, *(cell.replace("; ", "\n") for cell in cells)) for name, *cells in part.rows)
    return Grid(tuple(map(Head, part.columns)), rows)


def _cover(coverage: tuple[Coverage, ...]) -> Table | None:
    """Lay out how much was answered; where that is long, say the least in the line it is folded under."""
    if not coverage:
        return None
    least = min(coverage, key=lambda row: row.usable / max(row.asked, 1))
    share = f"{least.usable / max(least.asked, 1):.1%} of the probes usable at least"
    return Table(f"{len(coverage)} conditions of models: {share}", coverage_grid(coverage), len(coverage) > FEW)


def _settings(sections: tuple[Section, ...]) -> list[Settings]:
    found: dict[tuple[str, str], list[Section]] = {}
    for section in sections:
        found.setdefault((section.audit, json.dumps(section.settings, sort_keys=True)), []).append(section)
    return [
        Settings(
            audit,
            tuple(section.subject for section in alike),
            {name: json.dumps(value, ensure_ascii=False) for name, value in alike[0].settings.items()},
        )
        for (audit, _), alike in found.items()
    ]
