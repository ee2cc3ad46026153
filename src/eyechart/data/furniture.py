"""Furniture: what an audit provides besides its methods, as data on its class: looks, pages, exports and options.

Pages, the explorer, exports and the command line read it from there and know no audit by name. Code is referenced as
`package.module:function` or `file.py:function`, and loaded when it is needed.

A page is built from the query string of its address, read as typed values.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlencode

import polars as pl

ROWS_PER_PAGE = 50  # rows of a list
MOST_TEXT = 2000  # characters in one value of an address

Params = Sequence[tuple[str, str]]
# What the verdict of an audit on a model is about. The first two take part in the line that says whether the model
# looks, which needs one of the first.
About = Literal["looking", "shortcuts", "other"]


@dataclass(frozen=True)
class ExplorerQuery:
    """The fields of a query string in order; a name may occur several times."""

    words: tuple[tuple[str, str], ...]

    def get(self, name: str, default: str = "") -> str:
        """Return the last value of a name."""
        values = [value for key, value in self.words if key == name]
        return values[-1][:MOST_TEXT] if values and values[-1].strip() else default

    def all(self, name: str) -> tuple[str, ...]:
        """List every value of a name, each once."""
        return tuple(dict.fromkeys(value for key, value in self.words if key == name and value))

    def one_of(self, name: str, known: Sequence[str], default: str = "") -> str:
        """Return the value of a name if it is one of the known ones."""
        value = self.get(name)
        return value if value in known else default

    @property
    def page(self) -> int:
        """Return the number of the page, from 1."""
        value = self.get("page", "1")
        return max(1, int(value)) if value.isascii() and value.isdecimal() and len(value) < 8 else 1

    def to(self, path: str, changes: Mapping[str, str | int | None] | None = None) -> str:
        """Write the same address with some values changed; it starts at the first page unless a page is given."""
        gone = {"page", *(changes or {})}
        kept = [(name, value) for name, value in self.words if name not in gone and value]
        new = [(name, str(value)) for name, value in (changes or {}).items() if value not in (None, "")]
        return _address(path, [*kept, *new])

    def without(self, path: str, name: str, value: str) -> str:
        """Write the same address without one field."""
        return _address(path, [word for word in self.words if word != (name, value) and word[0] != "page" and word[1]])


def _address(path: str, words: Params) -> str:
    return f"{path}?{urlencode(words)}" if words else path


@dataclass(frozen=True)
class ListPage:
    """One page of a list, by its number and the number of rows in the whole list."""

    number: int
    total: int

    @property
    def pages(self) -> int:
        """Count the pages."""
        return max(1, -(-self.total // ROWS_PER_PAGE))

    @property
    def start(self) -> int:
        """Count the rows before this page."""
        return (min(self.number, self.pages) - 1) * ROWS_PER_PAGE

    @property
    def end(self) -> int:
        """Count the rows up to the end of this page."""
        return min(self.start + ROWS_PER_PAGE, self.total)


@dataclass(frozen=True)
class Look:
    """The label and the colour of conditions wherever they are shown.

    `matches` is a regular expression for the whole name of a condition (or of its label in a chart). `color`
    is one of the families of the page (plain, image, question, both, evidence, rest, options, other) or a `#rrggbb`.
    """

    matches: str
    label: str
    color: str

    def fits(self, condition: str) -> bool:
        """Return whether a condition has this look."""
        return re.fullmatch(self.matches, condition) is not None


@dataclass(frozen=True)
class Hiding:
    """A condition that offers a set of options and hides modalities, so that people can be asked what models are."""

    condition: str
    options: str  # the name of the set
    hidden: tuple[str, ...] = ()
    is_own: bool = False  # they are the options of the data


@dataclass(frozen=True)
class Option:
    """A short option of the command line for a setting of the audit: `--precision 2` for `--set precision=2`."""

    flag: str
    setting: str
    help: str
    several: bool = False  # may be repeated
    metavar: str = "VALUE"


@dataclass(frozen=True)
class ExplorerPage:
    """A page of the explorer: `build` is called with the store of the run and the address, and returns a `Sheet`.

    It returns None if the run has nothing to show. Pages with a title are in the menu once their audit has studied
    the data, and on the first page with their subject.
    """

    path: str  # name in the address, such as `rules`
    build: str
    title: str = ""
    about: str = ""


@dataclass(frozen=True)
class Furniture:
    """Everything that an audit provides besides its methods."""

    about: About = "other"
    looks: tuple[Look, ...] = ()
    contrasts: tuple[Look, ...] = ()  # conditions to set beside the unchanged example, the most telling first
    hidings: tuple[Hiding, ...] = ()
    scored: str = ""  # the column of its results' rows with the score of the answer to the unchanged example
    pages: tuple[ExplorerPage, ...] = ()
    exports: Mapping[str, str] = field(default_factory=dict)  # name -> function of a store and a folder
    options: tuple[Option, ...] = ()
    facts: str = ""  # function of a store: further counts for the first page of the explorer, by name
    together: str = ""  # function of the results of several models by name: a table of all and its `View`, or None
    beside: str = ""  # function of a store and an id: a `Sheet` next to an example, or None
    prepare: str = ""  # function of a store: load data for later pages while the first one is viewed


@dataclass(frozen=True)
class Sheet:
    """The content of a page of the explorer: a table, or a template that extends the explorer's `base.html`.

    A column `id` of the table links to the examples. The table can be saved as a file; if it is too large for that at
    once, `csv` yields it part by part.
    """

    title: str
    reading: str = ""
    table: pl.DataFrame | None = None
    template: str = ""  # `package:file.html`
    content: Mapping[str, Any] = field(default_factory=dict)
    csv: Iterable[str] | None = None


NONE = Furniture()


def furniture_of(audit: object) -> Furniture:
    """Return the furniture of an audit or its class; most have none."""
    furniture = getattr(audit, "furniture", NONE)
    return furniture if isinstance(furniture, Furniture) else NONE


def looks_of(audits: Iterable[object]) -> Iterator[Look]:
    """Collect the looks of several audits, each once."""
    yield from dict.fromkeys(look for audit in audits for look in furniture_of(audit).looks)
