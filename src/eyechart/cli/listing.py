"""The command that lists what is available: audits, formats, models, scores, exports, networks and methods."""

import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from eyechart.audits import AUDITS, lacking, setting_names
from eyechart.base.registry import Registry, import_object
from eyechart.cli import options, printing
from eyechart.data.dataset import Dataset
from eyechart.formats import descriptions, read, reader_settings
from eyechart.models import MODELS
from eyechart.runs.exports import list_exporters
from eyechart.scoring import SCORES
from eyechart.zoo import require_torch

For = Annotated[Path | None, typer.Option("--for", metavar="DATA", help="Show which audits can run on this dataset.")]


class What(StrEnum):
    """The kinds of things to list."""

    AUDITS = "audits"
    FORMATS = "formats"
    MODELS = "models"
    SCORES = "scores"
    EXPORTS = "exports"
    NETWORKS = "networks"
    METHODS = "methods"


CAN_RUN = "can run"  # the column of audits for given data
Listing = tuple[Sequence[str], Sequence[Sequence[object]]]  # column names and rows


def ls(
    what: Annotated[
        What,
        typer.Argument(
            help="What to list.",
            show_default=False,
            parser=options.one_of(What, "what to list"),
        ),
    ],
    *,
    data: For = None,
    json: options.Json = False,
    _trust: options.Trust = False,
    _config: options.Config = None,
) -> None:
    """List the audits, formats, models and so on to choose from.

    `networks` and `methods` are for `eyechart train`.
    """
    columns, rows = LISTINGS[what](None if data is None else read(data))
    if json:
        printing.print_json([dict(zip(columns, row, strict=True)) for row in rows])
    elif CAN_RUN in columns:  # what is asked for, in a table that fits
        shown = [columns.index(name) for name in ("audit", CAN_RUN, "about")]
        printing.print_table(what.value, [columns[n] for n in shown], [[row[n] for n in shown] for row in rows])
    else:
        printing.print_table(what.value, columns, rows)


def _list_audits(data: Dataset | None) -> Listing:
    kinds = {name: AUDITS.get(name) for name in AUDITS.names()}
    rows = [(name, _about(kind), ", ".join(kind.needs), ", ".join(setting_names(kind))) for name, kind in kinds.items()]
    if data is None:
        return ("audit", "about", "needs", "settings"), rows
    missing = (lacking(kind, data) for kind in kinds.values())
    checked = [
        (*row, f"no: without {', '.join(names)}" if names else "yes") for row, names in zip(rows, missing, strict=True)
    ]
    return ("audit", "about", "needs", "settings", CAN_RUN), checked


def _list_formats(_: Dataset | None) -> Listing:
    rows = [(name, each.needs, each.sample, ", ".join(reader_settings(name))) for name, each in descriptions().items()]
    return ("format", "needs", "looks like", "settings"), rows


def _list_models(_: Dataset | None) -> Listing:
    return ("model", "about"), [(f"{name}:", _about(MODELS.get(name))) for name in MODELS.names()]


def _list_scores(_: Dataset | None) -> Listing:
    rows = [(name, score.about, ", ".join(score.needs)) for name, score in SCORES.items()]
    return ("score", "about", "needs"), rows


def _list_exports(_: Dataset | None) -> Listing:
    return ("export", "about"), [(name, _about(exporter)) for name, exporter in list_exporters()]


def _list_networks(_: Dataset | None) -> Listing:
    require_torch()
    networks: Registry[Any] = cast("Registry[Any]", import_object("eyechart.zoo.networks:NETWORKS"))
    base = cast("type", import_object("eyechart.zoo.network:Network"))
    kinds = {name: networks.get(name) for name in networks.names()}
    rows = [(name, *_origin(kind, base), _recipe(*kind.recipe)) for name, kind in kinds.items()]
    return ("network", "about", "in short", "recipe"), rows


def _recipe(optimizer: str, rate: float, batch: int, epochs: int, hidden: int, _: int) -> str:
    return f"{optimizer} {rate:g}, batch {batch}, epochs {epochs}, width {hidden}"


def _list_methods(_: Dataset | None) -> Listing:
    require_torch()
    methods: Registry[Any] = cast("Registry[Any]", import_object("eyechart.zoo.methods:METHODS"))
    base = cast("type", import_object("eyechart.zoo.debias:Debias"))
    kinds = {name: methods.get(name) for name in methods.names()}
    rows = [(name, *_origin(kind, base), ", ".join(kind.trained_on_the_metric)) for name, kind in kinds.items()]
    return ("method", "about", "in short", "trains on what these audits measure"), rows


LISTINGS: dict[What, Callable[[Dataset | None], Listing]] = {
    What.AUDITS: _list_audits,
    What.FORMATS: _list_formats,
    What.MODELS: _list_models,
    What.SCORES: _list_scores,
    What.EXPORTS: _list_exports,
    What.NETWORKS: _list_networks,
    What.METHODS: _list_methods,
}


def _about(thing: object) -> str:
    return str(thing.__doc__ or "").partition("\n")[0]


def _origin(kind: type, base: type) -> tuple[str, str]:
    """Return the summary of a class's file, which names the paper, and the summary of the class itself."""
    own_file = kind.__module__ != base.__module__
    return _about(sys.modules[kind.__module__]) if own_file else "", _about(kind)
