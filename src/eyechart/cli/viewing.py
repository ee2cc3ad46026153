"""The verb that opens a run in the browser."""

import webbrowser
from typing import Annotated

import typer

from eyechart.cli import options as shared
from eyechart.errors import MissingExtraError
from eyechart.store import Store

Ask = Annotated[bool, typer.Option("--ask", help="Let people answer probes instead, as a model named `human`.")]
Items = Annotated[int, typer.Option(help="With --ask: how many examples each person is asked about.", min=1)]
Options = Annotated[str, typer.Option(metavar="SET", help="With --ask: the options to offer, a set of `decoys`.")]
Host = Annotated[str, typer.Option(help="The address to listen on; other than 127.0.0.1 lets others in.")]
Port = Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)]
Names = Annotated[list[str] | None, typer.Option("--name", help="A name others open it by; again for more.")]
Audits = Annotated[
    list[str] | None,
    typer.Option("--audit", "-a", metavar="FILE.py:CLASS", help="An audit of your own, for its pages; again for more."),
]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")]


def view(
    run: shared.RunFolder,
    *,
    ask: Ask = False,
    items: Items = 40,
    options: Options = "orig",
    seed: shared.Seed = 0,
    host: Host = "127.0.0.1",
    port: Port = 0,
    name: Names = None,
    audit: Audits = None,
    open: Open = True,  # noqa: A002 - what it is called everywhere
    _config: shared.Config = None,
) -> None:
    """Look into a run in the browser.

    Prints an address with a token; nobody without it sees anything. Stop with Ctrl-C. Needs the extra `view`.
    """
    _require_extra()
    from eyechart.viewing.serving import Doorway
    from eyechart.viewing.start import People, view_run

    def announce(address: str) -> None:
        typer.echo(f"look at: {address}")
        if open:
            webbrowser.open(address)

    people = People(items, seed, options) if ask else None
    view_run(Store(run), Doorway(host, port, name or ()), announce, people, tuple(audit or ()))


def _require_extra() -> None:
    try:
        import fastapi
        import uvicorn
    except ImportError as error:
        advice = "install them: pip install 'eyechart[view]'"
        raise MissingExtraError("the libraries fastapi and uvicorn", str(error), advice) from None
    del fastapi, uvicorn
