"""Access to a run: require the token and this server's own address, and restrict what browsers may do."""

import secrets
from collections.abc import Awaitable, Callable, Iterable
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

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
