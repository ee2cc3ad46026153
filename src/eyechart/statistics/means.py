"""A mean with its interval, for one sample or for every group of a table."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from eyechart.errors import DataError, SettingError
from eyechart.statistics.intervals import Intervals, intervals
from eyechart.statistics.moments import Kind, Moments, moments
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


class Span(NamedTuple):
    """The two ends of one interval."""

    low: float
    high: float


NOTHING = Estimate(np.nan, np.nan, np.nan, 0, 0, "none", np.nan)


def mean(
    values: npt.ArrayLike, clusters: Clusters | None = None, *, level: float = 0.95, kind: Kind = "scores"
) -> Estimate:
    """Estimate a mean and its clustered interval; no rows give NaN, n = 0.

    `kind` says on which scale values lie where they lie on one: scores in 0..1, differences in -1..1.
    """
    check_share("level", level)
    rows = arrange((numbers(values),), clusters)
    return estimate(moments(rows, kind), level, kind) if rows.groups.size else NOTHING


def estimate(m: Moments, level: float, kind: Kind) -> Estimate:
    """Read the estimate of a single group off its moments."""
    return estimates(m, level, kind)[0]


def estimates(m: Moments, level: float, kind: Kind) -> list[Estimate]:
    """Read the estimates of all groups off their moments."""
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
    """Estimate the mean of every group, sorted by group: what `mean` gives on each, without a loop."""
    check_share("level", level)
    _check_columns(table, value, by, cluster)
    rows, groups = arrange_table(table, value, by, cluster)
    m = moments(rows, kind)
    return pl.concat([groups, _columns(m, intervals(m, level, kind))], how="horizontal")


def _columns(m: Moments, found: Intervals) -> pl.DataFrame:
    columns = {"value": m.mean, "low": found.low, "high": found.high, "n": m.n, "clusters": m.clusters}
    return pl.DataFrame(columns).with_columns(pl.Series("method", found.method, dtype=pl.String))


def _check_columns(table: pl.DataFrame, value: str, by: Sequence[str], cluster: str | None) -> None:
    missing = {value, *by, cluster or value} - set(table.columns)
    if missing:
        found = f"no {', '.join(sorted(missing))} among {', '.join(table.columns)}"
        raise DataError("columns of the table", found, "name columns it has")
    taken = sorted({"value", "low", "high", "n", "clusters", "method"} & set(by))
    if taken:
        raise SettingError("groups by other names than the estimate's", ", ".join(taken), "rename the column first")
