"""Serve a run, by default on this machine only, with an unguessable token.

Access requires the token and this server's own address, and what browsers may do is restricted.
"""

import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from polars.exceptions import PolarsError

from eyechart.base.errors import EyechartError, SettingError
from eyechart.base.files import damaged_inside
from eyechart.data.store import Store
from eyechart.viewing.furniture import gather_furniture
from eyechart.viewing.glances import begin_reading
from eyechart.viewing.pages import routes
from eyechart.viewing.questionnaire import plan_questions
from eyechart.viewing.rendering import Endpoint, Receiver, fill_failed, fill_missing
from eyechart.viewing.survey import SurveyPages

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

POLICY = (
    "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # without referrers our own forms would have no origin
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
SAFE = ("GET", "HEAD")

Next = Callable[["Request"], Awaitable["Response"]]


class Guard:
    """Admit a request, or refuse it before any page sees it."""

    def __init__(self, token: str, names: Iterable[str], port: int) -> None:
        self.token = token
        self.hosts = frozenset(f"{name}:{port}" for name in names)
        self.cookie = f"eyechart-{port}"  # cookies do not distinguish ports

    async def __call__(self, request: "Request", follow: Next) -> "Response":
        """Check a request's origin and token, and add security headers to the response."""
        response = self._refuse(request) or self._set_cookie(request) or await follow(request)
        for name, value in HEADERS.items():
            response.headers[name] = value
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    def _refuse(self, request: "Request") -> "Response | None":
        host = request.headers.get("host", "")
        origin = request.headers.get("origin")
        if host not in self.hosts:
            return _refusal(421, "This is not the address of this server.")
        if origin is not None and origin != f"http://{host}":
            return _refusal(403, "Another site sent this request.")
        if request.method not in SAFE and origin is None:
            return _refusal(403, "The request does not say which site sent it.")
        if not self._knows(request.cookies.get(self.cookie)) and not self._knows(request.query_params.get("token")):
            return _refusal(403, "Open the address that eyechart printed: it contains the token for this page.")
        return None

    def _knows(self, token: str | None) -> bool:
        return token is not None and secrets.compare_digest(token.encode(), self.token.encode())

    def _set_cookie(self, request: "Request") -> "Response | None":
        """Move the token of an address into a cookie, and redirect to the address without it."""
        if "token" not in request.query_params or not self._knows(request.query_params["token"]):
            return None
        parameters = [pair for pair in parse_qsl(request.url.query) if pair[0] != "token"]
        # Redirect by a page: after an HTTP redirect from another site a strict cookie would not be sent.
        response = _redirect(f"{request.url.path}?{urlencode(parameters)}" if parameters else request.url.path)
        response.set_cookie(self.cookie, self.token, httponly=True, samesite="strict", path="/")
        return response


def _redirect(address: str) -> "Response":
    from starlette.responses import HTMLResponse

    to = escape("/" + address.lstrip("/"))  # two slashes would mean another host
    head = f'<title>eyechart</title><link rel="icon" href="data:,"><meta http-equiv="refresh" content="0;url={to}">'
    page = f'<!doctype html><html lang="en"><head>{head}</head><body><a href="{to}">Continue</a></body></html>'
    return HTMLResponse(page)


def _refusal(status: int, sentence: str) -> "Response":
    from starlette.responses import PlainTextResponse

    return PlainTextResponse(sentence + "\n", status)


if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

LOCAL = ("127.0.0.1", "localhost")


@dataclass(frozen=True)
class ServerAddress:
    """The address the server listens on, and the names it can be reached by."""

    host: str = "127.0.0.1"
    port: int = 0  # any that is free
    names: Sequence[str] = ()

    @property
    def hosts(self) -> tuple[str, ...]:
        """List the host names that requests may use."""
        return tuple(dict.fromkeys((*self.names, *LOCAL, self.host)))

    @property
    def announced(self) -> str:
        """Choose the host name to print."""
        is_any = self.host in ("0.0.0.0", "")  # noqa: S104 - only compared
        return next(iter(self.names), LOCAL[0] if is_any else self.host)

    def listen(self) -> socket.socket:
        """Open the socket to listen on."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((self.host, self.port))
            listener.listen()  # requests wait until the server runs
        except OSError as error:
            listener.close()
            advice = "choose another with --port, or leave it out"
            reason = error.strerror or str(error)
            raise SettingError(f"a free port at {self.host}:{self.port}", reason, advice) from None
        return listener


def view_run(run: Store, address: ServerAddress, announce: Callable[[str], None], audits: tuple[str, ...] = ()) -> None:
    """Serve the explorer of a run, with the pages of further audits, until it is stopped."""
    run.manifest  # noqa: B018 - fails at once when this is no run
    begin_reading(run)
    _serve(lambda guard: build_explorer(run, guard, audits), address, announce)


def ask_people(
    run: Store,
    address: ServerAddress,
    announce: Callable[[str], None],
    *,
    items: int = 40,
    seed: int = 0,
    options: str = "",
) -> None:
    """Serve the survey of a run, which asks each person about `items` examples, until it is stopped."""
    run.manifest  # noqa: B018 - fails at once when this is no run
    _serve(lambda guard: build_survey(run, guard, items, seed, options), address, announce)


def build_explorer(run: Store, guard: Guard, audits: tuple[str, ...] = ()) -> "FastAPI":
    """Build the app of the explorer."""
    furniture = gather_furniture(audits)
    furniture.load()
    return make_app(routes(run, furniture), guard)


def build_survey(run: Store, guard: Guard, items: int = 40, seed: int = 0, options: str = "") -> "FastAPI":
    """Build the app of the survey, without the explorer's pages, because those show the answers."""
    survey = SurveyPages(plan_questions(run, items, seed, options))
    return make_app(survey.pages(), guard, survey.forms())


def make_app(pages: dict[str, Endpoint], guard: Guard, forms: dict[str, Receiver] | None = None) -> "FastAPI":
    """Build an app with pages and form receivers behind a guard, which shows errors in the run's files on a page."""
    from fastapi import FastAPI
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.routing import Route

    shown = [Route(path, endpoint, methods=["GET"]) for path, endpoint in pages.items()]
    sent = [Route(path, endpoint, methods=["POST"]) for path, endpoint in (forms or {}).items()]
    app = FastAPI(
        routes=[*shown, *sent],
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        middleware=[Middleware(BaseHTTPMiddleware, dispatch=guard)],
    )
    for error in (EyechartError, PolarsError):
        app.add_exception_handler(error, _show_error)
    app.add_exception_handler(404, _show_missing)
    return app


def _serve(build: Callable[[Guard], "FastAPI"], address: ServerAddress, announce: Callable[[str], None]) -> None:
    """Announce the address with its token, and serve the app behind its guard until it is stopped."""
    import uvicorn

    with address.listen() as listener:
        port = listener.getsockname()[1]
        guard = Guard(secrets.token_urlsafe(24), address.hosts, port)
        app = build(guard)
        announce(f"http://{address.announced}:{port}/?token={guard.token}")
        config = uvicorn.Config(app, log_level="warning", server_header=False, proxy_headers=False, access_log=False)
        with suppress(KeyboardInterrupt):  # how it is stopped
            uvicorn.Server(config).run(sockets=[listener])


def _show_error(_request: "Request", error: Exception) -> "Response":
    from starlette.responses import HTMLResponse

    told = damaged_inside(error) if isinstance(error, PolarsError) else error
    if told is None:
        raise error
    return HTMLResponse(fill_failed(str(told)), 500)


def _show_missing(_request: "Request", _error: Exception) -> "Response":
    from starlette.responses import HTMLResponse

    return HTMLResponse(fill_missing("There is no such page."), 404)
