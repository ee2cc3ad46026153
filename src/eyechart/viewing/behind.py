"""Addresses of the examples that a number counts, with those that speak most against the subject first."""

from collections.abc import Sequence
from functools import lru_cache

import polars as pl

from eyechart.data.store import Store
from eyechart.data.stored import TableFile
from eyechart.reporting.glance import Cell
from eyechart.reporting.sections import MeasureRow
from eyechart.viewing.examples import RESULT, locate
from eyechart.viewing.rendering import address

WAYS = {"higher": "up", "lower": "down", "neither": "down"}  # the worst first


def behind_cell(model: str, cell: Cell | None) -> str:
    """Return the address of the examples behind a cell of the matrix; without a cell, of those answered right."""
    if cell is None:
        return address("/examples", {"model": model, "fate": "right"})
    column = cell.column if cell.measure and cell.column else "id"
    return _address(model, f"{_prefix(cell.audit, model)}{column}", WAYS[cell.better], ())


def behind_measure(store: Store, audit: str, model: str, row: MeasureRow) -> str:
    """Return the address of the examples that a measure counts; empty if no filter can choose exactly these."""
    rows, prefix = store.rows(audit, model or None), _prefix(audit, model)
    if rows is None or (row.column is None and (row.by or _count(rows) != row.n)):
        return ""
    where = []
    if row.by:
        names = (f"{prefix}{row.by}", row.by)
        name = next((name for name in names if locate(store, name, model)), "")
        if not name:
            return ""
        where.append(f"{name}={row.group}")
    return _address(model, f"{prefix}{row.column or 'id'}", WAYS[row.better], where)


def _prefix(audit: str, model: str) -> str:
    return f"{RESULT if model else ''}{audit}."


def _address(model: str, column: str, way: str, where: Sequence[str]) -> str:
    sort = {} if column.endswith(".id") else {"sort": column, "way": way}
    found = address("/examples", {"model": model, "has": column, **sort})
    return "&".join([found, *(address("", {"where": each})[1:] for each in where)])


@lru_cache(maxsize=256)
def _count(rows: TableFile) -> int:
    count: int = rows.scan().select(pl.len()).collect().item()
    return count
