"""The verbs over a run: study, probe, predict, judge, audit and report."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from eyechart.audits import AUDITS, Served, keep_served, make_audit, runnable, setting_names
from eyechart.cli import options, show
from eyechart.cli.shortcuts import given_shortcuts
from eyechart.dataset import Dataset
from eyechart.engines.opening import open_engine
from eyechart.errors import SettingError
from eyechart.exports import find_exporter
from eyechart.interview import Asking
from eyechart.models import load_all
from eyechart.protocols import Audit, Foreseeing, Model
from eyechart.readers import read
from eyechart.registry import unknown_name
from eyechart.reporting import Page, collect, to_json, write_report
from eyechart.reporting.markdown import summarise
from eyechart.reporting.thresholds import Threshold, crossed, read_threshold
from eyechart.run import Parting, Run
from eyechart.store import Store
from eyechart.web import Web

Out = Annotated[Path, typer.Option("-o", "--out", metavar="RUN", help="The folder of the run.", show_default=False)]
Answered = Annotated[
    list[str] | None, typer.Option("-m", "--model", help="A model's name; default: all that answered.")
]
Round = Annotated[int, typer.Option("--round", help="Which round of draws to write.", min=0)]
ExportName = Annotated[str, typer.Option("--to", metavar="WHAT", help="See `eyechart ls exports`.", show_default=False)]
ExportFolder = Annotated[Path, typer.Option("-o", "--out", help="The folder to write into.", show_default=False)]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print a summary in Markdown instead.")]
PageFile = Annotated[Path | None, typer.Option("-o", "--out", help="Where to write the page. Default: into the run.")]


def study(
    context: typer.Context,
    data: options.DataPath,
    *,
    out: Out,
    audit: options.Audits = None,
    by: options.By = None,
    score: options.Score = None,
    settings: options.Settings = None,
    learn: options.Learn = None,
    judge: options.Judge = None,
    seed: options.Seed = 0,
    limit: options.Limit = None,
    engine: options.Engine = "local",
    json: options.Json = False,
    _config: options.Config = None,
) -> None:
    """Look at the data alone, without a model."""
    parts = Parting(learn, judge)
    opened = _open(out, Asking(skip=audit is None), engine=engine, json=json)
    run = opened.start(read(data), command(), seed, limit, parts)
    run.study(_choose(audit, run.store.data, _gather(settings, by, score, given_shortcuts(context))))
    show.print_summary(collect(run.store), as_json=json)


def probe(
    run: options.RunFolder, *, turn: Round = 0, json: options.Json = False, _config: options.Config = None
) -> None:
    """Write what a model must answer.

    One file of keys for each condition; the reference answers are never in them.
    """
    show.print_calls("probes", _open(run, json=json).probe(turn), as_json=json)


def predict(
    run: options.RunFolder,
    *,
    model: options.Models,
    base_url: options.BaseUrl = None,
    draws: options.Draws = None,
    temperature: options.Temperature = None,
    cache: options.Cache = None,
    allow_http: options.AllowHttp = False,
    allow_private_http: options.AllowPrivateHttp = False,
    batch_size: options.BatchSize = 512,
    max_calls: options.MaxCalls = None,
    dry_run: options.DryRun = False,
    fresh: options.Fresh = False,
    engine: options.Engine = "local",
    json: options.Json = False,
    _config: options.Config = None,
) -> None:
    """Ask models what they have not answered yet.

    Stop it at any time and run it again to go on: at most one batch is lost. JSON has for each model its `answers`, by
    condition and status, and the `counts` of what its files held and lacked; with --dry-run the `calls` by condition.
    """
    models = load_all(model, _asked(base_url, draws, temperature, cache), fresh=fresh)
    web = Web(allow_http, allow_private_http)
    opened = _open(run, Asking(batch_size, fresh, max_calls), web, engine=engine, json=json)
    if dry_run:
        _preview(opened, models, json=json)
        return
    told = {}
    for answerer in models:
        name, stock = answerer.name, opened.predict(answerer)
        if json:
            told[name] = {"answers": show.count_statuses(opened.store, name), "counts": stock.to_dicts()}
        else:
            show.print_answers(opened.store, name, stock)
    if json:
        show.print_json(told)


def judge(
    run: options.RunFolder,
    *,
    model: Answered = None,
    allow_partial: options.AllowPartial = False,
    engine: options.Engine = "local",
    json: options.Json = False,
    _config: options.Config = None,
) -> None:
    """Join the answers back by key and measure."""
    opened = _open(run, Asking(allow_partial=allow_partial), engine=engine, json=json)
    answered = tuple(opened.store.models())
    for name in model or answered:
        if name not in answered:
            raise unknown_name("model that answered", name, answered)
        opened.judge(name)
    show.print_summary(collect(opened.store), as_json=json)


def audit(
    context: typer.Context,
    data: options.DataPath,
    *,
    model: options.Models,
    out: Out,
    audit: options.Audits = None,
    by: options.By = None,
    score: options.Score = None,
    settings: options.Settings = None,
    learn: options.Learn = None,
    judge: options.Judge = None,
    seed: options.Seed = 0,
    limit: options.Limit = None,
    base_url: options.BaseUrl = None,
    draws: options.Draws = None,
    temperature: options.Temperature = None,
    cache: options.Cache = None,
    allow_http: options.AllowHttp = False,
    allow_private_http: options.AllowPrivateHttp = False,
    batch_size: options.BatchSize = 512,
    max_calls: options.MaxCalls = None,
    dry_run: options.DryRun = False,
    fresh: options.Fresh = False,
    allow_partial: options.AllowPartial = False,
    fail_on: options.FailOn = None,
    engine: options.Engine = "local",
    json: options.Json = False,
    _config: options.Config = None,
) -> None:
    """Study, probe, predict, judge and report.

    The page is written into the run. Run the same command again to go on where it stopped. Exit code 2 where a
    --fail-on threshold is crossed.
    """
    thresholds = [read_threshold(text) for text in fail_on or ()]  # before anything is asked
    models = load_all(model, _asked(base_url, draws, temperature, cache), fresh=fresh)
    asking = Asking(batch_size, fresh, max_calls, allow_partial, skip=audit is None)
    web = Web(allow_http, allow_private_http)
    opened = _open(out, asking, web, engine=engine, json=json)
    run = opened.start(read(data), command(), seed, limit, Parting(learn, judge))
    chosen = _choose(audit, run.store.data, _gather(settings, by, score, given_shortcuts(context)))
    served = Served(chosen, {}) if audit else keep_served(chosen, models, run.store.data)
    run.study(*served)
    if dry_run:
        run.probe()
        _preview(run, models, json=json)
        return
    for answerer in models:
        run.audit(answerer)
        if not json:
            show.print_answers(run.store, answerer.name, run.store.stock(answerer.name))
    page = collect(run.store)
    place = write_report(run.store, page, out / "report.html")
    show.print_summary(page, as_json=json)
    if not json:
        typer.echo(f"report: {place}")
    _hold(page, thresholds)


def report(
    run: options.RunFolder,
    *,
    out: PageFile = None,
    markdown: Markdown = False,
    fail_on: options.FailOn = None,
    json: options.Json = False,
    _config: options.Config = None,
) -> None:
    """Write one self-contained page from a run.

    With --json or --markdown print what the page would say instead; `--markdown >> $GITHUB_STEP_SUMMARY` is a summary
    for CI. Exit code 2 where a --fail-on threshold is crossed.
    """
    thresholds = [read_threshold(text) for text in fail_on or ()]
    store = Store(run)
    page = collect(store)
    if json:
        typer.echo(to_json(page), nl=False)
    elif markdown:
        typer.echo(summarise(page))
    else:
        typer.echo(f"report: {write_report(store, page, out or run / 'report.html')}")
    _hold(page, thresholds)


def export(
    run: options.RunFolder,
    *,
    to: ExportName,
    out: ExportFolder,
    audit: options.OwnAudits = None,
    allow_http: options.AllowHttp = False,
    allow_private_http: options.AllowPrivateHttp = False,
    json: options.Json = False,
    _config: options.Config = None,
) -> None:
    """Write what a run holds for other tools.

    `eyechart ls exports` lists what can be written.
    """
    store = Store(run, Web(allow_http, allow_private_http))
    _ = store.manifest  # a folder that is no run is told at once
    written = find_exporter(to, audit or ())(store, out)
    if json:
        show.print_json(written)
    else:
        show.print_table(f"written into {out}", ("file", "entries"), list(written.items()))


def _hold(page: Page, thresholds: Sequence[Threshold]) -> None:
    """Leave with exit code 2 where a threshold is crossed, saying which."""
    lines = list(crossed(page, thresholds))
    for line in lines:
        typer.echo(f"crossed: {line}", err=True)
    if lines:
        raise typer.Exit(2)


def command() -> str:
    """Write down the command that is running, so that a report can say how to repeat it."""
    return shlex.join(["eyechart", *sys.argv[1:]])


def _open(
    folder: Path, asking: Asking | None = None, web: Web | None = None, *, engine: str = "local", json: bool
) -> Run:
    return Run(Store(folder, web or Web()), open_engine(engine), show.progress_bars(silent=json), asking or Asking())


def _asked(base_url: str | None, draws: int | None, temperature: float | None, cache: str | None) -> dict[str, object]:
    """Gather the settings for models that are asked."""
    given = {"base_url": base_url, "draws": draws, "temperature": temperature, "cache": cache}
    return {name: value for name, value in given.items() if value is not None}


def _preview(run: Run, models: Sequence[Model], *, json: bool) -> None:
    """Tell what asking would take: for people as it is found out, for programs at once, by model and condition."""
    told: dict[str, dict[str, dict[str, int]]] = {}
    for model in models:
        title = f"calls of {model.name} to come"
        if isinstance(model, Foreseeing):
            ahead = run.foresee(model)
            told[model.name] = {row.pop("condition"): row for row in ahead.to_dicts()}
            if not json:
                show.print_foresight(title, ahead)
        else:
            calls = run.calls(model)
            told[model.name] = {condition: {"calls": n} for condition, n in calls.items()}
            if not json:
                show.print_calls(title, calls, as_json=False)
    if json:
        show.print_json(told)


def _gather(
    words: Sequence[str] | None, by: Sequence[str] | None, score: str | None, shortcuts: Mapping[str, str]
) -> dict[str, str]:
    found = options.pairs(words or [])
    named = {"by": ",".join(by or []), "score": score or ""}
    return found | {name: value for name, value in named.items() if value} | dict(shortcuts)


def _choose(names: Sequence[str] | None, data: Dataset, settings: Mapping[str, str]) -> list[Audit]:
    """Make the audits, each with the settings meant for it; a setting meant for none is an error."""
    chosen = names or runnable(data)
    own = {name: _own_settings(name, settings) for name in chosen}
    for key in settings:
        if not any(key in (setting, f"{name}.{setting}") for name, values in own.items() for setting in values):
            known = sorted({setting for name in chosen for setting in setting_names(AUDITS.get(name))})
            found = f"{key!r}, while they have {', '.join(known)}"
            raise SettingError(f"a setting of {', '.join(chosen)}", found, "see `eyechart ls audits`")
    return [make_audit(name, values) for name, values in own.items()]


def _own_settings(name: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Pick the plain settings an audit has, and over them those with its name before a dot."""
    known = setting_names(AUDITS.get(name))
    plain = {key: value for key, value in settings.items() if key in known}
    return plain | {key[len(name) + 1 :]: value for key, value in settings.items() if key.startswith(f"{name}.")}
