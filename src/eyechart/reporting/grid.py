"""Lay rows out as a grid of words: the one shape of table that the page knows how to set."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from eyechart.reporting.comparing import PART, TextGrid
from eyechart.reporting.contents import CountRow, Coverage, MeasureRow, Stock
from eyechart.reporting.drawing import INTERVAL_ROLES, SMALLEST, Column, Drawing, say
from eyechart.tables import STATUSES

FATES = (*STATUSES, "missing")


class Head(NamedTuple):
    """The name of a column, and whether numbers stand in it."""

    name: str
    number: bool = False


@dataclass(frozen=True)
class Grid:
    """Columns and rows of words."""

    head: tuple[Head, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = field(default=())


def measure_grid(measures: Sequence[MeasureRow]) -> Grid:
    """Lay measures out; a column that says nothing is left away, a note that all share is said once."""
    notes = list(dict.fromkeys(row.note for row in measures if row.note))
    shared = len(notes) == 1 and all(row.note for row in measures)
    grouped = any(row.by for row in measures)
    columns: list[tuple[Head, Callable[[MeasureRow], object]]] = [
        (Head("group"), lambda row: row.group or "-") if grouped else (Head("measure"), lambda row: row.name),
        (Head("measure"), lambda row: row.name if grouped else None),
        (Head("condition"), lambda row: row.condition),
        (Head("value [interval]", number=True), lambda row: row.said),
        (Head("n", number=True), lambda row: f"{row.n:,}"),
        (Head("clusters", number=True), lambda row: None if row.clusters is None else f"{row.clusters:,}"),
        (Head("p", number=True), lambda row: say_chance(row.p)),
        (Head("q", number=True), lambda row: say_chance(row.q)),
        (Head("unit"), lambda row: row.unit),
        (Head("score"), lambda row: row.score),
        (Head("note"), lambda row: None if shared else row.note),
    ]
    told = [(head, cell) for head, cell in columns if any(cell(row) is not None for row in measures)]
    rows = tuple(tuple(_word(cell(row)) for _, cell in told) for row in measures)
    return Grid(tuple(head for head, _ in told), rows, tuple(notes) if shared else ())


def count_grid(counts: Iterable[CountRow]) -> Grid:
    """Lay counts out."""
    rows = tuple((_word(row.condition), row.status, _word(row.reason), f"{row.n:,}") for row in counts)
    return _without_blanks(Grid((Head("condition"), Head("status"), Head("reason"), Head("n", number=True)), rows))


def stock_grid(stocks: Iterable[Stock]) -> Grid:
    """Lay out what files of answers hold."""
    head = (Head("model"), Head("condition"), Head("status"), Head("reason"), Head("n", number=True))
    rows = ((stock.model, row) for stock in stocks for row in stock.counts)
    told = ((model, _word(row.condition), row.status, _word(row.reason), f"{row.n:,}") for model, row in rows)
    return Grid(head, tuple(told))


def coverage_grid(coverage: Iterable[Coverage]) -> Grid:
    """Lay out how many probes were answered."""
    fixed = (Head("model"), Head("condition"), Head("asked", number=True), Head("usable", number=True))
    head = (*fixed, *(Head(fate, number=True) for fate in FATES))
    return Grid(head, tuple(tuple(_covered(row)) for row in coverage))


def drawing_grid(drawing: Drawing) -> Grid:
    """Lay out the data of a drawing, an interval beside its value."""
    places = {column.name: place for place, column in reversed(list(enumerate(drawing.columns)))}
    ends = [places[column.name] for role in INTERVAL_ROLES if (column := drawing.column(role))]
    value = _interval_of(drawing) if len(ends) == 2 else None
    shown = [place for place in places.values() if value is None or place not in ends]
    head = tuple(_head(drawing.columns[place], interval=place == value) for place in sorted(shown))
    rows = []
    for row in drawing.rows:
        words = [say(cell, column.kind) for cell, column in zip(row, drawing.columns, strict=True)]
        if value is not None:
            words[value] = f"{words[value]} [{words[ends[0]]}, {words[ends[1]]}]"
        rows.append(tuple(words[place] for place in sorted(shown)))
    return Grid(head, tuple(rows))


def beside_grid(part: TextGrid) -> Grid:
    """Lay out models side by side, the difference and the rank below the value they belong to."""
    rows = tuple((name, better, *(cell.replace(PART, "\n") for cell in cells)) for name, better, *cells in part.rows)
    return Grid(tuple(map(Head, part.columns)), rows)


def say_chance(value: float | None) -> str | None:
    """Speak a p-value or q-value."""
    if value is None:
        return None
    return f"< {SMALLEST}" if value < SMALLEST else f"{value:.3f}"


def _interval_of(drawing: Drawing) -> int | None:
    """Find the column that low and high belong to."""
    role = {"lines": "y", "matrix": "color", "scatter": "y"}.get(drawing.kind, "x")
    return next((place for place, column in enumerate(drawing.columns) if column.role == role), None)


def _head(column: Column, *, interval: bool) -> Head:
    unit = " (points)" if column.kind == "points" else ""
    return Head(f"{column.name}{unit}{' [interval]' if interval else ''}", number=column.kind != "text")


def _without_blanks(grid: Grid) -> Grid:
    kept = [place for place in range(len(grid.head)) if any(row[place] != "-" for row in grid.rows)]
    rows = tuple(tuple(row[place] for place in kept) for row in grid.rows)
    return Grid(tuple(grid.head[place] for place in kept), rows, grid.notes)


def _covered(row: Coverage) -> Iterator[str]:
    yield from (row.model, row.condition, f"{row.asked:,}", _share(row.usable, row.asked))
    yield from (f"{row.statuses[fate]:,}" for fate in FATES)


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.1%})" if whole else "0"


def _word(value: object) -> str:
    return "-" if value is None else str(value)
