"""How commands end: what was found in sentences, models by audits, what to run next, and where to look."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import typer

from eyechart.cli import printing
from eyechart.cli.matrix import lay_out
from eyechart.data.store import Store
from eyechart.reporting import Page, to_json
from eyechart.reporting.overall import Overall, join, list_reasons
from eyechart.reporting.sections import Learned, Summary

MOST_COMMANDS = 3  # to print without -v


def print_ending(page: Page, store: Store, report: Path | None = None, *, verbose: bool, as_json: bool) -> None:
    """Print what was found and where to look, with -v every verdict as well, or all of it as JSON."""
    if as_json:
        typer.echo(to_json(page), nl=False)
        return
    if verbose:
        print_verdicts(page)
        print_overall(page.overall)
    if page.glance.sentences:
        typer.echo(printing.wrap_sentence(" ".join(page.glance.sentences)))
    if page.glance.models:
        typer.echo()
        for line in lay_out(page.glance, printing.terminal_width(), colored=printing.is_watched()):
            typer.echo(line)
    elif page.summary:
        _print_studies(page.summary)
    if not verbose:
        _print_untested(page.overall)
    if page.outdated:
        typer.echo(page.outdated)
    print_learned(page.learned)
    _print_places(store, report)


def print_verdicts(page: Page) -> None:
    """Print the verdict of every study and result with its number, interval and counts."""
    columns = ("audit", "subject", "verdict", "measure", "value [95 %]", "n", "clusters")
    rows = [(row.audit, row.subject, row.state, row.measured, row.text, row.n, row.clusters) for row in page.summary]
    printing.print_table(page.title, columns, rows)


def print_overall(lines: Iterable[Overall]) -> None:
    """Print the line of each model, and below it the commands that would test the rest, unbroken so as to be copied."""
    for line in lines:
        typer.echo(printing.wrap_sentence(f"{line.model}: {line.sentence}", "  "))
        for names, command in line.tests():
            typer.echo(f"  to test {names}: {command}")


def print_learned(models: Iterable[Learned]) -> None:
    """Print caveats about how each model was trained."""
    for each in models:
        if each.trained_on_the_metric:
            typer.echo(f"{each.model}: trained on what these audits measure: {', '.join(each.trained_on_the_metric)}")
        if each.pretrained_on:
            typer.echo(f"{each.model}: pretrained on: {', '.join(each.pretrained_on)}")


def _print_studies(rows: Iterable[Summary]) -> None:
    """Print what studies found in the data, one line each."""
    found = [(row.audit, row.measured, row.text, "" if row.state == "not tested" else row.state) for row in rows]
    lines = [("audit", "measure", "value [95 %]", "sound" if any(line[-1] for line in found) else ""), *found]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())


def _print_untested(lines: Iterable[Overall]) -> None:
    """Say what was not tested and why, once for models that share it, and which commands would test it."""
    groups: dict[str, list[Overall]] = {}
    for line in lines:
        if line.untested:
            groups.setdefault(list_reasons(line.untested), []).append(line)
    for reasons, own in groups.items():
        of = f" of {join([line.model for line in own])}" if len(groups) > 1 else ""
        typer.echo(printing.wrap_sentence(f"Not tested{of}: {reasons}.", "  "))
    commands = list(_commands([line for own in groups.values() for line in own]))
    for text in commands[:MOST_COMMANDS]:
        typer.echo(f"  {text}")  # unbroken, so as to be copied
    if len(commands) > MOST_COMMANDS:
        typer.echo(f"  and {len(commands) - MOST_COMMANDS} more, listed with -v")


def _commands(lines: Sequence[Overall]) -> Iterator[str]:
    """Write what to run to test the rest, once for models of which the same was not tested."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for line in lines:
        for names, command in line.tests():
            alike.setdefault(names, []).append((line.model, command))
    for names, pairs in alike.items():
        (model, command), *others = pairs
        also = f", and likewise for {join([other for other, _ in others])}" if others else ""
        yield f"to test {names} for {model}{also}: {command}"


def _print_places(store: Store, report: Path | None) -> None:
    """Say where the results are, in one line if it is short enough."""
    places = [f"report: {report or f'eyechart report {store.folder}'}", f"explore: eyechart view {store.folder}"]
    line = "   ".join(places)
    typer.echo(line if len(line) <= printing.terminal_width() else "\n".join(places))
