"""What the command line prints: tables for people, JSON for programs, and progress on the way."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import polars as pl
import typer

from eyechart.layout import Layout
from eyechart.reporting import collect, summary_table, to_json
from eyechart.run import Advance, Progress, quiet


def print_json(content: object) -> None:
    """Print JSON and nothing else."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table in which numbers stand right and text is taken as it is."""
    from rich.console import Console
    from rich.table import Table

    content = [list(row) for row in rows]
    table = Table(title=title, title_justify="left", title_style="bold")
    for at, name in enumerate(columns):
        counts = bool(content) and all(isinstance(row[at], int) for row in content)
        table.add_column(name, justify="right" if counts else "left", overflow="fold")
    for row in content:
        table.add_row(*map(_cell, row))
    Console().print(table)


def print_counts(title: str, counts: pl.DataFrame) -> None:
    """Print what was read, dropped, missing and extra, with reasons."""
    columns = [name for name in counts.columns if counts[name].is_not_null().any()]
    print_table(title, columns, counts.select(columns).rows())


def print_calls(title: str, calls: Mapping[str, int], *, as_json: bool) -> None:
    """Print a number for each condition."""
    if as_json:
        print_json(calls)
    else:
        print_table(title, ("condition", "n"), [*calls.items(), ("all", sum(calls.values()))])


def print_summary(run: Layout, *, as_json: bool) -> None:
    """Print the verdict of every study and result in a run."""
    page = collect(run)
    if as_json:
        typer.echo(to_json(page), nl=False)
        return
    rows = [
        (line.audit, line.subject, line.state, line.sentence, line.n, line.clusters) for line in summary_table(page)
    ]
    print_table(
        page.title, ("audit", "subject", "verdict", "in words (points, with 95 % interval)", "n", "clusters"), rows
    )


def progress_bars(*, silent: bool) -> Progress:
    """Choose how progress is shown: bars on standard error, or nothing where a program reads along."""
    return quiet if silent else _bar


@contextmanager
def _bar(label: str, total: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=total)
        yield lambda n: bars.advance(task, n)


def _cell(value: object) -> str:
    from rich.markup import escape

    return escape(f"{value:,}" if isinstance(value, int) else str(value or ""))
