"""Right answers for each wrong one (the paper's c2i), and by how much that falls (Tables 4 and 7, Fig. 5 and 6).

    c2i = sum of scores / sum of (1 - scores) = a / (1 - a), a being the accuracy
    fall from A to B = 1 - c2i_B / c2i_A

c2i rises with a, so the ends of its interval are those of the accuracy's. The fall has the delta method's interval on
the logarithm, log c2i_B - log c2i_A, from the influence of each row, (x - a) / (n a (1 - a)), summed by cluster: rows
of A and B may share images.
"""

import math
from typing import NamedTuple

import numpy as np
import polars as pl
import scipy

from eyechart.statistics import Estimate, mean
from eyechart.statistics.rows import arrange, sums


class Fall(NamedTuple):
    """A relative fall with its interval; NaN where one side is all right or all wrong."""

    value: float
    low: float
    high: float
    n: int
    clusters: int


def odds(rows: pl.DataFrame, column: str = "acc_all") -> Estimate:
    """Estimate right answers for each wrong one; NaN where nothing is wrong."""
    found = mean(rows[column], rows["cluster"])
    value, low, high = (_odds(share) for share in (found.value, found.low, found.high))
    return found._replace(value=value, low=low, high=high, se=math.nan)


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else math.nan


def relative_fall(a: pl.DataFrame, b: pl.DataFrame, column: str = "acc_all") -> Fall:
    """Estimate by what share c2i falls from rows `a` to rows `b`."""
    both = pl.concat([a["cluster"], b["cluster"]])
    shares = [float(np.mean(np.sort(part[column].to_numpy()))) if part.height else math.nan for part in (a, b)]
    if not all(0 < share < 1 for share in shares):
        return Fall(math.nan, math.nan, math.nan, len(both), both.n_unique())
    influence = [
        (part[column].to_numpy() - share) / (part.height * share * (1 - share))
        for part, share in zip((a, b), shares, strict=True)
    ]
    rows = arrange((np.concatenate([-influence[0], influence[1]]),), both)
    by_cluster = sums(rows.columns[0], rows.clusters)
    count = by_cluster.size
    change = math.log(_odds(shares[1])) - math.log(_odds(shares[0]))
    if count < 2:
        return Fall(-math.expm1(change), math.nan, math.nan, len(both), count)
    half = float(scipy.special.stdtrit(count - 1, 0.975) * np.sqrt(np.sum(by_cluster**2) * count / (count - 1)))
    return Fall(-math.expm1(change), -math.expm1(change + half), -math.expm1(change - half), len(both), count)
