"""Columns to filter and to sort examples by: of the data, of every study, and of the results of one model."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import polars as pl

from eyechart.store import Store
from eyechart.stored import Stamped

MOST = 40  # different values of a column that is worth a filter
NOT_GROUPS = ("id", "image", "question", "answer", "cluster")
NONE = "(none)"
MINE = "result."  # before a column of the results of the model at hand


class Facet(NamedTuple):
    """A column with its values and how many examples have each."""

    name: str
    values: tuple[tuple[str, int], ...]


class Source(NamedTuple):
    """A file with columns of examples, and what stands before their names."""

    prefix: str
    file: Stamped


def sources(store: Store, model: str = "") -> list[Source]:
    """List the files that say something of examples."""
    found = [Source("", store.examples)]
    found += [Source(f"{audit}.", rows) for audit in store.studies() if (rows := store.rows(audit))]
    for audit in store.results().get(model, ()):
        rows = store.rows(audit, model)
        found += [Source(f"{MINE}{audit}.", rows)] if rows else []
    return found


def facets(store: Store, model: str = "") -> list[Facet]:
    """List the columns with few values; a result's column that its study has too is told once."""
    found: dict[str, Facet] = {}
    for prefix, file in sources(store, model):
        for column in groups_of(file):
            if not prefix.startswith(MINE) or f"{prefix.removeprefix(MINE)}{column.name}" not in found:
                found[prefix + column.name] = Facet(prefix + column.name, column.values)
    return list(found.values())


def numbers(store: Store, model: str = "") -> list[str]:
    """List the columns of numbers, to sort by."""
    return [prefix + name for prefix, file in sources(store, model) for name in _number_columns(file)]


def locate(store: Store, name: str, model: str = "") -> tuple[Stamped, str] | None:
    """Find the file and the column that a name stands for."""
    for prefix, file in reversed(sources(store, model)):
        column = name.removeprefix(prefix)
        if name.startswith(prefix) and column in file.scan().collect_schema():
            return file, column
    return None


@lru_cache(maxsize=256)
def groups_of(file: Stamped) -> tuple[Facet, ...]:
    """Count the values of each column of text or truth that has few."""
    return tuple(_count(file))


def _count(file: Stamped) -> Iterator[Facet]:
    schema = file.scan().collect_schema()
    texts = [name for name, kind in schema.items() if kind in (pl.String, pl.Boolean) and name not in NOT_GROUPS]
    if not texts:
        return
    different = file.scan().select(pl.col(texts).n_unique()).collect().row(0, named=True)
    for name in texts:
        if 1 < different[name] <= MOST:
            counted = file.scan().group_by(as_text(name).alias("value")).len().sort("len", "value", descending=True)
            yield Facet(name, tuple(counted.collect().iter_rows()))


@lru_cache(maxsize=256)
def _number_columns(file: Stamped) -> tuple[str, ...]:
    return tuple(name for name, kind in file.scan().collect_schema().items() if kind.is_numeric())


def as_text(column: str) -> pl.Expr:
    """Write a group as people choose it."""
    return pl.col(column).cast(pl.String).fill_null(NONE)
