"""Render collected standings as one HTML file or as Markdown."""

from typing import Any

from eyechart.reporting.comparison_table import TextGrid, to_markdown, with_way
from eyechart.reporting.grid import Grid, Head, as_csv, beside_grid
from eyechart.reporting.palette import NO_LOOKS
from eyechart.reporting.rendering import Figure, PageTable, fill
from eyechart.reporting.standings import AuditRanking, Entrant, Standings

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
    blocks = [_block(ranking, f"contest-{number}") for number, ranking in enumerate(page.contests, start=1)]
    content = {
        "page": page,
        "blocks": blocks,
        "with_way": with_way,
        "leaders": _with_heads(page.leaders()),
        "entrants": _entrants(page.entrants),
        "commands": dict.fromkeys(entrant.command for entrant in page.entrants if entrant.command),
        "learned": [entrant for entrant in page.entrants if entrant.learned],
    }
    alive = any(figure.spec for block in blocks for figure in block["figures"])
    return fill("compare.html", content, NO_LOOKS, alive=alive)


def summarise_standings(page: Standings) -> str:
    """Summarise standings as Markdown for GitHub."""
    lines = [f"# {page.title}", "", f"{page.facts.examples:,} examples on {page.facts.images:,} images.", ""]
    lines += [page.outdated, ""] if page.outdated else []
    lines.append(to_markdown(page.leaders()))
    for ranking in page.contests:
        title = f"{ranking.audit}: {with_way(ranking.measure, ranking.better)}, differences from {ranking.base}"
        rows = tuple(standing.cells() for standing in ranking.standings)
        lines += [to_markdown(TextGrid(title, tuple(head.name for head in RANKED), rows)), ranking.sentence, ""]
    lines += [f"Not compared: {reason}." for reason in page.left_out]
    if page.command:
        lines += ["", "```console", f"$ {page.command}", "```", ""]
    return "\n".join(lines)


def _block(ranking: AuditRanking, anchor: str) -> dict[str, Any]:
    """Lay out a ranking for the template."""
    drawings = enumerate(ranking.drawings, start=1)
    figures = [Figure.of(drawing, f"{anchor}-{number}", NO_LOOKS, {}) for number, drawing in drawings]
    whole, groups = (beside_grid(part) for part in (ranking.whole, ranking.groups))
    tables = [PageTable(f"All {len(whole.rows)} measures, side by side", whole, folded=True)]
    if groups.rows:
        tables.append(PageTable(f"{len(groups.rows)} measures by group", groups, folded=True))
    return {
        "anchor": anchor,
        "contest": ranking,
        "ranking": Grid(RANKED, tuple(standing.cells() for standing in ranking.standings)),
        "figures": figures[:FEW_FIGURES],
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
