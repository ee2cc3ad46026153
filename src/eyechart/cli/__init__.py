"""The command line: parse, call, print."""

import sys
from collections.abc import Callable
from typing import Annotated

import typer
from typer.exceptions import TyperException

from eyechart.cli import beginning, caching, comparing, listing, running, training, viewing
from eyechart.cli.shortcuts import AuditVerb
from eyechart.errors import EyechartError
from eyechart.files import our_version

ABOUT = """An eye test for multimodal data and models.

Find the shortcuts in a visual question answering dataset, measure how much a model leans on them, repair the data."""

EXAMPLES: dict[Callable[..., None], str] = {
    beginning.demo: "eyechart demo -o demo",
    listing.ls: "eyechart ls audits --for DATA",
    beginning.read: "eyechart read table answers.jsonl -o DATA --map question=prompt answer=label",
    running.study: "eyechart study DATA -a accuracy -o runs/mine",
    running.probe: "eyechart probe runs/mine",
    running.predict: "eyechart predict runs/mine -m predictions:answers.json",
    running.judge: "eyechart judge runs/mine",
    running.audit: "eyechart audit DATA -m predictions:answers.json --by question_type -o runs/mine",
    comparing.compare: "eyechart compare runs/mine runs/other -o compare.html",
    running.report: "eyechart report runs/mine -o report.html",
    viewing.view: "eyechart view runs/mine",
    running.export: "eyechart export runs/mine --to eee -o exported",
    training.train: "eyechart train DATA updn --debias lmh -o models/updn-lmh",
    caching.cache: "eyechart cache prune --older-than 90",
}

STOPPED = 130  # what typer makes of Ctrl-C, as shells do

app = typer.Typer(
    name="eyechart",
    help=ABOUT,
    epilog="\b\nStart with:\n  eyechart demo",
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for verb, example in EXAMPLES.items():
    kind = AuditVerb if verb in (running.study, running.audit) else None
    app.command(epilog=f"\b\nExample:\n  {example}", cls=kind)(verb)  # \b: keep the lines as they are


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """Print the version where that is all that was asked for, and the help where nothing was."""
    if version:
        typer.echo(f"eyechart {our_version()}")
        raise typer.Exit
    if context.invoked_subcommand is None:  # typer's own no_args_is_help makes an error of it
        typer.echo(context.get_help())


def main() -> None:
    """Run a command; a user's mistake is one line and exit code 1, and only a bug shows a traceback."""
    try:
        code = typer.main.get_command(app).main(prog_name="eyechart", standalone_mode=False)
    except EyechartError as error:
        code = _fail(str(error))
    except OSError as error:  # typer itself leaves quietly where a pipe is closed
        code = _fail(_say(error))
    except TyperException as error:
        code = _fail(f"{error.format_message()} (see --help)")
    if code == STOPPED:
        _fail("stopped; run the same command again to go on")
    sys.exit(code)


def _say(error: OSError) -> str:
    """Say which file the system refused, where it names one, and why."""
    place = error.filename2 or error.filename
    what = "to read and write files" if place is None else f"to read or write {place}"
    return f"expected {what}; found {error.strerror or error}; name another place, or make room"


def _fail(message: str) -> int:
    typer.echo(f"eyechart: {' '.join(message.split())}", err=True)
    return 1
