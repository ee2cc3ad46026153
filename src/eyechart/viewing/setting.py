"""Pages set from templates: everything that comes from data is escaped, and no address is written by hand."""

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from markupsafe import Markup

from eyechart.files import our_version
from eyechart.reporting.palette import NO_LOOKS, Palette
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


@lru_cache(maxsize=8)
def room(palette: Palette = NO_LOOKS) -> "Environment":
    """Open the explorer's templates, and those that audits name as `package:file.html`."""
    from jinja2 import ChoiceLoader, FunctionLoader

    found = open_templates("eyechart.viewing", "templates", palette)
    own = found.loader
    found.loader = ChoiceLoader([*([own] if own else ()), FunctionLoader(_read_template)])
    found.globals |= {"version": our_version(), "address": address}
    found.filters |= {"say": say, "percent": percent}
    return found


def set_page(template: str, content: Mapping[str, Any], palette: Palette = NO_LOOKS) -> str:
    """Fill a template, for a run whose conditions look so."""
    return room(palette).get_template(template).render(**content)


def set_missing(sentence: str) -> str:
    """Fill the page that says what is not there; it knows no run, so it has no menu of one."""
    return set_page("missing.html", {"here": "", "menu": (), "sentence": sentence})


def set_fragment(template: str, content: Mapping[str, Any], palette: Palette = NO_LOOKS) -> str:
    """Fill a template whose text goes into another page as it is."""
    return Markup(set_page(template, content, palette))  # noqa: S704 - a template escapes what comes from data


def _read_template(name: str) -> str | None:
    package, named, file = name.partition(":")
    return files(package).joinpath(file).read_text(encoding="utf-8") if named else None


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
