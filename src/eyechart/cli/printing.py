"""Printing: tables for people, JSON for programs, and progress bars."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from eyechart.reporting import Page, to_json
from eyechart.reporting.overall import Overall
from eyechart.reporting.sections import Learned

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

WIDTH = 80  # columns of sentences


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
    """Print in one line which columns were read as what; with the first example in full, a line for each of ours."""
    if not data.layout:
        return
    origins = {name: origin for name, origin in data.layout.items() if name != "unique id"}
    typer.echo(f"{data.name} read as: " + "; ".join(f"{name} = {origin}" for name, origin in origins.items()))
    if verbose and data.height:
        row = data.kept.lazy().head(1).collect().row(0, named=True)
        for name, value in row.items():
            typer.echo(f"  {name} ({origins.get(name, 'as it is')}): {value}")


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


def print_summary(page: Page, *, as_json: bool) -> None:
    """Print the verdict of every study and result in a run; the JSON also lists the audits that were skipped."""
    if as_json:
        typer.echo(to_json(page), nl=False)
        return
    columns = ("audit", "subject", "verdict", "measure", "value [95 %]", "n", "clusters")
    rows = [(row.audit, row.subject, row.state, row.measured, row.text, row.n, row.clusters) for row in page.summary]
    print_table(page.title, columns, rows)
    print_overall(page.overall)
    if page.outdated:
        typer.echo(page.outdated)
    print_learned(page.learned)


def print_overall(lines: Iterable[Overall]) -> None:
    """Print the line of each model, and below it the commands that would test the rest, unbroken so as to be copied."""
    for line in lines:
        text = f"{line.model}: {line.sentence}"
        typer.echo(fill(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))
        for names, command in line.tests():
            typer.echo(f"  to test {names}: {command}")


def print_learned(models: Iterable[Learned]) -> None:
    """Print caveats about how each model was trained."""
    for each in models:
        if each.trained_on_the_metric:
            typer.echo(f"{each.model}: trained on what these audits measure: {', '.join(each.trained_on_the_metric)}")
        if each.pretrained_on:
            typer.echo(f"{each.model}: pretrained on: {', '.join(each.pretrained_on)}")


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
