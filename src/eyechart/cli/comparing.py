"""The verb that sets models side by side."""

from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from eyechart.cli import options, show
from eyechart.comparison import compare as compare_results
from eyechart.comparison import results_of
from eyechart.errors import DataError
from eyechart.layout import Layout
from eyechart.registry import unknown_name
from eyechart.reporting.comparing import TEXTS, lay_out
from eyechart.result import Result

Runs = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.", show_default=False)]
Base = Annotated[str | None, typer.Option(help="The model to compare the others with. Default: the first.")]
Form = Annotated[str | None, typer.Option("--to", metavar="FORM", help=f"Print as {', '.join(TEXTS)} or csv.")]


def compare(
    runs: Runs,
    *,
    audit: options.Audits = None,
    base: Base = None,
    to: Form = None,
    json: options.Json = False,
    _config: options.Config = None,
) -> None:
    """Set models side by side, example by example.

    Each difference to the base model comes with its interval and a q-value; results that do not rest on examples are
    only shown beside each other. Runs must be on the same data.
    """
    layouts = [Layout(run) for run in runs]
    found = results_of(layouts)
    if not found:
        raise DataError("results in the runs", "none", "run `eyechart audit` or `eyechart judge` first")
    for name in audit or ():
        if name not in found:
            raise unknown_name("audit with results", name, tuple(found))
    tables = [_compare(found[name], layouts[0], base) for name in audit or found]
    if json:
        show.print_json(pl.concat(tables).to_dicts())
    else:
        _print(tables, to)


def _compare(results: dict[str, Result], run: Layout, base: str | None) -> pl.DataFrame:
    columns = {name for result in results.values() for name in result.measures["by"].drop_nulls()}
    return compare_results(results, run.data_with(sorted(columns)), base)


def _print(tables: list[pl.DataFrame], to: str | None) -> None:
    if to == "csv":
        typer.echo(pl.concat(tables).write_csv(), nl=False)
        return
    if to is not None and to not in TEXTS:
        raise unknown_name("form of a table", to, (*TEXTS, "csv"))
    for grid in map(lay_out, tables):
        if to is None:
            show.print_table(grid.title, grid.columns, grid.rows)
        else:
            typer.echo(TEXTS[to](grid))
