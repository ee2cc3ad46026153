"""Start the server: on this machine only unless told otherwise, with a token nobody can guess."""

import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eyechart.errors import SettingError
from eyechart.viewing.guard import Guard

if TYPE_CHECKING:
    from fastapi import FastAPI

LOCAL = ("127.0.0.1", "localhost")


@dataclass(frozen=True)
class Doorway:
    """Where the server listens and under which names it may be called."""

    host: str = "127.0.0.1"
    port: int = 0  # any that is free
    names: Sequence[str] = ()


def serve(build: Callable[[Guard], "FastAPI"], doorway: Doorway, announce: Callable[[str], None]) -> None:
    """Announce the address with its token, and serve what is built behind its guard until it is stopped."""
    import uvicorn

    with _listen(doorway) as listener:
        port = listener.getsockname()[1]
        names = dict.fromkeys((*doorway.names, *LOCAL, doorway.host))
        guard = Guard(secrets.token_urlsafe(24), names, port)
        app = build(guard)
        announce(f"http://{_shown(doorway)}:{port}/?token={guard.token}")
        settings = uvicorn.Config(app, log_level="warning", server_header=False, proxy_headers=False, access_log=False)
        with suppress(KeyboardInterrupt):  # how people leave
            uvicorn.Server(settings).run(sockets=[listener])


def _shown(doorway: Doorway) -> str:
    """Choose the name that people are told."""
    anywhere = doorway.host in ("0.0.0.0", "")  # noqa: S104 - only compared
    return next(iter(doorway.names), LOCAL[0] if anywhere else doorway.host)


def _listen(doorway: Doorway) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((doorway.host, doorway.port))
        listener.listen()  # whoever comes before the server runs waits
    except OSError as error:
        listener.close()
        found = error.strerror or str(error)
        advice = "choose another with --port, or leave it out"
        raise SettingError(f"to listen on {doorway.host}:{doorway.port}", found, advice) from None
    return listener
