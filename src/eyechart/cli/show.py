"""What the command line prints: tables for people, JSON for programs, and progress on the way."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import polars as pl
import typer

from eyechart.run import Advance, Progress, quiet


def print_json(content: object) -> None:
    """Print JSON and nothing else."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; numbers stand right."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold")
    content = [list(row) for row in rows]
    for at, name in enumerate(columns):
        numeric = bool(content) and all(isinstance(row[at], int | float | None) for row in content)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in content:
        # Text goes in as it is: square brackets in a question are not markup.
        table.add_row(*("" if cell is None else _plain(cell) for cell in row))
    Console().print(table)


def print_counts(title: str, counts: pl.DataFrame) -> None:
    """Print what was read, dropped, missing and extra, with reasons."""
    shown = counts.select("condition", "status", "reason", "n")
    columns = [name for name in shown.columns if name == "n" or shown[name].is_not_null().any()]
    print_table(title, columns, shown.select(columns).rows())


def counts_as_dicts(counts: pl.DataFrame) -> list[Mapping[str, object]]:
    """Bring counts into a form JSON can take."""
    return [dict(row) for row in counts.iter_rows(named=True)]


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


def _plain(cell: object) -> str:
    from rich.markup import escape

    return escape(f"{cell:,}" if isinstance(cell, int) else str(cell))
