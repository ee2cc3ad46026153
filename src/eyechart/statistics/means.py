"""Estimate a mean with its interval, for one sample or for every group of a table."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from eyechart.base.errors import DataError, SettingError
from eyechart.statistics.intervals import Kind, Moments, intervals, moments
from eyechart.statistics.rows import Clusters, arrange, arrange_table, check_share, numbers


class Estimate(NamedTuple):
    """A number with its interval; `method` names the interval (see `intervals`)."""

    value: float
    low: float
    high: float
    n: int
    clusters: int
    method: str
    se: float


NOTHING = Estimate(np.nan, np.nan, np.nan, 0, 0, "none", np.nan)


def mean(
    values: npt.ArrayLike, clusters: Clusters | None = None, *, level: float = 0.95, kind: Kind = "scores"
) -> Estimate:
    """Estimate a mean and its clustered interval; no rows give NaN, n = 0.

    `kind` names the scale of the values, if they are on one: scores in 0..1, differences in -1..1.
    """
    check_share("level", level)
    rows = arrange((numbers(values),), clusters)
    return estimate(moments(rows, kind), level, kind) if rows.groups.size else NOTHING


def estimate(m: Moments, level: float, kind: Kind) -> Estimate:
    """Estimate the mean of a single group from its moments."""
    return estimates(m, level, kind)[0]


def estimates(m: Moments, level: float, kind: Kind) -> list[Estimate]:
    """Estimate the mean of each group from its moments."""
    low, high, method = intervals(m, level, kind)
    columns = (m.mean, low, high, m.n, m.clusters, method, m.se)
    return [Estimate(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def mean_by(
    table: pl.DataFrame,
    value: str,
    by: Sequence[str],
    cluster: str | None = None,
    *,
    level: float = 0.95,
    kind: Kind = "scores",
) -> pl.DataFrame:
    """Estimate the mean of every group, sorted by group: the same as `mean` on each, without a loop."""
    check_share("level", level)
    _check_columns(table, value, by, cluster)
    rows, groups = arrange_table(table, value, by, cluster)
    m = moments(rows, kind)
    low, high, method = intervals(m, level, kind)
    columns = {"value": m.mean, "low": low, "high": high, "n": m.n, "clusters": m.clusters}
    estimated = pl.DataFrame(columns).with_columns(pl.Series("method", method, dtype=pl.String))
    return pl.concat([groups, estimated], how="horizontal")


def _check_columns(table: pl.DataFrame, value: str, by: Sequence[str], cluster: str | None) -> None:
    missing = {value, *by, cluster or value} - set(table.columns)
    if missing:
        found = f"no {', '.join(sorted(missing))} among {', '.join(table.columns)}"
        raise DataError("columns of the table", found, "choose columns of the table")
    taken = sorted({"value", "low", "high", "n", "clusters", "method"} & set(by))
    if taken:
        raise SettingError(
            "groups whose names differ from the estimate's columns", ", ".join(taken), "rename the column first"
        )
