"""Dots with intervals on one axis: the small ones in the cells of the matrix, and the chart of each audit.

They are drawn by the templates as a few SVG elements, so that a page shows them without scripts and before any chart
is made.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from eyechart.reporting.glance import Cell, Glance
from eyechart.reporting.overall import join

ENDS = (2.0, 98.0)  # of the axis, in percent of its width


@dataclass(frozen=True)
class Dot:
    """Where a value and its interval lie, in percent of the width; None where there is no value."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Axis:
    """An axis that all cells of an audit share: from where to where, and where zero and the margin lie."""

    start: float
    end: float
    margin: float | None

    @classmethod
    def of(cls, cells: Iterable[Cell]) -> "Axis":
        """Span all values, zero and the margin."""
        measured = [cell for cell in cells if cell.value is not None]
        margins = {cell.margin for cell in measured if cell.margin is not None}
        numbers = [each for cell in measured for each in (cell.value, cell.low, cell.high) if each is not None]
        spanned = [0.0, *margins, *numbers]
        start, end = min(spanned), max(spanned)
        return cls(start, end if end > start else start + 1, margins.pop() if len(margins) == 1 else None)

    def place(self, value: float | None) -> float | None:
        """Place a value, in percent of the width."""
        if value is None:
            return None
        first, last = ENDS
        return round(first + (last - first) * (value - self.start) / (self.end - self.start), 2)

    def dot(self, cell: Cell) -> Dot:
        """Place a cell's value and interval."""
        return Dot(self.place(cell.value), self.place(cell.low), self.place(cell.high))


def axes_of(glance: Glance) -> dict[str, Axis]:
    """Span the axis of each audit over all models."""
    audits = dict(glance.heads)
    cells = [cell for line in glance.models for cell in line.cells]
    return {audit: Axis.of(cell for cell in cells if cell.audit == audit) for audit in audits}


def say_cells(cells: Iterable[tuple[str, Cell]]) -> str:
    """Say what a chart of cells shows: which models have which label."""
    labelled: dict[str, list[str]] = {}
    for model, cell in cells:
        labelled.setdefault(cell.label or cell.state, []).append(model)
    return "; ".join(f"{join(models)}: {label}" for label, models in labelled.items())


def read_cells(cells: Iterable[tuple[str, Cell]]) -> str:
    """Say how to read a chart of cells: what is measured, which way is better, and what the lines are."""
    measured = [cell for _, cell in cells]
    names = dict.fromkeys(f"{cell.measure}, in {cell.unit}" if cell.unit else cell.measure for cell in measured)
    ways = {cell.better for cell in measured}
    way = f" {ways.pop().capitalize()} is better." if len(ways) == 1 and "neither" not in ways else ""
    margin = " The dashed line is the margin." if any(cell.margin is not None for cell in measured) else ""
    return f"{join(list(names)).capitalize()}, with 95 % intervals.{way}{margin}" if measured else ""
