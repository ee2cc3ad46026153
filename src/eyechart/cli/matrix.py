"""Lay out models by audits for a terminal, in the fullest form that fits its width.

Audits stand below each other with their questions, beside a column for each model: in words with intervals, in words
without, or in signs. If that is too wide, models stand below each other with a column for each audit, and the questions
follow; if that is too wide as well, in parts.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import NamedTuple

from eyechart.data.result import State
from eyechart.reporting.glance import Cell, Glance, ModelLine
from eyechart.reporting.overall import QUESTION

RIGHT = "How often is it right, in %?"
GAP = "  "
SHORTEST = 8  # columns for the name of a model, even if its cells take less
LONGEST = 24  # columns of the name of a model, before it goes on in the next line
SIGNS: dict[State, str] = {"yes": "yes", "no": "no", "cannot tell": "?", "not tested": "-"}
WORDS: dict[State, str] = {state: state for state in SIGNS}


class Form(NamedTuple):
    """How full the cells are, and whether the questions name what the numbers are."""

    words: dict[State, str]
    intervals: bool
    measures: bool
    fewest: int  # columns that a question needs


FORMS = (
    Form(WORDS, intervals=True, measures=True, fewest=30),
    Form(WORDS, intervals=False, measures=True, fewest=26),
    Form(SIGNS, intervals=False, measures=False, fewest=24),
)


@dataclass(frozen=True)
class Column:
    """A column of texts, each of which may take several lines; the first is its head."""

    cells: tuple[tuple[str, ...], ...]
    states: tuple[State | None, ...]
    is_right: bool = False

    @classmethod
    def of(cls, texts: Iterable[str], width: int = 0, states: Iterable[State | None] = (), *, right: bool) -> "Column":
        """Break texts at words where they are longer than the width; 0 is no limit."""
        cells = tuple(tuple(wrap(text, width) or [""]) if width else (text,) for text in texts)
        return cls(cells, tuple(states) or (None,) * len(cells), right)

    @property
    def width(self) -> int:
        """Count the columns that the longest line takes."""
        return max(_columns(line) for cell in self.cells for line in cell)


def lay_out(glance: Glance, width: int, *, colored: bool) -> list[str]:
    """Lay out the matrix of a glance in lines of at most this width."""
    if not glance.models:
        return []
    for form in FORMS:
        columns = _by_audit(glance, width, form)
        if columns:
            return [*_draw(columns, colored=colored), *_explain(glance, width, form)]
    parts = _split(_by_model(glance), width)
    lines = [line for part in parts for line in [*_draw(part, colored=colored), ""]]
    return [*lines, *_list_questions(glance, width), *_explain(glance, width, FORMS[-1])]


def _by_audit(glance: Glance, width: int, form: Form) -> list[Column]:
    """Lay out a line for each audit and a column for each model; empty if that is too wide."""
    columns = [_column_of(line, form) for line in glance.models]
    left = width - sum(column.width + len(GAP) for column in columns)
    questions = [_label(glance, audit) if form.measures else f"{audit}: {asked}" for audit, asked in glance.heads]
    labels = ["", RIGHT, QUESTION, *questions]
    if left < min(form.fewest, max(map(len, labels))):
        return []
    return [Column.of(labels, left, right=False), *columns]


def _column_of(line: ModelLine, form: Form) -> Column:
    states = [cell.state for cell in line.cells]
    texts = _join_cells(states, [_number(cell, form) for cell in line.cells], form.words)
    column = [_right(line), form.words[line.overall.state], *texts]
    name = _break_name(line.model, max(SHORTEST, *map(len, column)))
    return Column(
        (tuple(name), *((text,) for text in column)), (None, None, line.overall.state, *states), is_right=True
    )


def _break_name(name: str, width: int) -> list[str]:
    """Break the name of a model that is too long, if possible where its parts end."""
    parts = wrap(re.sub(r"(?<=[:/_])", " ", name), width)
    return [re.sub(r"(?<=[:/_]) ", "", part) for part in parts]


def _by_model(glance: Glance) -> list[Column]:
    """Lay out a line for each model and a column for each audit."""
    models = glance.models
    overall = [line.overall.state for line in models]
    columns = [
        Column.of(["", *(line.model for line in models)], LONGEST, right=False),
        Column.of(["right", *(f"{_right(line)} %" if line.right else "" for line in models)], right=True),
        Column.of(["looks", *(SIGNS[state] for state in overall)], states=[None, *overall], right=False),
    ]
    for number, (audit, _) in enumerate(glance.heads):
        cells = [line.cells[number] for line in models]
        states: list[State] = [cell.state for cell in cells]
        texts = _join_cells(states, [_number(cell, FORMS[-1]) for cell in cells], SIGNS)
        columns.append(Column.of([audit, *texts], states=[None, *states], right=False))
    return columns


def _split(columns: Sequence[Column], width: int) -> Iterator[list[Column]]:
    """Split columns into parts that fit, each with the first column, which says what the lines are."""
    first, *others = columns
    part, taken = [first], first.width
    for column in others:
        if len(part) > 1 and taken + len(GAP) + column.width > width:
            yield part
            part, taken = [first], first.width
        part.append(column)
        taken += len(GAP) + column.width
    yield part


def _draw(columns: Sequence[Column], *, colored: bool) -> Iterator[str]:
    """Write the lines of columns beside each other."""
    for row in range(len(columns[0].cells)):
        for line in range(max(len(column.cells[row]) for column in columns)):
            texts = [_pad(column, row, line, colored=colored) for column in columns]
            yield GAP.join(texts).rstrip()


def _pad(column: Column, row: int, line: int, *, colored: bool) -> str:
    import typer

    cell, state = column.cells[row], column.states[row]
    text = cell[line] if line < len(cell) else ""
    room = " " * (column.width - _columns(text))
    colors = {"yes": "green", "no": "red", "cannot tell": "yellow"}
    shown = typer.style(text, fg=colors[state]) if colored and text and state in colors else text
    return room + shown if column.is_right else shown + room


def _join_cells(states: Sequence[State], numbers: Sequence[str], words: dict[State, str]) -> list[str]:
    """Write verdicts with their numbers behind them, the numbers below each other."""
    wide = max((len(words[state]) for state, number in zip(states, numbers, strict=True) if number), default=0)
    far = max(map(len, numbers), default=0)
    pairs = zip(states, numbers, strict=True)
    return [f"{words[state]:<{wide}} {number:>{far}}" if number else words[state] for state, number in pairs]


def _number(cell: Cell, form: Form) -> str:
    return cell.text if form.intervals else cell.text.partition(" ")[0]


def _right(line: ModelLine) -> str:
    return f"{100 * line.right.value:.0f}" if line.right and line.right.value is not None else ""


def _label(glance: Glance, audit: str) -> str:
    """Write the question of an audit, and what its numbers are."""
    question, measures = _describe(glance, audit)
    return f"{audit}: {question} ({measures})" if measures else f"{audit}: {question}"


def _describe(glance: Glance, audit: str) -> tuple[str, str]:
    """Return the question of an audit, and what its numbers are called."""
    cells = [cell for line in glance.models for cell in line.cells if cell.audit == audit]
    named = dict.fromkeys(_name_measure(cell) for cell in cells if cell.measure)
    return dict(glance.heads)[audit], " or ".join(named)


def _name_measure(cell: Cell) -> str:
    return cell.measure if cell.unit in ("points", None) else f"{cell.measure}, {cell.unit}"


def _list_questions(glance: Glance, width: int) -> Iterator[str]:
    """List the questions of the audits, broken at words."""
    wide = max((len(audit) for audit, _ in glance.heads), default=0) + len(GAP)
    for audit, _ in glance.heads:
        question, measures = _describe(glance, audit)
        text = f"{question} ({measures})" if measures else question
        yield from wrap(text, width, initial_indent=f"{audit:<{wide}}", subsequent_indent=" " * wide)


def _explain(glance: Glance, width: int, form: Form) -> list[str]:
    """Say what the numbers and signs are, and what to do where nothing can be told."""
    states = {cell.state for line in glance.models for cell in line.cells}
    points = "Numbers are points of 100" + (", with 95 % intervals." if form.intervals else ".")
    unsure = f"{form.words['cannot tell']} = cannot tell: " if form is FORMS[-1] else "Cannot tell: "
    more = f"{unsure}more examples would help." if "cannot tell" in states else ""
    missing = "- = not tested." if form is FORMS[-1] and "not tested" in states else ""
    return wrap(" ".join(filter(None, [more, missing, points])), width)


def _columns(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)
