"""Set a page as one HTML file that needs nothing else: no request, no font; without scripts all is there too."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from typing import Any

from eyechart.reporting.contents import Comparison, Coverage, MeasureRow, Page, Section, Summary
from eyechart.reporting.divided import say_division
from eyechart.reporting.drawing import Drawing
from eyechart.reporting.gallery import Thumbnails
from eyechart.reporting.grid import Grid, Head, beside_grid, count_grid, coverage_grid, measure_grid, stock_grid
from eyechart.reporting.links import as_csv
from eyechart.reporting.palette import Palette
from eyechart.reporting.setting import FEW, Figure, Table, fill, make_figure

WORDS = ("said", "note")  # of a measure, which stand on the page
FEW_MODELS = 2  # whose sections stand open


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
class Verdicts:
    """The verdicts of an audit, each with the place of its section."""

    audit: str
    question: str
    judged: str
    rows: tuple[tuple[Summary, str], ...]


@dataclass(frozen=True)
class Settings:
    """The settings that some subjects of an audit share."""

    audit: str
    subjects: tuple[str, ...]
    values: dict[str, str]


def render(page: Page, thumbnails: Thumbnails | None = None) -> str:
    """Set a page as HTML; all that comes from data is escaped."""
    palette = Palette(page.looks)
    content = _content(page, thumbnails or {}, palette)
    figures = [
        *content["overviews"],
        *(figure for _, blocks in content["audits"] for each in blocks for figure in each.figures),
    ]
    return fill("report.html", content, palette, alive=any(figure.spec for figure in figures))


def _content(page: Page, thumbnails: Thumbnails, palette: Palette) -> dict[str, Any]:
    few = len({section.subject for section in page.sections if section.role == "result"}) <= FEW_MODELS
    numbered = enumerate(page.sections, start=1)
    draw = partial(make_figure, thumbnails=thumbnails, palette=palette)
    blocks = [_block(section, f"section-{place}", draw, few=few) for place, section in numbered]
    overviews = [draw(drawing, f"overview-{place}") for place, drawing in enumerate(page.overviews, start=1)]
    return {
        "page": page,
        "division": say_division(page.facts) if page.facts else "",
        "outdated": page.outdated,
        "read": count_grid(page.facts.counts) if page.facts else None,
        "coverage": _cover(page.coverage),
        "stocks": stock_grid(page.stocks),
        "left_out": Grid((Head("audit"), Head("why")), tuple(page.left_out.items())),
        "summary": tuple(_by_audit(page.summary)),
        "verdicts_csv": as_csv([vars(row) | {"cautions": _short(row)} for row in page.summary]),
        "overviews": overviews,
        "comparisons": tuple(map(_beside, page.comparisons)),
        "audits": [(audit, list(found)) for audit, found in groupby(blocks, key=lambda block: block.section.audit)],
        "settings": _settings(page.sections),
    }


def _by_audit(summary: tuple[Summary, ...]) -> Iterator[Verdicts]:
    """Put the verdicts of each audit together."""
    placed = [(row, f"section-{place}") for place, row in enumerate(summary, start=1)]
    for audit, found in groupby(placed, key=lambda pair: pair[0].audit):
        rows = tuple(found)
        question = next((row.question for row, _ in rows if row.question), "")
        yield Verdicts(audit, question, rows[0][0].judged, rows)


def _short(row: Summary) -> str | None:
    return "; ".join(caution.short for caution in row.cautions) or None


def _block(section: Section, anchor: str, draw: Callable[[Drawing, str], Figure], *, few: bool) -> Block:
    whole = [row for row in section.measures if row.by is None]
    drawings = enumerate(section.drawings, start=1)
    return Block(
        anchor=anchor,
        section=section,
        measures=_measures(f"measures of {section.subject}", whole),
        groups=_groups(section.measures),
        figures=tuple(draw(drawing, f"{anchor}-{place}") for place, drawing in drawings),
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


def _beside(comparison: Comparison) -> Beside:
    whole, groups = (beside_grid(part) for part in (comparison.whole, comparison.groups))
    tables = (Table(comparison.whole.title, whole, folded=False),)
    folded = Table(f"{len(groups.rows)} measures by group", groups, folded=True)
    return Beside(comparison.audit, (*tables, folded) if groups.rows else tables)


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
