"""The verb that trains a network of the zoo."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.cli import options, show
from eyechart.readers import read
from eyechart.reporting.contents import Learned

if TYPE_CHECKING:
    from eyechart.zoo.folder import Trained
    from eyechart.zoo.training import Epoch

_DEBIAS_HELP = (
    "One of `eyechart ls methods` or file.py:Class; `lmh+css` lays one over another, `plain@8,hint` has two stages."
)
_MODEL_HELP = "A network of `eyechart ls networks`, as updn, or file.py:Class."
_INIT_HELP = (
    "Start from a trained model, as zoo:FOLDER, or from released weights of lxmert or visualbert, as hf:FOLDER."
)
_KEEP_HELP = "Keep the answers of every epoch to all other splits, for the study of selection."
_COMPILE_HELP = "Compile the steps, which takes up to minutes: for long trainings of deep networks on a GPU."
_OUT_HELP = "The folder of the model; one that was stopped goes on."

Network = Annotated[str, typer.Argument(metavar="MODEL", help=_MODEL_HELP)]
Debias = Annotated[str, typer.Option("--debias", metavar="METHOD", help=_DEBIAS_HELP)]
Out = Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help=_OUT_HELP, show_default=False)]
Epochs = Annotated[
    int | None, typer.Option(help="How often all examples are seen. Default: the network's recipe.", min=1)
]
Size = Annotated[int | None, typer.Option("--batch-size", help="Examples a step. Default: the recipe.", min=1)]
Rate = Annotated[float | None, typer.Option(help="The learning rate. Default: the recipe.", min=0)]
Hidden = Annotated[int | None, typer.Option(help="The width of the network. Default: the recipe.", min=2)]
Patience = Annotated[int, typer.Option(help="Stop after so many epochs without a better validation score.", min=1)]
Answers = Annotated[int, typer.Option(help="Learn so many of the most frequent answers.", min=1)]
Init = Annotated[str | None, typer.Option("--init", metavar="KIND:DIR", help=_INIT_HELP)]
Keep = Annotated[bool, typer.Option("--keep-predictions", help=_KEEP_HELP)]
Words = Annotated[Path | None, typer.Option("--words", metavar="FILE", help="Word vectors to start from, as GloVe's.")]
Compile = Annotated[bool, typer.Option("--compile", help=_COMPILE_HELP)]
Device = Annotated[str, typer.Option(help="`cpu`, `cuda`, or `auto`: a GPU where there is one.")]


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
    _config: options.Config = None,
) -> None:
    """Train a network, perhaps by a method of bias reduction.

    The epoch that is kept is the best on the split `val` (or a tenth of the training images); other splits are scored
    and never chosen by. Stop it at any time and run it again to go on. The result is the model zoo:DIR.
    """
    require_torch()
    from eyechart.zoo.trainer import Wanted, train_into

    wanted = Wanted(
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
    heard: list[Epoch] = []
    with show.progress_bars(silent=json)(f"training {model}, {debias}", wanted.course().epochs) as advance:

        def on_epoch(epoch: "Epoch") -> None:
            heard.append(epoch)
            advance(1)

        record = train_into(out, examples, wanted, on_epoch)
    _print(out, record, heard, as_json=json)


def require_torch() -> None:
    """Say how to install torch where it is missing."""
    from importlib.util import find_spec

    from eyechart.errors import MissingExtraError

    if find_spec("torch") is None:
        raise MissingExtraError("the package torch", "none", "pip install 'eyechart[torch]'")


def _print(out: Path, record: "Trained", epochs: "list[Epoch]", *, as_json: bool) -> None:
    told = {
        "model": f"zoo:{out},trust=yes" if record.code else f"zoo:{out}",
        "pretrained_on": list(record.pretrained_on),
        "trained_on_the_metric": list(record.trained_on_the_metric),
    }
    if as_json:
        show.print_json({**told, "epochs": [each._asdict() for each in epochs]})
        return
    if not epochs:
        typer.echo("nothing is left to train: its epochs are over, or patience was")
    names = list(epochs[-1].accuracy) if epochs else []
    rows = [
        (each.number, f"{each.loss:.3f}", *(f"{100 * each.accuracy[name]:.1f}" for name in names), "*" * each.best)
        for each in epochs
    ]
    if rows:
        show.print_table(f"{record.model}, {record.method}", ("epoch", "loss", *names, "best so far"), rows)
    show.print_learned([Learned(out.name, record.pretrained_on, record.trained_on_the_metric)])
    typer.echo(f"model: {told['model']}")
