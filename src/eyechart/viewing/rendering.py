"""Read requests and send pages and files, from templates that escape everything that comes from data."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import polars as pl
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from eyechart.base.files import our_version
from eyechart.data.furniture import ExplorerQuery
from eyechart.reporting.palette import NO_LOOKS, Palette
from eyechart.reporting.rendering import open_templates
from eyechart.viewing.example import format_value

if TYPE_CHECKING:
    from jinja2 import Environment

Endpoint = Callable[[Request], Response]
Receiver = Callable[[Request], Awaitable[Response]]  # receives a form

STATIC = {  # name -> package, media type
    "style.css": ("eyechart.reporting", "text/css"),
    "view.css": ("eyechart.viewing", "text/css"),
    "view.js": ("eyechart.viewing", "text/javascript"),
    "icon.svg": ("eyechart.viewing", "image/svg+xml"),
}


def read_query(request: Request) -> ExplorerQuery:
    """Read the query string of a request."""
    return ExplorerQuery(tuple(request.query_params.multi_items()))


def send_missing(sentence: str) -> HTMLResponse:
    """Send the page for something that does not exist."""
    return HTMLResponse(fill_missing(sentence), 404)


def send_csv(parts: Iterable[str], name: str) -> StreamingResponse:
    """Send a table as a CSV file, in parts."""
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return StreamingResponse(parts, media_type="text/csv; charset=utf-8", headers=headers)


def send_static(request: Request) -> Response:
    """Send one of our static files."""
    name = request.path_params["name"]
    if name not in STATIC:
        return Response(status_code=404)
    package, kind = STATIC[name]
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    return Response(text, media_type=kind, headers={"Cache-Control": "private, max-age=300"})


def fill_page(template: str, content: Mapping[str, Any], palette: Palette = NO_LOOKS) -> str:
    """Render a template with the colours of a run's conditions."""
    return _templates(palette).get_template(template).render(**content)


def fill_missing(sentence: str) -> str:
    """Render the page for something that does not exist; it belongs to no run, so its menu is empty."""
    return fill_page("notice.html", {"here": "", "menu": (), "title": "Not found", "sentence": sentence})


def fill_failed(sentence: str) -> str:
    """Render the page for something that cannot be read."""
    return fill_page("notice.html", {"here": "", "menu": (), "title": "Not readable", "sentence": sentence})


def fill_fragment(template: str, content: Mapping[str, Any], palette: Palette = NO_LOOKS) -> str:
    """Render a template whose text is inserted into another page unescaped."""
    return Markup(fill_page(template, content, palette))  # noqa: S704 - a template escapes what comes from data


def flatten(table: pl.DataFrame) -> pl.DataFrame:
    """Convert lists and records to text, because CSV cannot hold them."""
    nested = [name for name, kind in table.schema.items() if kind.is_nested()]
    return table.with_columns(pl.Series(name, map(format_value, table[name]), pl.String) for name in nested)


def address(path: str, parameters: Mapping[str, object]) -> str:
    """Build an address, leaving out parameters without a value."""
    return f"{path}?{urlencode({name: value for name, value in parameters.items() if value not in (None, '')})}"


def percent(value: float | None) -> str:
    """Format a share as points."""
    return "-" if value is None else f"{100 * value:.1f}"


@lru_cache(maxsize=8)
def _templates(palette: Palette) -> "Environment":
    """Open the explorer's templates and those that audits name as `package:file.html`."""
    from jinja2 import ChoiceLoader, FunctionLoader

    templates = open_templates("eyechart.viewing", "templates", palette)
    own = templates.loader
    templates.loader = ChoiceLoader([*([own] if own else ()), FunctionLoader(_read_template)])
    templates.globals |= {"version": our_version(), "address": address}
    templates.filters |= {"say": format_value, "percent": percent}
    return templates


def _read_template(name: str) -> str | None:
    package, colon, file = name.partition(":")
    return files(package).joinpath(file).read_text(encoding="utf-8") if colon else None
