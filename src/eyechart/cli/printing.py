"""Printing: tables for people, JSON for programs, and progress bars."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import environ
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING

import polars as pl
import typer

from eyechart.base.progress import Advance, Progress, quiet
from eyechart.data.dataset import Dataset
from eyechart.data.protocols import Model
from eyechart.data.store import Store
from eyechart.data.tables import STATUSES
from eyechart.models.file import PredictionFiles

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

WIDTH = 80  # columns of sentences where nobody watches


def terminal_width() -> int:
    """Return the columns of the terminal; 80 where there is none."""
    return get_terminal_size((WIDTH, 24)).columns


def is_watched() -> bool:
    """Return whether somebody reads the output in a terminal, where it may be coloured."""
    return sys.stdout.isatty() and "NO_COLOR" not in environ


def wrap_sentence(text: str, indent: str = "") -> str:
    """Break a sentence at words at the width of the terminal; what may be copied, such as paths, stays whole."""
    return fill(text, terminal_width(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def print_error(message: str) -> None:
    """Print what went wrong: broken at words in a terminal, and in one line for programs, which search it."""
    line = f"eyechart: {' '.join(message.split())}"
    typer.echo(wrap_sentence(line, "  ") if sys.stderr.isatty() else line, err=True)


def print_json(content: object) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, with numbers right-aligned and text printed literally."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    content = [[_cell(value) for value in row] for row in rows]
    table = Table(box=box.SIMPLE_HEAD)
    for name, *cells in zip(columns, *content, strict=True):
        is_count = all(cell.replace(",", "").isdecimal() for cell in cells if cell)
        is_narrow = max(map(len, cells), default=0) < 30
        table.add_column(Text(name), justify="right" if is_count else "left", no_wrap=is_narrow)
    for row in content:
        table.add_row(*map(Text, row))  # a plain string would be read as markup, and `:cat:` as a picture
    # A pipe has no width, and wrapping at 80 columns would break lines that scripts search for.
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(Text(title), style="bold")
    console.print(table)


def print_layout(data: Dataset, *, verbose: bool) -> None:
    """Print in one line which columns were read as what, and what was lost; with -v a line for each of ours."""
    origins = {name: origin for name, origin in data.layout.items() if name != "unique id"}
    read = "; ".join(f"{name} = {origin}" for name, origin in origins.items())
    rows = lost_rows(data.counts).select("status", "reason", "n").rows()
    lost = [f"{n:,} {status}" + (f" ({reason})" if reason else "") for status, reason, n in rows]
    if origins or lost:
        parts = [f" read as: {read}" if read else "", f"; lost: {', '.join(lost)}" if lost else ""]
        typer.echo(data.name + "".join(parts))
    if verbose and origins and data.height:
        row = data.kept.lazy().head(1).collect().row(0, named=True)
        for name, value in row.items():
            typer.echo(f"  {name} ({origins.get(name, 'as it is')}): {value}")


def lost_rows(counts: pl.DataFrame) -> pl.DataFrame:
    """Return the counts of rows that are not in the data."""
    return counts.filter(~pl.col("status").is_in(["read", "noted"]) & (pl.col("n") > 0))


def print_counts(title: str, counts: pl.DataFrame) -> None:
    """Print how many rows were read, dropped, missing or extra, and why."""
    columns = [name for name in counts.columns if counts[name].is_not_null().any()]
    print_table(title, columns, counts.select(columns).rows())


def print_calls(title: str, calls: Mapping[str, int], *, as_json: bool) -> None:
    """Print the number of calls by condition, and their sum."""
    if as_json:
        print_json(calls)
    else:
        print_table(title, ("condition", "n"), [*calls.items(), ("all", sum(calls.values()))])


def print_estimate(title: str, calls: pl.DataFrame) -> None:
    """Print the estimated cost of asking, by condition."""
    total = calls.select(pl.lit("all").alias("condition"), pl.exclude("condition").sum())
    print_table(title, calls.columns, pl.concat([calls, total.select(calls.columns)]).rows())


def count_statuses(run: Store, model: str) -> dict[str, dict[str, int]]:
    """Count the answers under each condition by status."""
    answers = run.answers(model)
    return {condition: _count_statuses(answers.under(condition)) for condition in run.conditions()}


def _count_statuses(answers: pl.DataFrame) -> dict[str, int]:
    counts = {status: answers.filter(pl.col("status") == status).height for status in STATUSES}
    return counts | {"n": answers.height}


def print_answers(run: Store, model: Model, *, verbose: bool) -> None:
    """Print how many answers a model gave and how its files were read in one line, or with -v as tables."""
    stock = run.stock(model.name)
    if verbose:
        print_answer_tables(run, model.name, stock)
        return
    statuses = [counts for counts in count_statuses(run, model.name).values() if counts["n"]]
    total = {status: sum(counts[status] for counts in statuses) for status in (*STATUSES, "n")}
    parts = [f"{total[status]:,} {status}" for status in STATUSES if total[status] and status != "ok"]
    parts += [
        f"{n:,} {reason or status}"
        for status, reason, n in stock.select("status", "reason", "n").rows()
        if status != "read"
    ]
    layout = model.files if isinstance(model, PredictionFiles) else {}
    origins = [f"{name} = {origin}" for file in layout.values() for name, origin in file.layout.items()]
    shown = f" (read as: {'; '.join(dict.fromkeys(origins))})" if origins else ""
    typer.echo(f"{model.name}: {total['n']:,} answers{shown}" + "".join(f"; {part}" for part in parts))


def print_answer_tables(run: Store, model: str, stock: pl.DataFrame) -> None:
    """Print the number of answers by status, and what a model's answer files contain and lack."""
    rows = [(condition, *counts.values()) for condition, counts in count_statuses(run, model).items()]
    total = ("all", *(sum(column) for column in zip(*(row[1:] for row in rows), strict=True)))
    print_table(f"answers of {model}", ("condition", *STATUSES, "n"), [*rows, total])
    if stock.height:
        print_counts(f"{model}: contents of its answer files", stock)


def progress_bars(*, silent: bool) -> Progress:
    """Return progress bars if standard error is a terminal, else something that shows nothing."""
    return ProgressBars() if sys.stderr.isatty() and not silent else quiet


class ProgressBars:
    """Progress bars in one display, shown while any work is in progress."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        texts = TextColumn("{task.description}", markup=False)
        columns = (texts, BarColumn(), MofNCompleteColumn(), _rate_column(), TimeRemainingColumn())
        self._display = Progress(*columns, console=Console(stderr=True), transient=True)

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Advance]:
        """Show a bar while the work lasts."""
        if not self._display.tasks:
            self._display.start()
        task = self._display.add_task(label, total=total)
        try:
            yield lambda n: self._display.advance(task, n)
        finally:
            self._display.remove_task(task)
            if not self._display.tasks:
                self._display.stop()


def _rate_column() -> "ProgressColumn":
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Rate(ProgressColumn):
        """Steps per second."""

        def render(self, task: Task) -> Text:
            return Text("" if task.speed is None else f"{task.speed:,.1f}/s")

    return Rate()


def _cell(value: object) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
