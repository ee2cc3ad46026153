"""Estimate a mean with its interval, for one sample or for every group of a table; and shares, the means of flags.

Shares need no flags. With k_c the rows of cluster c that have a value and m_c all its rows, the share
p = sum k_c / sum m_c has the residuals k_c - p m_c, so the clustered standard error of `moments` needs three sums of
whole numbers:

    sum_c (k_c - p m_c)^2 = sum k_c^2 - 2 p sum k_c m_c + p^2 sum m_c^2
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from eyechart.base.errors import DataError, SettingError
from eyechart.statistics.crossed import Draws, crossed_se, surely_above
from eyechart.statistics.intervals import Kind, Moments, intervals, moments
from eyechart.statistics.rows import Clusters, Floats, arrange, arrange_table, check_share, numbers


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
    values: npt.ArrayLike,
    clusters: Clusters | None = None,
    *,
    level: float = 0.95,
    kind: Kind = "scores",
    draws: Draws | None = None,
) -> Estimate:
    """Estimate a mean and its clustered interval; no rows give NaN, n = 0.

    `kind` names the scale of the values, if they are on one: scores in 0..1, differences in -1..1. With the draws from
    donors that the values are means of, the interval covers other donors too (see `crossed`).
    """
    check_share("level", level)
    x = numbers(values)
    rows = arrange((x,), clusters)
    if not rows.groups.size:
        return NOTHING
    m = moments(rows, kind)
    return estimate(m, level, kind) if draws is None else estimate_crossed(m, mean_se(x, draws), level, kind)


def mean_se(values: Floats, draws: Draws) -> float:
    """Compute the standard error of a mean over examples and donors."""
    return crossed_se(values - np.sort(values).mean(), draws)


def estimate_crossed(m: Moments, se: float, level: float, kind: Kind) -> Estimate:
    """Estimate the mean of a single group with a larger standard error; its interval is never the narrower one."""
    alone = estimate(m, level, kind)
    if not surely_above(se, float(m.se[0])):
        return alone
    it = estimate(with_se(m, se), level, kind)
    return it._replace(low=min(it.low, alone.low), high=max(it.high, alone.high))


def with_se(m: Moments, se: float) -> Moments:
    """Replace the standard error of a single group, which therefore varies."""
    return m._replace(se=np.array([se]), flat=np.array([False]))


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


ALONE = "alone"  # numbers the rows that are separate clusters


def shares(
    table: pl.DataFrame, value: str, within: Sequence[str] = (), cluster: str = "cluster", *, level: float = 0.95
) -> pl.DataFrame:
    """Estimate the share of each value within each group: the `mean` of flags, for all values at once.

    Columns: those of `within`, the value, hits (rows that have it), n (rows of the group), share, low, high.
    """
    check_share("level", level)
    groups = [pl.col(each) for each in within] or [pl.lit(0).alias("everything")]
    counted = _count(table.select(*groups, value, pl.col(cluster).alias("cluster")), value)
    m = _moments(counted)
    low, high, _ = intervals(m, level, "scores")
    numbers = {"share": m.mean, "low": low, "high": high}
    columns = [*within, value, "hits", "n"]
    return counted.with_columns(pl.Series(name, each) for name, each in numbers.items()).select(*columns, *numbers)


def _count(rows: pl.DataFrame, value: str) -> pl.DataFrame:
    """Count by group and value, with sums over clusters, in the order of groups and values."""
    groups = [name for name in rows.columns if name not in (value, "cluster")]
    unit = [*groups, "cluster"]
    if rows["cluster"].null_count():
        rows = rows.with_columns(pl.when(pl.col("cluster").is_null()).then(pl.int_range(pl.len())).alias(ALONE))
        unit.append(ALONE)
    cells = rows.group_by(*unit, value).agg(k=pl.len().cast(pl.Int64))
    sizes = cells.group_by(unit).agg(m=pl.col("k").sum())
    whole = sizes.group_by(groups).agg(n=pl.col("m").sum(), clusters=pl.len().cast(pl.Int64), mm=_dot("m", "m"))
    sums = cells.join(sizes, on=unit, nulls_equal=True, validate="m:1").group_by(*groups, value)
    counted = sums.agg(hits=pl.col("k").sum(), kk=_dot("k", "k"), km=_dot("k", "m"))
    return counted.join(whole, on=groups, nulls_equal=True, validate="m:1").sort(*groups, value, nulls_last=True)


def _dot(one: str, other: str) -> pl.Expr:
    return (pl.col(one) * pl.col(other)).sum()


def _moments(counted: pl.DataFrame) -> Moments:
    kk, km, mm, clusters = (counted[name].to_numpy() for name in ("kk", "km", "mm", "clusters"))
    k, n = (counted[name].to_numpy() for name in ("hits", "n"))
    # Integers of any size: clusters with equal shares leave exactly 0.
    hits, rows = k.astype(object), n.astype(object)
    deviations = np.asarray((kk * rows**2 - 2 * hits * rows * km + hits**2 * mm) / rows**2, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        se = np.sqrt(deviations * clusters / (clusters - 1)) / n
    share, every = k / n, np.ones(counted.height, np.bool_)
    return Moments(n, clusters, share, se, share, whole=every, flat=deviations == 0, bounded=every)
