"""The verb over the cache of answers."""

import json as js
import time
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from eyechart.cli import options, show
from eyechart.errors import SettingError
from eyechart.models.cache import AnswerCache, Stored, default_place

_DAY = 86_400

File = Annotated[Path | None, typer.Option("--cache", metavar="FILE", help="The cache. Default: the one for all runs.")]
OlderThan = Annotated[float | None, typer.Option("--older-than", metavar="DAYS", help="With prune.", min=0)]
Named = Annotated[
    str | None, typer.Option("-m", "--model", metavar="TEXT", help="With prune: of models with this in them.")
]


class Action(StrEnum):
    """What can be done with the cache."""

    LS = "ls"
    PRUNE = "prune"
    CLEAR = "clear"


def cache(
    action: Annotated[Action, typer.Argument(help="What to do.", show_default=False)],
    *,
    older_than: OlderThan = None,
    model: Named = None,
    file: File = None,
    json: options.Json = False,
    _config: options.Config = None,
) -> None:
    """List, prune or clear the answers that are remembered.

    Answers of models that were asked lie in one file for all runs, so that the same is never paid for twice.
    """
    place = file or default_place()
    if action is Action.LS:
        _list(AnswerCache(place).list() if place.exists() else [], place, as_json=json)
        return
    if (action is Action.PRUNE) == (older_than is None and model is None):
        found = f"{action} with{'out' if action is Action.PRUNE else ''} --older-than or --model"
        raise SettingError("prune for some answers, clear for all", found, "say which to prune, or clear everything")
    before = float("inf") if older_than is None else time.time() - older_than * _DAY
    removed = AnswerCache(place).prune(before, model or "") if place.exists() else 0
    if json:
        show.print_json({"cache": str(place), "removed": removed})
    else:
        typer.echo(f"{removed:,} answers removed from {place}")


def _list(stored: list[Stored], place: Path, *, as_json: bool) -> None:
    if as_json:
        show.print_json([one._asdict() for one in stored])
        return
    columns = ("kind", "model", "settings", "answers", "oldest", "newest")
    show.print_table(str(place), columns, [_row(one) for one in stored])


def _row(one: Stored) -> tuple[object, ...]:
    told = js.loads(one.identity)
    kind, model = told.pop("kind"), told.pop("model")
    settings = " ".join(f"{name}={value}" for name, value in told.items() if value is not None)
    return kind, model, settings, one.answers, _day(one.oldest), _day(one.newest)


def _day(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
