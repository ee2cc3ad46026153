"""The command line: parse, call, print."""

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from polars.exceptions import PolarsError
from typer.exceptions import TyperException

from eyechart.base.errors import EyechartError
from eyechart.base.files import damaged_inside, our_version
from eyechart.base.trust import words_of
from eyechart.cli import listing, models, printing, reading, results, running
from eyechart.cli.options import AuditCommand

ABOUT = """An eye test for multimodal data and models.

Find the shortcuts in a visual question answering dataset, measure how much a model relies on them, and repair the
data."""

EXAMPLES: dict[Callable[..., None], str] = {
    reading.demo: "eyechart demo -o demo",
    listing.ls: "eyechart ls audits --for DATA",
    reading.read: "eyechart read table answers.jsonl -o DATA --map question=prompt answer=label",
    running.study: "eyechart study DATA -a accuracy -o runs/mine",
    running.probe: "eyechart probe runs/mine",
    running.predict: "eyechart predict runs/mine -m predictions:answers.json",
    running.judge: "eyechart judge runs/mine",
    running.audit: "eyechart audit DATA -m predictions:answers.json --by question_type -o runs/mine",
    results.compare: "eyechart compare runs/mine runs/other -o compare.html",
    results.report: "eyechart report runs/mine -o report.html",
    results.view: "eyechart view runs/mine",
    results.export: "eyechart export runs/mine --to eee -o exported",
    models.train: "eyechart train DATA updn --debias lmh -o models/updn-lmh",
    models.cache: "eyechart cache prune --older-than 90",
}

VALUES = {  # by the kind of error that pydantic reports to typer
    "int_parsing": "as a whole number",
    "float_parsing": "as a number",
    "greater_than_equal": "of at least {ge}",
    "less_than_equal": "of at most {le}",
}
STOPPED = 130  # the exit code of typer, and of shells, after Ctrl-C

app = typer.Typer(
    name="eyechart",
    help=ABOUT,
    epilog="\b\nStart with:\n  eyechart demo",
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for command, example in EXAMPLES.items():
    kind = AuditCommand if command in (running.study, running.audit) else None
    app.command(epilog=f"\b\nExample:\n  {example}", cls=kind)(command)  # \b: keep the lines as they are


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Print the version on request, or the help if no command is given."""
    if version:
        typer.echo(f"eyechart {our_version()}")
        raise typer.Exit
    if context.invoked_subcommand is None:  # typer's own no_args_is_help makes an error of it
        typer.echo(context.get_help())


def main() -> None:
    """Run a command: a user error prints one line and exits with code 1; only a bug shows a traceback."""
    try:
        with words_of(sys.argv[1:]):
            code = typer.main.get_command(app).main(prog_name="eyechart", standalone_mode=False)
    except EyechartError as error:
        code = _fail(str(error))
    except PolarsError as error:
        if (told := damaged_inside(error)) is None:
            raise
        code = _fail(str(told))
    except OSError as error:  # typer itself exits quietly if a pipe is closed
        code = _fail(_describe(error))
    except TyperException as error:
        code = _fail(_describe_usage(error))
    if code == STOPPED:
        _fail("stopped; run the same command again to continue")
    sys.exit(code)


def _describe(error: OSError) -> str:
    """Write which file the system refused to open, if it names one, and why."""
    path = error.filename2 or error.filename
    expected = "to read and write files" if path is None else f"to read or write {path}"
    return f"expected {expected}; found {error.strerror or error}; name another place, or make room"


def _describe_usage(error: TyperException) -> str:
    """Write which value of an option does not fit, in our own form, or else what typer says."""
    details: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    wanted = VALUES.get(details[0]["type"]) if details else None
    if wanted is None:
        return f"{error.format_message()} (see --help)"
    option = getattr(error, "param").opts[-1]  # noqa: B009 - typer does not export the type that has it
    expected = f"{option} {wanted.format(**details[0].get('ctx', {}))}"
    return f"expected {expected}; found {details[0]['input']!r}; see --help"


def _fail(message: str) -> int:
    printing.print_error(message)
    return 1
