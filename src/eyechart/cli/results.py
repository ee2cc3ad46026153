"""The commands on finished runs: report, compare, export and view."""

import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from eyechart.base.errors import MissingExtraError
from eyechart.base.progress import watched_by
from eyechart.base.registry import import_object, unknown_name
from eyechart.cli import ending, options, printing
from eyechart.data.folder import REPORT
from eyechart.data.store import Store
from eyechart.data.web import Web
from eyechart.reporting import Page, collect, to_json, write_page, write_report
from eyechart.reporting.comparison_table import PART, TEXTS, TextGrid
from eyechart.reporting.grid import POINTS, as_text
from eyechart.reporting.page import render_standings, summarise, summarise_standings
from eyechart.reporting.standings import Standings, as_dict, collect_standings
from eyechart.reporting.thresholds import Threshold, crossed, read_threshold
from eyechart.runs.exports import find_exporter

_VIEWED_HELP = "The folder of a run or of a dataset, or a file of data of any known kind."
_OWN_AUDIT_HELP = "Your own audit, whose pages to add; may be repeated."
_PAGE_HELP = "Also write a self-contained HTML page."
_FORM_HELP = f"Print the tables as {', '.join(TEXTS)} or csv."
_OPTIONS_HELP = "With --ask: the answer options to offer, a set that an audit drew. Default: those of the data."
_HOST_HELP = "The address to listen on; anything but 127.0.0.1 lets other machines connect."
_NAME_HELP = "A host name under which others reach this server; may be repeated."

PageFile = Annotated[Path | None, typer.Option("-o", "--out", help=f"The page to write. Default: {REPORT} in the run.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print a summary in Markdown instead.")]
Runs = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.", show_default=False)]
Base = Annotated[str | None, typer.Option(help="The model to compare the others with. Default: the first.")]
Form = Annotated[str | None, typer.Option("--to", metavar="FORM", help=_FORM_HELP)]
ComparisonPage = Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help=_PAGE_HELP)]
ExportName = Annotated[
    str,
    typer.Option("--to", metavar="WHAT", help="The format to write; see `eyechart ls exports`.", show_default=False),
]
ExportFolder = Annotated[Path, typer.Option("-o", "--out", help="The folder to write to.", show_default=False)]
Ask = Annotated[
    bool, typer.Option("--ask", help="Let people answer probes instead; their answers become the model `human`.")
]
Items = Annotated[int, typer.Option(help="With --ask: how many examples to ask each person about.", min=1)]
Options = Annotated[str, typer.Option(metavar="SET", help=_OPTIONS_HELP, show_default=False)]
Host = Annotated[str, typer.Option(help=_HOST_HELP)]
Port = Annotated[int, typer.Option(help="The port; 0 picks a free one.", min=0, max=65535)]
Names = Annotated[list[str] | None, typer.Option("--name", help=_NAME_HELP)]
PageAudits = Annotated[list[str] | None, typer.Option("--audit", "-a", metavar="FILE.py:CLASS", help=_OWN_AUDIT_HELP)]
Viewed = Annotated[Path, typer.Argument(metavar="RUN", help=_VIEWED_HELP, show_default=False)]
BundleFolder = Annotated[
    Path | None,
    typer.Option("--bundle", metavar="DIR", help="Write a static site that works from disk, instead of serving."),
]
Links = options.AllowLinks  # `view` has an option called `options`
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")]


def report(
    run: options.RunFolder,
    *,
    out: PageFile = None,
    markdown: Markdown = False,
    fail_on: options.FailOn = None,
    allow_links: options.AllowLinks = None,
    json: options.Json = False,
    _trust: options.Trust = False,
    _config: options.Config = None,
) -> None:
    """Write a run's results as one self-contained HTML page.

    With --json or --markdown, prints the contents of the page instead; `--markdown >> $GITHUB_STEP_SUMMARY` adds a
    summary to a CI job. The exit code is 2 if a --fail-on threshold is crossed.
    """
    thresholds = [read_threshold(text) for text in fail_on or ()]
    store = Store(run, Web(links=tuple(allow_links or ())))
    page = collect(store)
    if json:
        typer.echo(to_json(page), nl=False)
    elif markdown:
        typer.echo(summarise(page))
    else:
        typer.echo(f"report: {write_report(store, page, out or store.report_file)}")
    apply_thresholds(page, thresholds)


def apply_thresholds(page: Page, thresholds: Sequence[Threshold]) -> None:
    """Exit with code 2 if any threshold is crossed, after printing which."""
    lines = list(crossed(page, thresholds))
    for line in lines:
        typer.echo(f"crossed: {line}", err=True)
    if lines:
        raise typer.Exit(2)


def compare(
    runs: Runs,
    *,
    out: ComparisonPage = None,
    audit: options.Audits = None,
    base: Base = None,
    to: Form = None,
    markdown: Markdown = False,
    json: options.Json = False,
    _trust: options.Trust = False,
    _config: options.Config = None,
) -> None:
    """Compare models example by example.

    Each difference from the base model has a 95 % interval and a q-value, and each ranked model the share of bootstrap
    samples (of images) in which it comes first. Results that are not means over examples are only listed side by side.
    All runs must use the same data; a model that appears in several runs is listed with the name of the run.
    """
    if to is not None and to not in (*TEXTS, "csv"):
        raise unknown_name("form of a table", to, (*TEXTS, "csv"))
    standings = collect_standings([Store(run) for run in runs], audit or (), base, options.command_line())
    if json:
        printing.print_json(as_dict(standings))
    elif markdown:
        typer.echo(summarise_standings(standings))
    elif to is not None:
        _print_as(standings, to)
    else:
        _print_standings(standings)
    if out is not None:
        page = write_page(render_standings(standings), out)
        typer.echo(f"page: {page}", err=json or markdown or to is not None)


def _print_standings(standings: Standings) -> None:
    ending.print_overall(each.overall for each in standings.entrants)
    for contest in standings.contests:
        _print_grid(contest.whole.title, contest.whole)
        if contest.groups.rows:
            _print_grid(f"{contest.audit} by group", contest.groups)
        for drawing in contest.together:
            grid = as_text(drawing)
            names = tuple(name.removesuffix(POINTS) for name in grid.columns)  # too long for a terminal
            _print_grid(f"{grid.title}, in points", grid._replace(columns=names))
    for sentence in standings.left_out:
        typer.echo(f"not compared by {sentence}")
    if standings.outdated:
        typer.echo(standings.outdated)
    ending.print_learned(replace(each.learned, model=each.name) for each in standings.entrants if each.learned)


def _print_grid(title: str, grid: TextGrid) -> None:
    rows = [[cell.replace(PART, "\n") for cell in row] for row in grid.rows]
    printing.print_table(title, grid.columns, rows)


def _print_as(standings: Standings, form: str) -> None:
    """Print all measures in a form for papers or programs, those by group last."""
    if form == "csv":
        tables = [pl.DataFrame(contest.records, infer_schema_length=None) for contest in standings.contests]
        typer.echo(pl.concat(tables, how="vertical_relaxed").write_csv(), nl=False)
        return
    for contest in standings.contests:
        for grid in (contest.whole, contest.groups):
            if grid.rows:
                typer.echo(TEXTS[form](grid))


def export(
    run: options.RunFolder,
    *,
    to: ExportName,
    out: ExportFolder,
    audit: options.OwnAudits = None,
    allow_http: options.AllowHttp = False,
    allow_private_http: options.AllowPrivateHttp = False,
    allow_links: options.AllowLinks = None,
    json: options.Json = False,
    _trust: options.Trust = False,
    _config: options.Config = None,
) -> None:
    """Export a run as files for other tools.

    `eyechart ls exports` lists the formats.
    """
    store = Store(run, Web(allow_http, allow_private_http, links=tuple(allow_links or ())))
    _ = store.manifest  # fails early if the folder is not a run
    written = find_exporter(to, audit or ())(store, out)
    if json:
        printing.print_json(written)
    else:
        printing.print_table(f"written to {out}", ("file", "entries"), list(written.items()))


def view(
    run: Viewed,
    *,
    bundle: BundleFolder = None,
    ask: Ask = False,
    items: Items = 40,
    options: Options = "",
    seed: options.Seed = 0,
    host: Host = "127.0.0.1",
    port: Port = 0,
    name: Names = None,
    audit: PageAudits = None,
    allow_links: Links = None,
    open: Open = True,  # noqa: A002 - the customary name of this option
    _trust: options.Trust = False,
    _config: options.Config = None,
) -> None:
    """Explore a run, or a dataset before any audit, in the browser.

    Prints a URL with an access token; requests without it are refused. Stop it with Ctrl-C. Needs the `view` extra.
    """
    _require_extra()
    # Imported by name, because they need the extra.
    server_address: Any = import_object("eyechart.viewing.server:ServerAddress")
    ask_people: Any = import_object("eyechart.viewing.server:ask_people")
    view_run: Any = import_object("eyechart.viewing.server:view_run")

    def announce(url: str) -> None:
        typer.echo(f"open: {url}")
        if open:
            webbrowser.open(url)

    open_browsed: Any = import_object("eyechart.viewing.browsing:open_browsed")
    store: Store = open_browsed(run, Web(links=tuple(allow_links or ())))
    if bundle is not None:
        write_bundle: Any = import_object("eyechart.viewing.bundle:write_bundle")
        with watched_by(printing.progress_bars(silent=False)):
            written = write_bundle(store, bundle, tuple(audit or ()))
        typer.echo(f"bundle: {bundle / 'index.html'} ({', '.join(f'{n:,} {name}' for name, n in written.items())})")
        return
    server = server_address(host, port, name or ())
    if ask:
        ask_people(store, server, announce, items=items, seed=seed, options=options)
    else:
        view_run(store, server, announce, tuple(audit or ()))


def _require_extra() -> None:
    try:
        import fastapi
        import uvicorn
    except ImportError as error:
        advice = "install them: pip install 'eyechart[view]'"
        raise MissingExtraError("the libraries fastapi and uvicorn", str(error), advice) from None
    del fastapi, uvicorn
