"""The commands that make a run: study, probe, predict, judge and audit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from eyechart.audits import AUDITS, Served, gone_settings, keep_served, make_audit, runnable, setting_names
from eyechart.base.errors import SettingError
from eyechart.base.registry import unknown_name
from eyechart.cli import ending, options, printing
from eyechart.cli.reading import care
from eyechart.cli.results import apply_thresholds
from eyechart.data.dataset import Dataset
from eyechart.data.protocols import Audit, EstimatingModel, Model
from eyechart.data.store import Store
from eyechart.data.web import Web
from eyechart.engines import open_engine
from eyechart.formats import read
from eyechart.models import load_all
from eyechart.models.file import PredictionFiles
from eyechart.reporting import collect, write_report
from eyechart.reporting.thresholds import read_threshold
from eyechart.runs.doubts import warn_of_doubts
from eyechart.runs.interview import Asking
from eyechart.runs.run import NamedSplits, Run

Out = Annotated[Path, typer.Option("-o", "--out", metavar="RUN", help="The folder of the run.", show_default=False)]
Answered = Annotated[
    list[str] | None,
    typer.Option("-m", "--model", help="The name of a model; may be repeated. Default: all that have answered."),
]
Round = Annotated[int, typer.Option("--round", help="The round of draws to write.", min=0)]


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
    id: options.JoinedId = None,  # noqa: A002 - its name everywhere else
    yes: options.Yes = False,
    verbose: options.Verbose = False,
    engine: options.Engine = "local",
    json: options.Json = False,
    _trust: options.Trust = False,
    _config: options.Config = None,
) -> None:
    """Study the data alone, without a model."""
    parts = NamedSplits(learn, judge)
    opened = _open(out, Asking(skip=audit is None), engine=engine, json=json)
    examples = _read(data, id, [], yes=yes)
    if not json:
        printing.print_layout(examples, verbose=verbose)
    run = opened.start(examples, options.command_line(), seed, limit, parts)
    run.study(
        _create_audits(audit, run.store.data, _collect_settings(settings, by, score, options.short_options(context)))
    )
    ending.print_ending(collect(run.store), run.store, verbose=verbose, as_json=json)


def probe(
    run: options.RunFolder,
    *,
    turn: Round = 0,
    json: options.Json = False,
    _trust: options.Trust = False,
    _config: options.Config = None,
) -> None:
    """Write the probes for models to answer.

    Writes one file of keys for each condition; none contains the reference answers.
    """
    printing.print_calls("probes", _open(run, json=json).probe(turn), as_json=json)


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
    allow_links: options.AllowLinks = None,
    batch_size: options.BatchSize = 512,
    max_calls: options.MaxCalls = None,
    dry_run: options.DryRun = False,
    fresh: options.Fresh = False,
    engine: options.Engine = "local",
    json: options.Json = False,
    _trust: options.Trust = False,
    _config: options.Config = None,
) -> None:
    """Ask models for the answers that are still missing.

    You can stop it at any time and run it again to continue; at most one batch is lost. For each model, --json prints
    the number of `answers` by condition and status, and `counts` of what its files contain and lack; with --dry-run,
    the number of `calls` by condition.
    """
    models = load_all(model, _model_settings(base_url, draws, temperature, cache), fresh=fresh)
    web = Web(allow_http, allow_private_http, links=tuple(allow_links or ()))
    opened = _open(run, Asking(batch_size, fresh, max_calls), web, engine=engine, json=json)
    if dry_run:
        _preview(opened, models, json=json)
        return
    answers = {}
    for answerer in models:
        name, stock = answerer.name, opened.predict(answerer)
        if json:
            answers[name] = {"answers": printing.count_statuses(opened.store, name), "counts": stock.to_dicts()}
        else:
            printing.print_answer_tables(opened.store, name, stock)
    if json:
        printing.print_json(answers)


def judge(
    run: options.RunFolder,
    *,
    model: Answered = None,
    allow_partial: options.AllowPartial = False,
    verbose: options.Verbose = False,
    engine: options.Engine = "local",
    json: options.Json = False,
    _trust: options.Trust = False,
    _config: options.Config = None,
) -> None:
    """Judge models by their answers."""
    opened = _open(run, Asking(allow_partial=allow_partial), engine=engine, json=json)
    answered = tuple(opened.store.models())
    for name in model or answered:
        if name not in answered:
            raise unknown_name("model that answered", name, answered)
        opened.judge(name)
    ending.print_ending(collect(opened.store), opened.store, verbose=verbose, as_json=json)


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
    allow_links: options.AllowLinks = None,
    batch_size: options.BatchSize = 512,
    max_calls: options.MaxCalls = None,
    dry_run: options.DryRun = False,
    fresh: options.Fresh = False,
    allow_partial: options.AllowPartial = False,
    fail_on: options.FailOn = None,
    id: options.JoinedId = None,  # noqa: A002 - its name everywhere else
    yes: options.Yes = False,
    verbose: options.Verbose = False,
    engine: options.Engine = "local",
    json: options.Json = False,
    _trust: options.Trust = False,
    _config: options.Config = None,
) -> None:
    """Study, probe, predict, judge and report in one go.

    Data and answers may be files of any known kind. Stops where a reading is doubtful, unless --yes is given. Writes
    the report into the run folder. Run the same command again to continue where it stopped. The exit code is 2 if a
    --fail-on threshold is crossed.
    """
    thresholds = [read_threshold(text) for text in fail_on or ()]  # before anything is asked
    models = load_all(model, _model_settings(base_url, draws, temperature, cache), fresh=fresh)
    asking = Asking(batch_size, fresh, max_calls, allow_partial, skip=audit is None)
    web = Web(allow_http, allow_private_http, links=tuple(allow_links or ()))
    opened = _open(out, asking, web, engine=engine, json=json)
    models = [_with_ids(one, id) for one in models]
    examples = _read(data, id, models, yes=yes)
    if not json:
        printing.print_layout(examples, verbose=verbose)
    run = opened.start(examples, options.command_line(), seed, limit, NamedSplits(learn, judge))
    chosen = _create_audits(
        audit, run.store.data, _collect_settings(settings, by, score, options.short_options(context))
    )
    served = Served(chosen, {}) if audit else keep_served(chosen, models, run.store.data)
    run.study(*served)
    if dry_run:
        run.probe()
        _preview(run, models, json=json)
        return
    for answerer, _ in zip(models, run.audit_each(models), strict=True):
        if not json:
            printing.print_answers(run.store, answerer, verbose=verbose)
    page = collect(run.store)
    path = write_report(run.store, page, run.store.report_file)
    ending.print_ending(page, run.store, path, verbose=verbose, as_json=json)
    apply_thresholds(page, thresholds)


def _read(path: Path, joined: str | None, models: Sequence[Model], *, yes: bool) -> Dataset:
    """Read the data with care, and check the models on them."""
    settings: dict[str, object] = {"map": {"id": joined}} if joined else {}
    with care(yes=yes):
        data = read(path, **settings)
        warn_of_doubts(models, data)
    return data


def _with_ids(model: Model, joined: str | None) -> Model:
    """Join the ids of a file of answers as those of the data, unless it names its own."""
    if joined is None or not isinstance(model, PredictionFiles) or "id" in model.columns:
        return model
    return replace(model, columns={**model.columns, "id": joined})


def _open(
    folder: Path, asking: Asking | None = None, web: Web | None = None, *, engine: str = "local", json: bool
) -> Run:
    return Run(
        Store(folder, web or Web()), open_engine(engine), printing.progress_bars(silent=json), asking or Asking()
    )


def _model_settings(
    base_url: str | None, draws: int | None, temperature: float | None, cache: str | None
) -> dict[str, object]:
    """Collect the settings of the models to ask, leaving out those not given."""
    given = {"base_url": base_url, "draws": draws, "temperature": temperature, "cache": cache}
    return {name: value for name, value in given.items() if value is not None}


def _preview(run: Run, models: Sequence[Model], *, json: bool) -> None:
    """Print what asking would take: a table for each model as soon as it is ready, or JSON by model and condition."""
    estimates: dict[str, dict[str, dict[str, int]]] = {}
    for model in models:
        title = f"calls to make to {model.name}"
        if isinstance(model, EstimatingModel):
            estimate = run.foresee(model)
            estimates[model.name] = {row.pop("condition"): row for row in estimate.to_dicts()}
            if not json:
                printing.print_estimate(title, estimate)
        else:
            calls = run.calls(model)
            estimates[model.name] = {condition: {"calls": n} for condition, n in calls.items()}
            if not json:
                printing.print_calls(title, calls, as_json=False)
    if json:
        printing.print_json(estimates)


def _collect_settings(
    words: Sequence[str] | None, by: Sequence[str] | None, score: str | None, shortcuts: Mapping[str, str]
) -> dict[str, str]:
    given = options.pairs(words or [])
    named = {"by": ",".join(by or []), "score": score or ""}
    return given | {name: value for name, value in named.items() if value} | dict(shortcuts)


def _create_audits(names: Sequence[str] | None, data: Dataset, settings: Mapping[str, str]) -> list[Audit]:
    """Create the audits, each with its settings; a setting that none of them has is an error."""
    chosen = names or runnable(data)
    own = {name: _own_settings(name, settings) for name in chosen}
    for key in settings:
        if not any(key in (setting, f"{name}.{setting}") for name, values in own.items() for setting in values):
            raise _unknown_setting(chosen, key)
    return [make_audit(name, values) for name, values in own.items()]


def _unknown_setting(chosen: Sequence[str], key: str) -> SettingError:
    """Build the error for a setting that no chosen audit has, with what to do instead if it was removed."""
    kinds = {name: AUDITS.get(name) for name in chosen}
    gone = {name: gone_settings(kind)[key] for name, kind in kinds.items() if key in gone_settings(kind)}
    if gone:
        lines = [f"{name}: {line}" for name, line in gone.items()] if len(gone) > 1 else gone.values()
        return SettingError(f"a setting of {', '.join(gone)}", f"{key!r}, which was removed", "; ".join(lines))
    known = sorted({setting for kind in kinds.values() for setting in setting_names(kind)})
    return unknown_name(f"setting of {', '.join(chosen)}", key, tuple(known))


def _own_settings(name: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Select the settings that an audit has; those prefixed with its name and a dot take precedence."""
    known = setting_names(AUDITS.get(name))
    plain = {key: value for key, value in settings.items() if key in known}
    return plain | {key[len(name) + 1 :]: value for key, value in settings.items() if key.startswith(f"{name}.")}
