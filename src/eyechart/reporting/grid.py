"""Lay out rows as grids of text, the form of every table on a page, and save records as CSV."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from eyechart.data.result import name_measure, speak
from eyechart.data.tables import STATUSES
from eyechart.reporting.comparison_table import TextGrid, format_difference
from eyechart.reporting.contents import Coverage, Stock
from eyechart.reporting.drawing import INTERVAL_ROLES, SMALLEST, Drawing, DrawingColumn, format_value
from eyechart.reporting.sections import CountRow, MeasureRow

POINTS = " (points)"  # after the name of a column
FATES = (*STATUSES, "missing")


class Head(NamedTuple):
    """The name of a column, and whether it contains numbers."""

    name: str
    number: bool = False


@dataclass(frozen=True)
class Grid:
    """Columns and rows of text."""

    head: tuple[Head, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = field(default=())

    def without_blanks(self) -> "Grid":
        """Drop the columns that contain only dashes."""
        kept = [index for index in range(len(self.head)) if any(row[index] != "-" for row in self.rows)]
        rows = tuple(tuple(row[index] for index in kept) for row in self.rows)
        return Grid(tuple(self.head[index] for index in kept), rows, self.notes)


def measure_grid(measures: Sequence[MeasureRow]) -> Grid:
    """Lay out measures, without empty columns, and with a note that all rows share only once."""
    notes = list(dict.fromkeys(row.note for row in measures if row.note))
    shared = len(notes) == 1 and all(row.note for row in measures)
    grouped = any(row.by for row in measures)
    columns: list[tuple[Head, Callable[[MeasureRow], object]]] = [
        (Head("group"), lambda row: row.group or "-") if grouped else (Head("measure"), lambda row: row.name),
        (Head("measure"), lambda row: row.name if grouped else None),
        (Head("condition"), lambda row: row.condition),
        (Head("value [interval]", number=True), lambda row: row.text),
        (Head("n", number=True), lambda row: f"{row.n:,}"),
        (Head("clusters", number=True), lambda row: None if row.clusters is None else f"{row.clusters:,}"),
        (Head("p", number=True), lambda row: format_p(row.p)),
        (Head("q", number=True), lambda row: format_p(row.q)),
        (Head("unit"), lambda row: row.unit),
        (Head("score"), lambda row: row.score),
        (Head("note"), lambda row: None if shared else row.note),
    ]
    kept = [(head, cell) for head, cell in columns if any(cell(row) is not None for row in measures)]
    rows = tuple(tuple(_dash_if_none(cell(row)) for _, cell in kept) for row in measures)
    return Grid(tuple(head for head, _ in kept), rows, tuple(notes) if shared else ())


def count_grid(counts: Iterable[CountRow]) -> Grid:
    """Lay out counts by condition, status and reason."""
    head = (Head("condition"), Head("status"), Head("reason"), Head("n", number=True))
    return Grid(head, tuple(row.cells() for row in counts)).without_blanks()


def stock_grid(stocks: Iterable[Stock]) -> Grid:
    """Lay out what the answer files of models contain and lack."""
    head = (Head("model"), Head("condition"), Head("status"), Head("reason"), Head("n", number=True))
    return Grid(head, tuple(row for stock in stocks for row in stock.cells()))


def coverage_grid(coverage: Iterable[Coverage]) -> Grid:
    """Lay out how many probes of each condition were answered."""
    fixed = (Head("model"), Head("condition"), Head("asked", number=True), Head("usable", number=True))
    head = (*fixed, *(Head(fate, number=True) for fate in FATES))
    return Grid(head, tuple(tuple(_coverage_cells(row)) for row in coverage))


def drawing_grid(drawing: Drawing) -> Grid:
    """Lay out the data of a drawing, with each interval next to its value."""
    indices = {column.name: index for index, column in reversed(list(enumerate(drawing.columns)))}
    ends = [indices[column.name] for role in INTERVAL_ROLES if (column := drawing.column(role))]
    value = _index_of_value(drawing) if len(ends) == 2 else None
    shown = [index for index in indices.values() if value is None or index not in ends]
    head = tuple(_head(drawing.columns[index], interval=index == value) for index in sorted(shown))
    rows = []
    for row in drawing.rows:
        cells = [format_value(cell, column.kind) for cell, column in zip(row, drawing.columns, strict=True)]
        if value is not None:
            cells[value] = f"{cells[value]} [{cells[ends[0]]}, {cells[ends[1]]}]"
        rows.append(tuple(cells[index] for index in sorted(shown)))
    return Grid(head, tuple(rows))


def as_text(drawing: Drawing) -> TextGrid:
    """Lay out the data of a drawing as a table of text."""
    grid = drawing_grid(drawing)
    return TextGrid(drawing.title, tuple(head.name for head in grid.head), grid.rows)


def beside_grid(records: Iterable[Mapping[str, Any]], *, grouped: bool) -> Grid:
    """Lay out compared measures with a row for each model, so that no model is out of sight; all, or those by group."""
    chosen = [row for row in records if (row["by"] is not None) == grouped]
    head = (
        *(Head(name) for name in ("measure", "better", "model")),
        *(Head(name, number=True) for name in ("value [interval]", "n", "difference [interval]", "n of both", "q")),
        *(Head(name, number=True) for name in ("rank", "leads in")),
    )
    return Grid(head, tuple(map(_beside_cells, chosen))).without_blanks()


def _beside_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    better = "-" if row["better"] == "neither" else row["better"]
    counts = tuple("-" if row[name] is None else f"{row[name]:,}" for name in ("common", "rank"))
    first = "-" if row["first"] is None else f"{100 * row['first']:.0f} %"
    alone = (name_measure(row), better, row["model"], speak(row), f"{row['n']:,}")
    return *alone, format_difference(row) or "-", counts[0], format_p(row["q"]) or "-", counts[1], first


def format_p(value: float | None) -> str | None:
    """Format a p-value or q-value."""
    if value is None:
        return None
    return f"< {SMALLEST}" if value < SMALLEST else f"{value:.3f}"


def as_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Return records as CSV at full precision, without empty columns."""
    names = [name for name in (records[0] if records else ()) if any(record[name] is not None for record in records)]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_csv_cell(record[name]) for name in names] for record in records)
    return file.getvalue()


def _csv_cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _index_of_value(drawing: Drawing) -> int | None:
    """Find the index of the column that low and high belong to."""
    role = {"lines": "y", "matrix": "color", "scatter": "y"}.get(drawing.kind, "x")
    return next((index for index, column in enumerate(drawing.columns) if column.role == role), None)


def _head(column: DrawingColumn, *, interval: bool) -> Head:
    unit = POINTS if column.kind == "points" else ""
    return Head(f"{column.name}{unit}{' [interval]' if interval else ''}", number=column.kind != "text")


def _coverage_cells(row: Coverage) -> Iterator[str]:
    usable = f"{row.usable:,} ({row.share:.1%})" if row.asked else "0"
    yield from (row.model, row.condition, f"{row.asked:,}", usable)
    yield from (f"{row.statuses[fate]:,}" for fate in FATES)


def _dash_if_none(value: object) -> str:
    return "-" if value is None else str(value)
