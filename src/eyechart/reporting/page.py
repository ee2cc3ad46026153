"""Render a run or a comparison as one HTML file, which loads nothing and works without scripts, or as Markdown."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby
from typing import Any

from eyechart.data.result import State
from eyechart.reporting.behind import Finding
from eyechart.reporting.charts import drawable
from eyechart.reporting.comparison_table import TextGrid, as_code, escape, to_markdown, with_way
from eyechart.reporting.contents import Comparison, Coverage, Page
from eyechart.reporting.dots import Axis, axes_of, read_cells, say_cells
from eyechart.reporting.drawing import Drawing
from eyechart.reporting.gallery import Thumbnails, scene_pictures
from eyechart.reporting.grid import (
    Grid,
    Head,
    as_csv,
    as_text,
    beside_grid,
    count_grid,
    coverage_grid,
    measure_grid,
    stock_grid,
)
from eyechart.reporting.overall import Overall
from eyechart.reporting.palette import NO_LOOKS, Palette
from eyechart.reporting.rendering import FEW, Figure, PageTable, fill, meaning
from eyechart.reporting.sections import MeasureRow, Section, Summary, join_questions
from eyechart.reporting.standings import AuditRanking, Entrant, Standings

ALWAYS_EXPLAINED = ("margin", "interval")  # below each chart, beside its measures
WORDS = ("text", "note", "column")  # fields of a measure that are not in its CSV
SIGNS: dict[State, str] = {"yes": "✅ yes", "no": "❌ no", "cannot tell": "❔ cannot tell", "not tested": "not tested"}
COLUMNS = ("audit", "subject", "verdict", "in one sentence", "value [interval]", "n", "clusters")


def render(page: Page, thumbnails: Thumbnails | None = None, behind: Sequence[Finding] = (), run: str = "") -> str:
    """Render a page as HTML, escaping everything that comes from data, with the examples behind its findings."""
    palette = Palette(page.looks)
    content = _content(page, thumbnails or {}, palette) | {"behind": _behind(behind, page.sections), "run": run}
    return fill("report.html", content, palette, alive=any(map(drawable, page.drawings())))


def summarise(page: Page) -> str:
    """Summarise the verdicts and the comparison of models over all examples, as Markdown for GitHub."""
    lines = [f"# {escape(page.title)}", ""]
    if page.facts:
        size = f"{page.facts.examples:,} examples on {page.facts.images:,} images."
        lines += [f"{size} {escape(page.facts.describe_division())}".rstrip(), ""]
    if page.outdated:
        lines += [page.outdated, ""]
    lines += _list_overall(page.overall)
    lines.append(to_markdown(TextGrid("Verdicts", COLUMNS, tuple(map(_verdict_row, page.summary)))))
    for comparison in page.comparisons:
        lines += [to_markdown(comparison.whole), *map(_as_markdown, comparison.drawings)]
    if page.left_out:
        reasons = "; ".join(f"{audit} ({why})" for audit, why in page.left_out.items())
        lines += [escape(f"Left out: {reasons}."), ""]
    if page.origin and page.origin.command:
        lines += ["```console", *(f"$ {one}" for one in page.origin.command.splitlines()), "```", ""]
    return "\n".join(lines)


def _list_overall(lines: Iterable[Overall]) -> list[str]:
    """List the line of each model, with its commands."""
    items = []
    for line in lines:
        commands = [f"{as_code(command)} would test {escape(names)}." for names, command in line.tests()]
        items.append(" ".join([f"- **{escape(line.model)}**: {escape(line.sentence)}", *commands]))
    return [*items, ""] if items else []


def _as_markdown(drawing: Drawing) -> str:
    return "\n".join([to_markdown(as_text(drawing)), escape(drawing.reading), ""])


def _content(page: Page, thumbnails: Thumbnails, palette: Palette) -> dict[str, Any]:
    draw = partial(Figure.of, palette=palette, thumbnails=thumbnails)
    blocks = [
        _block(audit, list(sections), page, draw)
        for audit, sections in groupby(page.sections, key=lambda section: section.audit)
    ]
    measured = [
        {"audit": section.audit, "subject": section.subject, **_record(row)}
        for section in page.sections
        for row in section.measures
    ]
    lost = [row for row in page.facts.counts if row.reason] if page.facts else []
    return {
        "page": page,
        "division": page.facts.describe_division() if page.facts else "",
        "outdated": page.outdated,
        "lost": count_grid(tuple(lost)),
        "coverage": _cover(page.coverage),
        "stocks": stock_grid(page.stocks),
        "left_out": Grid((Head("audit"), Head("why")), tuple(page.left_out.items())),
        "verdicts_csv": as_csv([vars(row) | {"cautions": row.short_cautions or None} for row in page.summary]),
        "measures_csv": as_csv(measured),
        "scenes": scene_pictures(page.glance.showcase, thumbnails),
        "axes": {block["audit"]: block["axis"] for block in blocks},
        "anchors": {block["audit"]: f"audit-{number}" for number, block in enumerate(blocks, start=1)},
        "audits": blocks,
        "comparisons": [
            (comparison.audit, _tables(comparison), [draw(drawing) for drawing in comparison.drawings])
            for comparison in page.comparisons
        ],
        "settings": _settings(page.sections),
    }


def _behind(findings: Iterable[Finding], sections: Iterable[Section]) -> dict[tuple[str, str], dict[str, Any]]:
    """Lay out the examples behind findings, by audit and model, with the part of the page that they are in."""
    parts = {
        (each.audit, each.subject): f"section-{number}"
        for number, each in enumerate(sections, start=1)
        if each.role == "result"
    }
    return {
        (each.audit, each.model): {
            "part": parts[each.audit, each.model],
            "title": f"{each.model}: {_first_of(len(each.rows), each.n)} behind it",
            "grid": Grid(tuple(Head(name, number=name == "value") for name in each.head), each.rows),
        }
        for each in findings
    }


def _first_of(shown: int, n: int) -> str:
    return f"the {n:,} examples" if shown == n else f"{shown} of the {n:,} examples"


def _record(row: MeasureRow) -> dict[str, Any]:
    return {name: value for name, value in asdict(row).items() if name not in WORDS}


def _block(audit: str, sections: list[Section], page: Page, draw: Callable[[Drawing], Figure]) -> dict[str, Any]:
    """Lay out an audit for the template: what it found of each model, the chart of that, and all the rest."""
    cells = [(line.model, cell) for line in page.glance.models for cell in line.cells if cell.audit == audit]
    measured = [(model, cell) for model, cell in cells if cell.value is not None]
    numbers = {id(section): number for number, section in enumerate(page.sections, start=1)}
    return {
        "audit": audit,
        "question": join_questions(row for section in sections for row in section.summaries()),
        "judged": sections[0].judged,
        "axis": Axis.of(cell for _, cell in cells),
        "cells": measured,
        "title": say_cells(measured),
        "reading": read_cells(measured),
        "terms": [name for name in (*(cell.measure for _, cell in measured), *ALWAYS_EXPLAINED) if meaning(name)],
        "sections": sections,
        "galleries": [
            {"subject": section.subject, "figure": draw(drawing)}
            for section in sections
            for drawing in section.drawings
            if drawing.kind == "gallery"
        ],
        "parts": [_part(section, f"section-{numbers[id(section)]}", draw) for section in sections],
    }


def _part(section: Section, anchor: str, draw: Callable[[Drawing], Figure]) -> dict[str, Any]:
    """Lay out everything about one subject, which is shown when it is opened."""
    whole = [row for row in section.measures if row.by is None]
    return {
        "anchor": anchor,
        "section": section,
        "measures": _measures(f"measures of {section.subject}", whole),
        "groups": _groups(section.measures),
        "figures": [draw(drawing) for drawing in section.drawings if drawing.kind != "gallery"],
        "counts": count_grid(section.counts),
    }


def _groups(measures: tuple[MeasureRow, ...]) -> list[PageTable]:
    """Make a table of the measures for each column they are broken down by."""
    names = sorted({row.by for row in measures if row.by})
    chosen = {name: [row for row in measures if row.by == name] for name in names}
    return [_measures(f"{len(rows)} measures by {name}", rows) for name, rows in chosen.items()]


def _measures(title: str, rows: list[MeasureRow]) -> PageTable:
    grid = measure_grid(rows)
    return PageTable(title, grid, len(grid.rows) > FEW)


def _tables(comparison: Comparison) -> list[PageTable]:
    """Make the tables of a comparison: one over all examples, and a folded one by group."""
    whole, groups = (beside_grid(comparison.records, grouped=grouped) for grouped in (False, True))
    tables = [PageTable(comparison.whole.title, whole, folded=False)]
    if groups.rows:
        tables.append(PageTable(f"{len(groups.rows)} measures by group", groups, folded=True))
    return tables


def _cover(coverage: tuple[Coverage, ...]) -> PageTable | None:
    """Lay out how many probes were answered; the title gives the smallest share, for when the table is folded."""
    if not coverage:
        return None
    share = f"at least {min(row.share for row in coverage):.1%} of the probes usable"
    return PageTable(f"{len(coverage)} conditions of models: {share}", coverage_grid(coverage), len(coverage) > FEW)


def _settings(sections: tuple[Section, ...]) -> list[tuple[str, list[str], dict[str, str]]]:
    """List the settings of each audit, once for all subjects that share them."""
    shared: dict[tuple[str, str], list[Section]] = {}
    for section in sections:
        shared.setdefault((section.audit, json.dumps(section.settings, sort_keys=True)), []).append(section)
    return [
        (
            audit,
            [section.subject for section in alike],
            {name: json.dumps(value, ensure_ascii=False) for name, value in alike[0].settings.items()},
        )
        for (audit, _), alike in shared.items()
    ]


def _verdict_row(row: Summary) -> tuple[str, ...]:
    n, clusters = ("" if number is None else f"{number:,}" for number in (row.n, row.clusters))
    subject = row.subject + "".join(f" (⚠ {caution.short})" for caution in row.cautions)
    audit = f"{row.audit}: {row.question}" if row.question else row.audit
    verdict = f"{SIGNS[row.state]}: {row.label}" if row.label else SIGNS[row.state]
    return audit, subject, verdict, row.sentence, f"{row.text} {row.measured}", n, clusters


RANKED = (
    Head("rank", number=True),
    Head("model"),
    Head("value [interval]", number=True),
    Head("n", number=True),
    Head("clusters", number=True),
    Head("leads in", number=True),
    Head("difference [interval]", number=True),
    Head("n of both", number=True),
    Head("q", number=True),
)
FEW_FIGURES = 2  # of an audit to show; the others are folded


def render_standings(page: Standings) -> str:
    """Render standings as HTML, escaping everything that comes from data."""
    blocks = [_block_of_ranking(ranking, f"contest-{number}") for number, ranking in enumerate(page.contests, start=1)]
    content = {
        "page": page,
        "blocks": blocks,
        "with_way": with_way,
        "leaders": _with_heads(page.leaders()),
        "entrants": _entrants(page.entrants),
        "axes": axes_of(page.glance),
        "anchors": {block["contest"].audit: block["anchor"] for block in blocks},
        "commands": dict.fromkeys(entrant.command for entrant in page.entrants if entrant.command),
        "learned": [entrant for entrant in page.entrants if entrant.learned],
    }
    alive = any(figure.spec for block in blocks for figure in block["figures"])
    return fill("compare.html", content, NO_LOOKS, alive=alive)


def summarise_standings(page: Standings) -> str:
    """Summarise standings as Markdown for GitHub."""
    size = f"{page.facts.examples:,} examples on {page.facts.images:,} images."
    lines = [f"# {escape(page.title)}", "", size, ""]
    lines += [page.outdated, ""] if page.outdated else []
    lines += [*_list_overall(entrant.overall for entrant in page.entrants), to_markdown(page.leaders())]
    for ranking in page.contests:
        title = f"{ranking.audit}: {with_way(ranking.measure, ranking.better)}, differences from {ranking.base}"
        rows = tuple(standing.cells() for standing in ranking.standings)
        lines += [to_markdown(TextGrid(title, tuple(head.name for head in RANKED), rows)), escape(ranking.sentence), ""]
        lines += map(_as_markdown, ranking.together)
    lines += [escape(f"Not compared: {reason}.") for reason in page.left_out]
    if page.command:
        lines += ["", "```console", *(f"$ {one}" for one in page.command.splitlines()), "```", ""]
    return "\n".join(lines)


def _block_of_ranking(ranking: AuditRanking, anchor: str) -> dict[str, Any]:
    """Lay out a ranking for the template."""
    figures = [Figure.of(drawing, NO_LOOKS, {}) for drawing in ranking.drawings]
    whole, groups = (beside_grid(ranking.records, grouped=grouped) for grouped in (False, True))
    tables = [PageTable(f"All {len(whole.rows)} measures, side by side", whole, folded=True)]
    if groups.rows:
        tables.append(PageTable(f"{len(groups.rows)} measures by group", groups, folded=True))
    return {
        "anchor": anchor,
        "contest": ranking,
        "ranking": Grid(RANKED, tuple(standing.cells() for standing in ranking.standings)),
        "figures": figures[:FEW_FIGURES],
        "together": [Figure.of(drawing, NO_LOOKS, {}) for drawing in ranking.together],
        "further": figures[FEW_FIGURES:],
        "tables": tables,
        "csv": as_csv(ranking.records),  # every value and difference
    }


def _entrants(entrants: tuple[Entrant, ...]) -> Grid:
    head = (Head("model"), Head("run"), Head("seed of the run", number=True))
    return Grid(head, tuple((entrant.name, entrant.run, str(entrant.seed)) for entrant in entrants))


def _with_heads(part: TextGrid) -> Grid:
    numbers = ("value [interval]", "n", "leads in")
    return Grid(tuple(Head(name, number=name in numbers) for name in part.columns), part.rows)
