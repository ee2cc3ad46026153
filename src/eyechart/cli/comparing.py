"""The verb that sets models side by side."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from eyechart.cli import options, show
from eyechart.cli.running import command
from eyechart.registry import unknown_name
from eyechart.reporting import write_page
from eyechart.reporting.comparing import PART, TEXTS, TextGrid
from eyechart.reporting.standings import Standings, as_dict, collect_standings
from eyechart.reporting.standings_page import render_standings, summarise_standings
from eyechart.store import Store

Runs = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.", show_default=False)]
Base = Annotated[str | None, typer.Option(help="The model to compare the others with. Default: the first.")]
Form = Annotated[str | None, typer.Option("--to", metavar="FORM", help=f"Print as {', '.join(TEXTS)} or csv.")]
Page = Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write one self-contained page.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print a summary in Markdown instead.")]


def compare(
    runs: Runs,
    *,
    out: Page = None,
    audit: options.Audits = None,
    base: Base = None,
    to: Form = None,
    markdown: Markdown = False,
    json: options.Json = False,
    _config: options.Config = None,
) -> None:
    """Set models side by side, example by example.

    Each difference to the base model comes with its interval and a q-value, each rank with how often it holds when
    images are drawn again; results that do not rest on examples are only shown beside each other. Runs must be on the
    same data; a model that several runs have is named with its run.
    """
    if to is not None and to not in (*TEXTS, "csv"):
        raise unknown_name("form of a table", to, (*TEXTS, "csv"))
    found = collect_standings([Store(run) for run in runs], audit or (), base, command())
    if json:
        show.print_json(as_dict(found))
    elif markdown:
        typer.echo(summarise_standings(found))
    elif to is not None:
        _print_as(found, to)
    else:
        _print(found)
    if out is not None:
        typer.echo(f"page: {write_page(render_standings(found), out)}", err=json or markdown or to is not None)


def _print(found: Standings) -> None:
    for contest in found.contests:
        _print_grid(contest.whole.title, contest.whole)
        if contest.groups.rows:
            _print_grid(f"{contest.audit} by group", contest.groups)
    for sentence in found.left_out:
        typer.echo(f"not compared by {sentence}")
    show.print_learned(replace(each.learned, model=each.name) for each in found.entrants if each.learned)


def _print_grid(title: str, grid: TextGrid) -> None:
    rows = [[cell.replace(PART, "\n") for cell in row] for row in grid.rows]
    show.print_table(title, grid.columns, rows)


def _print_as(found: Standings, form: str) -> None:
    """Print for a paper or a program: all measures, those by group after the others."""
    if form == "csv":
        tables = [pl.DataFrame(contest.records, infer_schema_length=None) for contest in found.contests]
        typer.echo(pl.concat(tables, how="vertical_relaxed").write_csv(), nl=False)
        return
    for contest in found.contests:
        for grid in (contest.whole, contest.groups):
            if grid.rows:
                typer.echo(TEXTS[form](grid))
