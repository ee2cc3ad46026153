"""Set a collected page as one HTML file that needs nothing else: no script, no request, no font."""

import json
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby
from typing import Any

from eyechart.reporting.charts import caption, draw, drawable
from eyechart.reporting.contents import MeasureRow, Page, Section
from eyechart.reporting.drawing import Drawing
from eyechart.reporting.grid import Grid, count_grid, coverage_grid, drawing_grid, measure_grid, stock_grid
from eyechart.result import State

FEW = 12  # rows of a table that stand open; longer ones are folded
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
    table: Table | None


@dataclass(frozen=True)
class Block:
    """A section as it is set."""

    anchor: str
    section: Section
    measures: Grid
    groups: tuple[Table, ...]
    figures: tuple[Figure, ...]
    counts: Grid


@dataclass(frozen=True)
class Settings:
    """The settings that some subjects of an audit share."""

    audit: str
    subjects: tuple[str, ...]
    values: dict[str, str]


def render(page: Page) -> str:
    """Set a page as HTML; all that comes from data is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    room = Environment(
        loader=PackageLoader("eyechart.reporting", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return room.get_template("template.html").render(**_content(page)).lstrip()


def _content(page: Page) -> dict[str, Any]:
    from markupsafe import Markup

    style = files("eyechart.reporting").joinpath("style.css").read_text(encoding="utf-8")
    blocks = [_block(section, f"section-{place}") for place, section in enumerate(page.sections, start=1)]
    return {
        "page": page,
        "style": Markup(style),  # noqa: S704 - our own file
        "badges": BADGES,
        "read": count_grid(page.facts.counts) if page.facts else None,
        "coverage": coverage_grid(page.coverage),
        "stocks": stock_grid(page.stocks),
        "summary": [(row, f"section-{place}") for place, row in enumerate(page.summary, start=1)],
        "overviews": [_figure(drawing, f"overview-{place}") for place, drawing in enumerate(page.overviews, start=1)],
        "audits": [(audit, list(found)) for audit, found in groupby(blocks, key=lambda block: block.section.audit)],
        "settings": _settings(page.sections),
    }


def _block(section: Section, anchor: str) -> Block:
    whole = [row for row in section.measures if row.by is None]
    return Block(
        anchor=anchor,
        section=section,
        measures=measure_grid(whole),
        groups=_groups(section.measures),
        figures=tuple(_figure(drawing, f"{anchor}-{place}") for place, drawing in enumerate(section.drawings, start=1)),
        counts=count_grid(section.counts),
    )


def _groups(measures: tuple[MeasureRow, ...]) -> tuple[Table, ...]:
    """Make a table of the measures for each column they are broken down by."""
    names = sorted({row.by for row in measures if row.by})
    grids = {name: measure_grid([row for row in measures if row.by == name]) for name in names}
    return tuple(
        Table(f"{len(grid.rows)} measures by {name}", grid, len(grid.rows) > FEW) for name, grid in grids.items()
    )


def _figure(drawing: Drawing, mark: str) -> Figure:
    from markupsafe import Markup

    pictured = drawable(drawing)
    # Vega escapes the text it draws; a test holds it to that.
    svg = Markup(draw(drawing, mark)) if pictured else None  # noqa: S704
    grid = drawing_grid(drawing)
    elsewhere = pictured and drawing.table in ("measures", "summary")
    endless = drawing.kind == "scatter" and len(grid.rows) > MOST_POINTS
    name = f"The numbers: {len(grid.rows):,} rows"
    told = bool(grid.rows) and not elsewhere and not endless
    table = Table(name, grid, pictured or len(grid.rows) > FEW) if told else None
    return Figure(drawing.title, drawing.reading, caption(drawing), svg, table)


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
