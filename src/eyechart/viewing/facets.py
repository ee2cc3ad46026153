"""Columns to filter and sort examples by: those of the data, of every study, and of the results of one model."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import polars as pl

from eyechart.data.store import Store
from eyechart.data.stored import TableFile

MOST_VALUES = 40  # of a column to filter by
NOT_GROUPS = ("id", "image", "question", "answer", "cluster")
NONE = "(none)"
RESULT = "result."  # prefix of the columns of the chosen model's results


class Facet(NamedTuple):
    """A column with its values and the number of examples with each."""

    name: str
    values: tuple[tuple[str, int], ...]


def column_files(store: Store, model: str = "") -> list[tuple[str, TableFile]]:
    """List the files with columns of examples, each with the prefix of its column names."""
    files = [("", store.examples)]
    files += [(f"{audit}.", rows) for audit in store.studies() if (rows := store.rows(audit))]
    for audit in store.results().get(model, ()):
        rows = store.rows(audit, model)
        files += [(f"{RESULT}{audit}.", rows)] if rows else []
    return files


def facets(store: Store, model: str = "") -> list[Facet]:
    """List the columns with few values, leaving out a result's columns that its study has too."""
    by_name: dict[str, Facet] = {}
    for prefix, file in column_files(store, model):
        for column in groups_of(file):
            if not prefix.startswith(RESULT) or f"{prefix.removeprefix(RESULT)}{column.name}" not in by_name:
                by_name[prefix + column.name] = Facet(prefix + column.name, column.values)
    return list(by_name.values())


def numbers(store: Store, model: str = "") -> list[str]:
    """List the numeric columns, to sort by."""
    return [prefix + name for prefix, file in column_files(store, model) for name in _number_columns(file)]


def locate(store: Store, name: str, model: str = "") -> tuple[TableFile, str] | None:
    """Find the file and the column that a name refers to."""
    for prefix, file in reversed(column_files(store, model)):
        column = name.removeprefix(prefix)
        if name.startswith(prefix) and column in file.scan().collect_schema():
            return file, column
    return None


@lru_cache(maxsize=256)
def groups_of(file: TableFile) -> tuple[Facet, ...]:
    """Count the values of each text or boolean column with few of them."""
    return tuple(_count(file))


def as_text(column: str) -> pl.Expr:
    """Convert the values of a column to text, missing ones to NONE."""
    return pl.col(column).cast(pl.String).fill_null(NONE)


def _count(file: TableFile) -> Iterator[Facet]:
    schema = file.scan().collect_schema()
    texts = [name for name, kind in schema.items() if kind in (pl.String, pl.Boolean) and name not in NOT_GROUPS]
    if not texts:
        return
    unique_counts = file.scan().select(pl.col(texts).n_unique()).collect().row(0, named=True)
    for name in texts:
        if 1 < unique_counts[name] <= MOST_VALUES:
            counted = file.scan().group_by(as_text(name).alias("value")).len().sort("len", "value", descending=True)
            yield Facet(name, tuple(counted.collect().iter_rows()))


@lru_cache(maxsize=256)
def _number_columns(file: TableFile) -> tuple[str, ...]:
    return tuple(name for name, kind in file.scan().collect_schema().items() if kind.is_numeric())
