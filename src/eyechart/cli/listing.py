"""The verb that lists what there is to name."""

import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from eyechart.audits import AUDITS, lacking, setting_names
from eyechart.cli import options, show
from eyechart.cli.training import require_torch
from eyechart.dataset import Dataset
from eyechart.exports import list_exporters
from eyechart.models import MODELS
from eyechart.readers import descriptions, read, reader_settings
from eyechart.scoring import SCORES

For = Annotated[Path | None, typer.Option("--for", metavar="DATA", help="Say which audits these data allow.")]


class What(StrEnum):
    """What can be listed."""

    AUDITS = "audits"
    FORMATS = "formats"
    MODELS = "models"
    SCORES = "scores"
    EXPORTS = "exports"
    NETWORKS = "networks"
    METHODS = "methods"


class Listing(NamedTuple):
    """A table to print."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


def ls(
    what: Annotated[What, typer.Argument(help="What to list.", show_default=False)],
    *,
    data: For = None,
    json: options.Json = False,
    _config: options.Config = None,
) -> None:
    """List audits, formats, models, scores or exports; or, of what `train` takes, networks or methods."""
    columns, rows = LISTINGS[what](None if data is None else read(data))
    if json:
        show.print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        show.print_table(what.value, columns, rows)


def _list_audits(data: Dataset | None) -> Listing:
    kinds = {name: AUDITS.get(name) for name in AUDITS.names()}
    rows = [(name, _about(kind), ", ".join(kind.needs), ", ".join(setting_names(kind))) for name, kind in kinds.items()]
    if data is None:
        return Listing(("audit", "about", "needs", "settings"), rows)
    lost = (lacking(kind, data) for kind in kinds.values())
    judged = [
        (*row, f"no: without {', '.join(names)}" if names else "yes") for row, names in zip(rows, lost, strict=True)
    ]
    return Listing(("audit", "about", "needs", "settings", "can run"), judged)


def _list_formats(_: Dataset | None) -> Listing:
    rows = [(name, told.needs, told.sample, ", ".join(reader_settings(name))) for name, told in descriptions().items()]
    return Listing(("format", "needs", "looks like", "settings"), rows)


def _list_models(_: Dataset | None) -> Listing:
    return Listing(("model", "about"), [(f"{name}:", _about(MODELS.get(name))) for name in MODELS.names()])


def _list_scores(_: Dataset | None) -> Listing:
    rows = [(name, score.about, ", ".join(score.needs)) for name, score in SCORES.items()]
    return Listing(("score", "about", "needs"), rows)


def _list_exports(_: Dataset | None) -> Listing:
    return Listing(("export", "about"), [(name, _about(exporter)) for name, exporter in list_exporters()])


def _list_networks(_: Dataset | None) -> Listing:
    require_torch()
    from eyechart.zoo.models import MODELS as NETWORKS
    from eyechart.zoo.network import Network

    kinds = {name: NETWORKS.get(name) for name in NETWORKS.names()}
    rows = [(name, *_origin(kind, Network), _recipe(*kind.recipe)) for name, kind in kinds.items()]
    return Listing(("network", "about", "in short", "recipe"), rows)


def _recipe(optimizer: str, rate: float, batch: int, epochs: int, hidden: int, _: int) -> str:
    return f"{optimizer} {rate:g}, batch {batch}, epochs {epochs}, width {hidden}"


def _list_methods(_: Dataset | None) -> Listing:
    require_torch()
    from eyechart.zoo.debias import Debias
    from eyechart.zoo.methods import METHODS

    kinds = {name: METHODS.get(name) for name in METHODS.names()}
    rows = [(name, *_origin(kind, Debias), ", ".join(kind.trained_on_the_metric)) for name, kind in kinds.items()]
    return Listing(("method", "about", "in short", "trains on what these audits measure"), rows)


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
    """Say what the file of a class is about, which names the paper, and what the class does."""
    own_file = kind.__module__ != base.__module__
    return _about(sys.modules[kind.__module__]) if own_file else "", _about(kind)
