"""The commands for models themselves: train a network of the zoo, and manage the cache of responses."""

import time
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eyechart.base.errors import SettingError
from eyechart.base.registry import import_object
from eyechart.cli import ending, options, printing
from eyechart.formats import read
from eyechart.models.cache import AnswerCache, CacheUsage, default_cache_file
from eyechart.reporting.sections import Learned
from eyechart.zoo import require_torch

if TYPE_CHECKING:
    from eyechart.zoo.train.folder import TrainingRecord
    from eyechart.zoo.train.loop import Epoch

_DEBIAS_HELP = (
    "A method from `eyechart ls methods`, or file.py:Class; `lmh+css` combines two, `plain@8,hint` runs in two stages."
)
_MODEL_HELP = "A network from `eyechart ls networks`, such as updn, or file.py:Class."
_INIT_HELP = "Start from a trained model (zoo:FOLDER) or from the released weights of lxmert or visualbert (hf:FOLDER)."
_KEEP_HELP = "Save the answers of every epoch on all other splits, to study model selection."
_COMPILE_HELP = "Compile the training steps. Takes minutes, and pays off in long training of deep networks on a GPU."
_WORDS_HELP = "Pretrained word vectors to start from, such as GloVe."
_OUT_HELP = "The folder to write the model to; interrupted training resumes there."

Network = Annotated[str, typer.Argument(metavar="MODEL", help=_MODEL_HELP)]
Debias = Annotated[str, typer.Option("--debias", metavar="METHOD", help=_DEBIAS_HELP)]
Out = Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help=_OUT_HELP, show_default=False)]
Epochs = Annotated[
    int | None, typer.Option(help="The number of passes over the examples. Default: from the network's recipe.", min=1)
]
Size = Annotated[int | None, typer.Option("--batch-size", help="Examples per step. Default: from the recipe.", min=1)]
Rate = Annotated[float | None, typer.Option(help="The learning rate. Default: from the recipe.", min=0)]
Hidden = Annotated[int | None, typer.Option(help="The width of the network. Default: from the recipe.", min=2)]
Patience = Annotated[int, typer.Option(help="Stop after this many epochs without a better validation score.", min=1)]
Answers = Annotated[int, typer.Option(help="Learn this many of the most frequent answers.", min=1)]
Init = Annotated[str | None, typer.Option("--init", metavar="KIND:DIR", help=_INIT_HELP)]
Keep = Annotated[bool, typer.Option("--keep-predictions", help=_KEEP_HELP)]
Words = Annotated[Path | None, typer.Option("--words", metavar="FILE", help=_WORDS_HELP)]
Compile = Annotated[bool, typer.Option("--compile", help=_COMPILE_HELP)]
Device = Annotated[str, typer.Option(help="`cpu`, `cuda`, or `auto` (a GPU if available).")]


def train(
    data: options.DataPath,
    model: Network,
    *,
    out: Out,
    debias: Debias = "plain",
    epochs: Epochs = None,
    batch_size: Size = None,
    rate: Rate = None,
    hidden: Hidden = None,
    patience: Patience = 5,
    answers: Answers = 3129,
    init: Init = None,
    keep_predictions: Keep = False,
    words: Words = None,
    compile_steps: Compile = False,
    device: Device = "auto",
    seed: options.Seed = 0,
    limit: options.Limit = None,
    json: options.Json = False,
    _trust: options.Trust = False,
    _config: options.Config = None,
) -> None:
    """Train a network, with or without a bias-reduction method.

    Keeps the epoch that is best on the `val` split (or on a tenth of the training images); other splits are scored but
    never used for selection. You can stop it at any time and run it again to continue. Afterwards `zoo:DIR`
    names the model.
    """
    require_torch()
    train_into: Any = import_object("eyechart.zoo.train.trainer:train_into")  # by name, as it needs torch
    request_class: Any = import_object("eyechart.zoo.train.trainer:TrainingRequest")
    request = request_class(
        model=model,
        method=debias,
        seed=seed,
        epochs=epochs,
        batch=batch_size,
        rate=rate,
        hidden=hidden,
        patience=patience,
        device=device,
        answers=answers,
        init=init,
        keep_predictions=keep_predictions,
        words=words,
        compiled=compile_steps,
    )
    examples = read(data).sample(limit, seed)
    finished: list[Epoch] = []
    with printing.progress_bars(silent=json)(f"training {model}, {debias}", request.settings().epochs) as advance:

        def on_epoch(epoch: "Epoch") -> None:
            finished.append(epoch)
            advance(1)

        record = train_into(out, examples, request, on_epoch)
    _print_training(out, record, finished, as_json=json)


def _print_training(out: Path, record: "TrainingRecord", epochs: "list[Epoch]", *, as_json: bool) -> None:
    summary = {
        "model": f"zoo:{out},trust=yes" if record.code else f"zoo:{out}",
        "pretrained_on": list(record.pretrained_on),
        "trained_on_the_metric": list(record.trained_on_the_metric),
    }
    if as_json:
        printing.print_json({**summary, "epochs": [each._asdict() for each in epochs]})
        return
    if not epochs:
        typer.echo("nothing left to train: all epochs are done, or the score has stopped improving")
    names = list(epochs[-1].accuracy) if epochs else []
    rows = [
        (each.number, f"{each.loss:.3f}", *(f"{100 * each.accuracy[name]:.1f}" for name in names), "*" * each.best)
        for each in epochs
    ]
    if rows:
        printing.print_table(f"{record.model}, {record.method}", ("epoch", "loss", *names, "best so far"), rows)
    ending.print_learned([Learned(out.name, record.pretrained_on, record.trained_on_the_metric)])
    typer.echo(f"model: {summary['model']}")


_DAY = 86_400
_OLDER_HELP = "With prune: only responses older than this many days."
_NAMED_HELP = "With prune: only models whose name or settings contain this text."

File = Annotated[
    Path | None, typer.Option("--cache", metavar="FILE", help="The cache file. Default: the one shared by all runs.")
]
OlderThan = Annotated[
    float | None,
    typer.Option("--older-than", metavar="DAYS", help=_OLDER_HELP, min=0),
]
Named = Annotated[
    str | None,
    typer.Option("-m", "--model", metavar="TEXT", help=_NAMED_HELP),
]


class Action(StrEnum):
    """What to do with the cache."""

    LS = "ls"
    PRUNE = "prune"
    CLEAR = "clear"


def cache(
    action: Annotated[
        Action,
        typer.Argument(
            help="What to do.",
            show_default=False,
            parser=options.one_of(Action, "what to do"),
        ),
    ],
    *,
    older_than: OlderThan = None,
    model: Named = None,
    file: File = None,
    json: options.Json = False,
    _trust: options.Trust = False,
    _config: options.Config = None,
) -> None:
    """List, prune or clear the cached responses of models.

    Responses are kept in one file for all runs, so you never pay for the same one twice.
    """
    path = file or default_cache_file()
    if action is Action.LS:
        _print_usage(AnswerCache(path).list() if path.exists() else [], path, as_json=json)
        return
    if (action is Action.PRUNE) == (older_than is None and model is None):
        found = f"{action} with{'out' if action is Action.PRUNE else ''} --older-than or --model"
        advice = "say what to prune, or clear everything"
        raise SettingError("`prune` with a filter, or `clear` without one", found, advice)
    before = float("inf") if older_than is None else time.time() - older_than * _DAY
    removed = AnswerCache(path).prune(before, model or "") if path.exists() else 0
    if json:
        printing.print_json({"cache": str(path), "removed": removed})
    else:
        typer.echo(f"{removed:,} answers removed from {path}")


def _print_usage(usage: list[CacheUsage], path: Path, *, as_json: bool) -> None:
    if as_json:
        printing.print_json([one._asdict() for one in usage])
        return
    columns = ("kind", "model", "settings", "answers", "oldest", "newest")
    printing.print_table(
        str(path), columns, [(*one.describe(), one.answers, _day(one.oldest), _day(one.newest)) for one in usage]
    )


def _day(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
