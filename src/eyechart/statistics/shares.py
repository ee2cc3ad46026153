"""Estimate how often each value occurs within each group: the mean of flags, with its interval, without the flags.

With k_c the rows of cluster c that have the value and m_c all its rows, the share p = sum k_c / sum m_c has the
residuals k_c - p m_c, so the clustered standard error of `moments` needs three sums of whole numbers:

    sum_c (k_c - p m_c)^2 = sum k_c^2 - 2 p sum k_c m_c + p^2 sum m_c^2
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from eyechart.statistics.intervals import Moments, intervals
from eyechart.statistics.rows import check_share

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
