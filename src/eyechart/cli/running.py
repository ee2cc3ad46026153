"""The verbs over a run: study, probe, predict, judge, audit and report."""

import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from eyechart.audits import AUDITS, make_audit, runnable, setting_names
from eyechart.cli import options, show
from eyechart.dataset import Dataset
from eyechart.errors import SettingError
from eyechart.layout import Layout
from eyechart.models import load
from eyechart.protocols import Audit
from eyechart.readers import read as read_data
from eyechart.registry import unknown_name
from eyechart.reporting import collect, report as write_report, summary_table, to_json
from eyechart.run import Asking, Run

Out = Annotated[Path, typer.Option("-o", "--out", metavar="RUN", help="The folder of the run.", show_default=False)]


def study(
    data: options.DataPath,
    out: Out,
    audit: options.Audits = None,
    by: options.By = None,
    score: options.Score = None,
    settings: options.Settings = None,
    seed: options.Seed = 0,
    limit: options.Limit = None,
    config: options.Config = None,
    *,
    json: options.Json = False,
) -> None:
    """Look at the data alone: what can be had without a model.

    \b
    Example:
      eyechart study DATA -a accuracy -o runs/mine
    """
    run = _run(out, json=json).start(read_data(data), command(), seed, limit)
    run.study(_audits(audit, run.at.data, _settings(settings, by, score)))
    _show_summary(run.at, json=json)


def probe(
    run: options.RunFolder,
    turn: Annotated[int, typer.Option("--round", help="Which round of draws to write.", min=0)] = 0,
    config: options.Config = None,
    *,
    json: options.Json = False,
) -> None:
    """Write what a model must answer, one file of keys for each condition.

    \b
    Example:
      eyechart probe runs/mine
    """
    _show_calls("probes written", _run(run, json=json).probe(turn), json=json)


def predict(
    run: options.RunFolder,
    model: options.Models,
    batch_size: options.BatchSize = 512,
    max_calls: options.MaxCalls = None,
    config: options.Config = None,
    *,
    dry_run: options.DryRun = False,
    fresh: options.Fresh = False,
    json: options.Json = False,
) -> None:
    """Ask models the probes they have not answered yet; stop and go on at any time.

    \b
    Example:
      eyechart predict runs/mine -m predictions:answers.json
    """
    opened = _run(run, Asking(batch_size, fresh, max_calls), json=json)
    for name in model:
        answerer = load(name)
        if dry_run:
            _show_calls(f"calls of {answerer.name} to come", opened.calls(answerer), json=json)
        else:
            _show_stock(answerer.name, opened.predict(answerer), json=json)


def judge(
    run: options.RunFolder,
    model: Annotated[list[str] | None, typer.Option("-m", "--model", help="A model's name; default: all that answered.")] = None,
    config: options.Config = None,
    *,
    allow_partial: options.AllowPartial = False,
    json: options.Json = False,
) -> None:
    """Join the answers back and measure.

    \b
    Example:
      eyechart judge runs/mine
    """
    opened = _run(run, Asking(allow_partial=allow_partial), json=json)
    answered = opened.at.models()
    for name in model or answered:
        if name not in answered:
            raise unknown_name("model that answered", name, tuple(answered))
        opened.judge(name)
    _show_summary(opened.at, json=json)


def audit(
    data: options.DataPath,
    model: options.Models,
    out: Out,
    audit: options.Audits = None,
    by: options.By = None,
    score: options.Score = None,
    settings: options.Settings = None,
    seed: options.Seed = 0,
    limit: options.Limit = None,
    batch_size: options.BatchSize = 512,
    max_calls: options.MaxCalls = None,
    config: options.Config = None,
    *,
    dry_run: options.DryRun = False,
    fresh: options.Fresh = False,
    allow_partial: options.AllowPartial = False,
    json: options.Json = False,
) -> None:
    """Do all of it: study, probe, predict, judge, and write the report.

    \b
    Example:
      eyechart audit DATA -m predictions:answers.json --by question_type -o runs/mine
    """
    asking = Asking(batch_size, fresh, max_calls, allow_partial)
    run = _run(out, asking, json=json).start(read_data(data), command(), seed, limit)
    run.study(_audits(audit, run.at.data, _settings(settings, by, score)))
    answerers = [load(name) for name in model]
    if dry_run:
        run.probe()
        for answerer in answerers:
            _show_calls(f"calls of {answerer.name} to come", run.calls(answerer), json=json)
        return
    for answerer in answerers:
        run.audit(answerer)
    page = write_report(out, out / "report.html")
    _show_summary(run.at, json=json)
    if not json:
        typer.echo(f"report: {page}")


def report(
    run: options.RunFolder,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Where to write the page. Default: in the run.")] = None,
    config: options.Config = None,
    *,
    json: options.Json = False,
) -> None:
    """Write one self-contained page from everything in a run.

    \b
    Example:
      eyechart report runs/mine -o report.html
    """
    if json:
        typer.echo(to_json(collect(Layout(run))))
    else:
        typer.echo(f"report: {write_report(run, out or run / 'report.html')}")


def command() -> str:
    """Write down the command that is running, so that a report can say how to repeat it."""
    return shlex.join(["eyechart", *sys.argv[1:]])


def _run(folder: Path, asking: Asking | None = None, *, json: bool) -> Run:
    return Run(Layout(folder), progress=show.progress_bars(silent=json), asking=asking or Asking())


def _settings(words: list[str] | None, by: list[str] | None, score: str | None) -> dict[str, str]:
    named = options.pairs(words or [])
    if by:
        named["by"] = ",".join(by)
    if score:
        named["score"] = score
    return named


def _audits(names: list[str] | None, data: Dataset, settings: Mapping[str, str]) -> list[Audit]:
    chosen = names or runnable(data)
    own = {name: _own_settings(name, settings) for name in chosen}
    taken = {key for keys in own.values() for key in keys}
    for key in settings:
        if key.rpartition(".")[2] not in taken:
            raise SettingError(f"a setting of {', '.join(chosen)}", repr(key), "`eyechart ls audits` lists them")
    return [make_audit(name, values) for name, values in own.items()]


def _own_settings(name: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Pick the settings meant for one audit: those with its name before a dot, and plain ones it has."""
    known = setting_names(AUDITS.get(name))
    plain = {key: value for key, value in settings.items() if key in known}
    return plain | {key.partition(".")[2]: value for key, value in settings.items() if key.startswith(f"{name}.")}


def _show_calls(title: str, calls: Mapping[str, int], *, json: bool) -> None:
    if json:
        show.print_json(calls)
    else:
        show.print_table(title, ("condition", "n"), [*calls.items(), ("all", sum(calls.values()))])


def _show_stock(model: str, stock: Iterable, *, json: bool) -> None:
    ...


def _show_summary(at: Layout, *, json: bool) -> None:
    page = collect(at)
    if json:
        typer.echo(to_json(page))
    else:
        show.print_table(*summary_table(page))
