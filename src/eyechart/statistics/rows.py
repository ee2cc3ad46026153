"""Put rows in key order, the starting point of every estimate.

Rows are sorted by group, cluster and value before anything is summed or drawn, so results are exactly the
same for any order of the rows. A null cluster is a separate cluster.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from eyechart.base.errors import DataError, SettingError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Clusters = pl.Series | npt.NDArray[Any] | Sequence[object]  # the key of each row


class Rows(NamedTuple):
    """Columns in key order, with the start index of each cluster and each group."""

    columns: tuple[Floats, ...]
    clusters: Ints
    groups: Ints


def sums(values: Floats, starts: Ints) -> Floats:
    """Sum the runs that begin at `starts`."""
    return np.add.reduceat(values, starts) if starts.size else np.empty(0)


def numbers(values: npt.ArrayLike, name: str = "values") -> Floats:
    """Convert values to floats, raising an error if one is not a finite number."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} to be numbers", str(error), "score every row, or leave out rows without a score"
        ) from None
    bad = np.flatnonzero(~np.isfinite(array))
    if array.ndim != 1:
        raise DataError(f"{name} in one dimension", f"{array.ndim} dimensions", "pass one value per row")
    if bad.size:
        found = f"{array[bad[0]]} in row {bad[0]} ({bad.size} such rows)"
        raise DataError(f"{name} to be finite", found, "score every row, or leave out rows without a score")
    return array


def keys(clusters: Clusters | None, n: int) -> pl.Series:
    """Return the cluster of every row; null is a separate cluster."""
    if clusters is None:
        return pl.Series("cluster", [None] * n, dtype=pl.String)
    series = pl.Series("cluster", clusters)
    if len(series) != n:
        raise DataError(f"one cluster for each of {n} rows", f"{len(series)}", "pass both from the same table")
    if series.dtype.is_float():
        return series.fill_nan(None)
    # Categories may sort in the order of their first appearance, which is the row order.
    return series.cast(pl.String) if series.dtype in {pl.Categorical, pl.Enum} else series


def arrange(columns: tuple[Floats, ...], clusters: Clusters | None, groups: Ints | None = None) -> Rows:
    """Sort rows by group, then by cluster, then by each column; without groups, all rows are one group."""
    lengths = {column.size for column in columns}
    if len(lengths) > 1:
        found = f"lengths {', '.join(map(str, sorted(lengths)))}"
        raise DataError("columns of equal length", found, "pass them from the same table")
    n = columns[0].size
    series, group = keys(clusters, n), np.zeros(n, np.int64) if groups is None else groups
    cluster = _number(series)
    alone = series.is_null().to_numpy() if series.null_count() else np.zeros(n, np.bool_)
    order = np.lexsort((*reversed(columns), cluster, group))
    first = _changes(group[order])
    begun = first | _changes(cluster[order]) | alone[order]
    return Rows(tuple(column[order] for column in columns), np.flatnonzero(begun), np.flatnonzero(first))


def _number(clusters: pl.Series) -> Ints:
    """Give clusters numbers in the order of their keys, null last."""
    # Numbers are already in order, and ranking them takes ten times as long as the rest of sorting a small sample.
    if clusters.dtype == pl.Int64 and not clusters.null_count():
        return clusters.to_numpy()
    number = pl.first().rank("dense").cast(pl.Int64).fill_null(len(clusters) + 1)
    return clusters.to_frame().select(number).to_series().to_numpy()  # in one query: each takes a while to begin


def _changes(values: Ints) -> Bools:
    """Mark the first of each run of equal values."""
    return np.concatenate([np.ones(min(1, values.size), np.bool_), values[1:] != values[:-1]])


def arrange_table(table: pl.DataFrame, value: str, by: Sequence[str], cluster: str | None) -> tuple[Rows, pl.DataFrame]:
    """Sort rows by the groups of `by`, then cluster, then value; also return the group keys in this order."""
    # Unique names, since any of the columns may be the same one.
    names = [f"by{i}" for i in range(len(by))]
    own = keys(None if cluster is None else table[cluster], table.height)
    columns = [pl.Series("value", numbers(table[value], value)), own]
    columns += [table[column].alias(name) for name, column in zip(names, by, strict=True)]
    short = pl.DataFrame(columns).sort(*names, "cluster", "value", nulls_last=True)
    first = begins(short, *names)
    rows = Rows((short["value"].to_numpy(),), np.flatnonzero(first | cluster_begins(short)), np.flatnonzero(first))
    groups = short.filter(pl.Series(first)).select(names).rename(dict(zip(names, by, strict=True)))
    return rows, groups


def cluster_begins(table: pl.DataFrame) -> Bools:
    """Mark the first row of each cluster of a sorted table."""
    alone: Bools = table["cluster"].is_null().to_numpy()
    return begins(table, "cluster") | alone


def begins(table: pl.DataFrame, *names: str) -> Bools:
    """Mark the first row of a sorted table and every row where one of the columns changes."""
    changed = np.zeros(table.height, dtype=np.bool_)
    changed[:1] = True
    for name in names:
        changed |= table[name].ne_missing(table[name].shift()).to_numpy()
    return changed


def check_share(name: str, share: float) -> None:
    """Raise an error for a level, power or error rate that is not strictly between 0 and 1."""
    if not 0 < share < 1:
        raise SettingError(f"{name} between 0 and 1", f"{share}", "write 95 % as 0.95")
