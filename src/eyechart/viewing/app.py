"""The application: routes behind the guard."""

from typing import TYPE_CHECKING

from eyechart.errors import EyechartError
from eyechart.viewing.guard import Guard
from eyechart.viewing.pages import Endpoint, Receiver
from eyechart.viewing.setting import set_missing

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response


def make_app(pages: dict[str, Endpoint], guard: Guard, forms: dict[str, Receiver] | None = None) -> "FastAPI":
    """Put pages, and what forms are sent to, behind a guard; a mistake in the run's files is told on a page."""
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
    app.add_exception_handler(EyechartError, _tell)
    app.add_exception_handler(404, _lost)
    return app


def _tell(_request: "Request", error: Exception) -> "Response":
    from starlette.responses import HTMLResponse

    return HTMLResponse(set_missing(str(error)), 500)


def _lost(_request: "Request", _error: Exception) -> "Response":
    from starlette.responses import HTMLResponse

    return HTMLResponse(set_missing("There is no such page."), 404)
