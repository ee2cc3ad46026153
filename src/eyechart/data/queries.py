"""Read the query string of an explorer address as typed values, and write addresses from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

ROWS_PER_PAGE = 50  # rows of a list
MOST_TEXT = 2000  # characters in one value of an address

Params = Sequence[tuple[str, str]]


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
