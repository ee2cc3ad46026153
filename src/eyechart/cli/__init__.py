"""The command line: parse, call, print."""

import sys

import typer
from typer.exceptions import Abort, Exit, TyperException

from eyechart.cli import data, running
from eyechart.errors import EyechartError
from eyechart.files import our_version

app = typer.Typer(
    name="eyechart",
    help="An eye test for multimodal data and models.\n\n"
    "Find the shortcuts in a visual question answering dataset, measure how much a model leans on them, repair the data.",
    epilog="Start with: eyechart demo",
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


@app.callback(invoke_without_command=True)
def eyechart(
    *, version: bool = typer.Option(False, "--version", help="Print the version and leave.", is_eager=True)
) -> None:
    """Print the version where that is all that was asked for."""
    if version:
        typer.echo(f"eyechart {our_version()}")
        raise typer.Exit


for verb in (
    data.demo,
    data.ls,
    data.read,
    running.study,
    running.probe,
    running.predict,
    running.judge,
    running.audit,
    running.report,
):
    app.command()(verb)


def main() -> None:
    """Run a command; a user's mistake is one line and exit code 1, and only a bug shows a traceback."""
    try:
        code = typer.main.get_command(app).main(prog_name="eyechart", standalone_mode=False)
    except (EyechartError, TyperException) as error:
        typer.echo(f"eyechart: {_one_line(error)}", err=True)
        code = 1
    except Exit as leaving:
        code = leaving.exit_code
    except (Abort, KeyboardInterrupt):
        typer.echo("eyechart: stopped; what was answered is kept, run the same command to go on", err=True)
        code = 1
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away, as `head` does; Python would complain at exit
        code = 0
    sys.exit(code)


def _one_line(error: EyechartError | TyperException) -> str:
    message = error.format_message() if isinstance(error, TyperException) else str(error)
    advice = " (see --help)" if isinstance(error, TyperException) else ""
    return " ".join(message.split()) + advice
