"""The page of an audit: what it found of each model and of the data, and every measure with the examples it counts."""

from typing import Any

from eyechart.data.furniture import ExplorerQuery
from eyechart.data.store import Store
from eyechart.reporting.collect import collect_section
from eyechart.reporting.dots import Axis, read_cells, say_cells
from eyechart.reporting.grid import format_p
from eyechart.reporting.sections import MeasureRow, Section, join_questions
from eyechart.viewing import inventory
from eyechart.viewing.behind import behind_cell, behind_measure

THE_DATA = ""  # as a subject, where models have names


def list_audits(store: Store) -> dict[str, str]:
    """List the audits of a run with their questions."""
    questions: dict[str, list[Section]] = {}
    for section in inventory.sections(store):
        questions.setdefault(section.audit, []).append(section)
    return {
        audit: join_questions(row for section in sections for row in section.summaries())
        for audit, sections in questions.items()
    }


def audit_content(store: Store, query: ExplorerQuery) -> dict[str, Any] | None:
    """Collect the content of the page of an audit; None if the run has none of that name."""
    questions = list_audits(store)
    audit = query.one_of("audit", tuple(questions))
    if not audit:
        return None
    sections = [section for section in inventory.sections(store) if section.audit == audit]
    cells = [(line.model, cell) for line in inventory.lines(store) for cell in line.cells if cell.audit == audit]
    measured = [(model, cell, behind_cell(model, cell)) for model, cell in cells if cell.value is not None]
    subjects = [section.subject if section.role == "result" else THE_DATA for section in sections]
    models = [subject for subject in subjects if subject]
    subject = query.one_of("subject", models, THE_DATA if query.get("of") == "data" or not models else models[0])
    section = collect_section(store, audit, subject or None)
    return {
        "audit": audit,
        "question": questions[audit],
        "sections": sections,
        "axis": Axis.of(cell for _, cell in cells),
        "cells": measured,
        "title": say_cells([(model, cell) for model, cell, _ in measured]),
        "reading": read_cells([(model, cell) for model, cell, _ in measured]),
        "models": models,
        "has_data": THE_DATA in subjects,
        "subject": subject,
        **_measures(store, audit, subject, section, query),
    }


def _measures(store: Store, audit: str, subject: str, section: Section | None, query: ExplorerQuery) -> dict[str, Any]:
    """Lay out the measures over all examples, or by a column, each with the address of the examples it counts."""
    rows = section.measures if section else ()
    columns = tuple(dict.fromkeys(row.by for row in rows if row.by))
    by = query.one_of("by", columns)
    chosen = [row for row in rows if (row.by or "") == by]
    return {
        "columns": columns,
        "by": by,
        "measures": [_lay_out(row, behind_measure(store, audit, subject, row)) for row in chosen],
    }


def _lay_out(row: MeasureRow, behind: str) -> dict[str, Any]:
    chance = ", ".join(f"{name} {text}" for name in ("p", "q") if (text := format_p(getattr(row, name))))
    return {"row": row, "behind": behind, "chance": chance}
