"""How much a study of given size can see, and what clusters cost it.

n = ((z_{1 - alpha/2} + z_{power}) sd / effect)^2 rows, times the design effect 1 + (m - 1) rho of clusters of m rows
with intra-cluster correlation rho (Kish 1965; Miller 2024, arXiv 2411.00640).
"""

import math

import numpy as np
import numpy.typing as npt
import scipy

from eyechart.errors import SettingError
from eyechart.statistics.rows import Clusters, arrange, check_share, numbers, sums


def minimum_detectable_effect(
    sd: float, n: float, *, cluster_size: float = 1.0, rho: float = 0.0, power: float = 0.8, alpha: float = 0.05
) -> float:
    """Give the smallest mean (difference) that n rows with this sd show with the given power, two-sided."""
    _check_positive(sd=sd, n=n)
    return _quantiles(power, alpha) * sd * math.sqrt(_inflation(cluster_size, rho) / n)


def required_n(
    effect: float, sd: float, *, cluster_size: float = 1.0, rho: float = 0.0, power: float = 0.8, alpha: float = 0.05
) -> int:
    """Give the number of rows (not clusters) that show an effect with the given power, two-sided."""
    _check_positive(sd=sd, effect=abs(effect))
    return math.ceil((_quantiles(power, alpha) * sd / effect) ** 2 * _inflation(cluster_size, rho))


def _quantiles(power: float, alpha: float) -> float:
    check_share("power", power)
    check_share("alpha", alpha)
    return float(scipy.special.ndtri(1 - alpha / 2) + scipy.special.ndtri(power))


def _inflation(cluster_size: float, rho: float) -> float:
    effect = 1 + (cluster_size - 1) * rho
    if cluster_size < 1 or not -1 <= rho <= 1 or effect <= 0:
        found = f"clusters of {cluster_size} rows with correlation {rho}"
        raise SettingError("clusters of at least 1 row and a possible correlation", found, "see design_effect")
    return effect


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise SettingError(f"{name} above 0", str(value), f"give a positive {name}")


def design_effect(values: npt.ArrayLike, clusters: Clusters) -> float:
    """Divide the clustered by the plain variance of the mean: how many rows count as one; NaN without spread."""
    rows = arrange((numbers(values),), clusters)
    x, count = rows.columns[0], rows.clusters.size
    if count < 2 or x.min() == x.max():
        return float("nan")
    clustered = np.sum(sums(x - x.mean(), rows.clusters) ** 2) * count / (count - 1) / x.size**2
    return float(clustered / (x.var(ddof=1) / x.size))


def intracluster_correlation(values: npt.ArrayLike, clusters: Clusters) -> float:
    """Estimate rho by analysis of variance, (B - W) / (B + (m0 - 1) W); may be negative, NaN without spread."""
    rows = arrange((numbers(values),), clusters)
    x, count = rows.columns[0], rows.clusters.size
    if not 1 < count < x.size:
        return float("nan")
    sizes = np.diff(rows.clusters, append=x.size)
    means = sums(x, rows.clusters) / sizes
    between = float(np.sum(sizes * (means - x.mean()) ** 2)) / (count - 1)
    within = float(np.sum((x - np.repeat(means, sizes)) ** 2)) / (x.size - count)
    m0 = (x.size - float(np.sum(sizes**2)) / x.size) / (count - 1)
    total = between + (m0 - 1) * within
    return (between - within) / total if total > 0 else float("nan")
