"""Adjust p-values for many tests, to be compared with the accepted error rate.

With m p-values in ascending order, p_(1) <= ... <= p_(m):

bh    false discovery rate:                q_(i) = min_{j >= i} p_(j) m / j              (Benjamini & Hochberg 1995)
by    the same under any dependence:       as bh, times 1 + 1/2 + ... + 1/m              (Benjamini & Yekutieli 2001)
holm  chance of a single false discovery:  q_(i) = max_{j <= i} p_(j) (m - j + 1)         (Holm 1979)
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from eyechart.base.errors import DataError, UnknownNameError
from eyechart.statistics.rows import Floats


def adjust(p: npt.ArrayLike, method: str = "bh") -> Floats:
    """Adjust p-values for their number, keeping their order; NaN stays NaN and does not count."""
    if method not in METHODS:
        raise UnknownNameError(f"one of {', '.join(METHODS)}", method, "choose one of these")
    values = np.asarray(p, dtype=np.float64)
    adjusted, known = np.full(values.shape, np.nan), ~np.isnan(values)
    if ((values[known] < 0) | (values[known] > 1)).any():
        raise DataError("p-values from 0 to 1", "others", "pass p-values, not statistics")
    order = np.argsort(values[known], kind="stable")
    sorted_q = np.minimum(METHODS[method](values[known][order]), 1.0)
    q = np.empty_like(sorted_q)
    q[order] = sorted_q
    adjusted[known] = q
    return adjusted


def _benjamini_hochberg(p: Floats) -> Floats:
    scaled = p * p.size / np.arange(1, p.size + 1)
    return np.minimum.accumulate(scaled[::-1])[::-1]


def _benjamini_yekutieli(p: Floats) -> Floats:
    return _benjamini_hochberg(p) * np.sum(1 / np.arange(1, p.size + 1))


def _holm(p: Floats) -> Floats:
    return np.maximum.accumulate(p * np.arange(p.size, 0, -1))


METHODS: dict[str, Callable[[Floats], Floats]] = {
    "bh": _benjamini_hochberg,
    "by": _benjamini_yekutieli,
    "holm": _holm,
}
