"""Lay rows out as Markdown tables: one head and one line, in which `{key:format}` stands for a field of the row."""

import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from record import Row, keep

Layout = Callable[[list[Row]], Iterable[str]]


class _Cells(string.Formatter):
    """Format fields; nothing for one that is missing, `value [low, high]` for a list, points for a share."""

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401, ARG002
        return kwargs.get(str(key))

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401 - any field of a row
        if value is None:
            return ""
        if isinstance(value, list):
            value, low, high = (self.format_field(each, format_spec) for each in value)
            return f"{value} [{low}, {high}]"
        if isinstance(value, str):
            return value
        return f"{100 * value:z.1f}" if format_spec == "points" else format(value, format_spec)


CELLS = _Cells()


def lay_out(head: str, line: str, rows: Iterable[Row]) -> Iterator[str]:
    """Write the head, and the line for each row."""
    yield head
    yield "|---" * (head.count("|") - 1) + "|"
    for row in rows:
        yield CELLS.vformat(line, (), row).replace("|  |", "| |").replace("|  |", "| |")


def table(head: str, line: str, name: str = "") -> Layout:
    """Lay out the rows whose field `table` has this name; all rows if they have no such field."""
    return lambda rows: lay_out(head, line, (row for row in rows if row.get("table", "") == name))


def pivot(rows: Iterable[Row], index: str, column: str, value: str = "value") -> list[Row]:
    """Put the values of rows that share an index into one row, under the names in a column."""
    found: dict[Any, Row] = {}
    for row in rows:
        found.setdefault(row[index], {index: row[index]})[row[column]] = row[value]
    return list(found.values())


def report(name: str, layouts: Mapping[str, Layout], rows: list[Row], *, kept: bool) -> None:
    """Print all tables of what was measured, and keep the rows if that was asked for."""
    for layout in layouts.values():
        print("\n".join(layout(rows)), end="\n\n", flush=True)
    if kept:
        keep(name, rows)
