"""Pages set from templates: everything that comes from data is escaped, and no address is written by hand."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from eyechart.files import our_version
from eyechart.reporting.setting import open_templates
from eyechart.viewing.example import say

if TYPE_CHECKING:
    from jinja2 import Environment

STATIC = {  # name -> its room, its type
    "style.css": ("eyechart.reporting", "text/css"),
    "view.css": ("eyechart.viewing", "text/css"),
    "view.js": ("eyechart.viewing", "text/javascript"),
    "icon.svg": ("eyechart.viewing", "image/svg+xml"),
}


@cache
def room() -> "Environment":
    """Open the explorer's templates."""
    found = open_templates("eyechart.viewing", "templates")
    found.globals |= {"version": our_version(), "address": address}
    found.filters |= {"say": say, "percent": percent}
    return found


def set_page(template: str, content: Mapping[str, Any]) -> str:
    """Fill a template."""
    return room().get_template(template).render(**content)


def address(path: str, words: Mapping[str, object]) -> str:
    """Write an address; a word without a value is left out."""
    return f"{path}?{urlencode({name: value for name, value in words.items() if value not in (None, '')})}"


def percent(value: float | None) -> str:
    """Write a share in points."""
    return "-" if value is None else f"{100 * value:.1f}"


def static(name: str) -> tuple[str, str] | None:
    """Read one of our own few files, with its type."""
    if name not in STATIC:
        return None
    package, kind = STATIC[name]
    return files(package).joinpath(name).read_text(encoding="utf-8"), kind
