"""Hashes of text columns that are the same on every machine, in every version and in any row order.

Each byte is mixed with its position and the results are summed (tabulation hashing with a computed table),
so a column is hashed without a Python loop. For sampling and comparing, not for cryptography.
"""

from functools import reduce

import numpy as np
import polars as pl
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

_NULL = np.uint64(0x9E3779B97F4A7C15)
_ROWS_AT_ONCE = 200_000


def hash_text(texts: pl.Series, seed: int = 0) -> Hashes:
    """Hash each text of a column; null has a different hash from the empty text."""
    parts = [_hash_part(texts[start : start + _ROWS_AT_ONCE], seed) for start in range(0, len(texts), _ROWS_AT_ONCE)]
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def combine(*columns: Hashes) -> Hashes:
    """Combine several hashes into one per row; their order matters."""
    return reduce(lambda left, right: _mix(_mix(left) + right), columns)


def uniform(hashes: Hashes) -> NDArray[np.float64]:
    """Convert hashes to numbers uniform over [0, 1)."""
    return (_mix(hashes) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _hash_part(texts: pl.Series, seed: int) -> Hashes:
    filled = texts.fill_null("")
    lengths = filled.str.len_bytes().to_numpy().astype(np.uint64)
    data = np.frombuffer(str(filled.str.join("").item()).encode(), np.uint8)
    ends = np.cumsum(lengths, dtype=np.uint64)
    starts = ends - lengths
    positions = np.arange(len(data), dtype=np.uint64) - np.repeat(starts, lengths.astype(np.int64))
    mixed = _mix(positions * np.uint64(256) + data + _mix(np.full(1, seed, np.uint64)))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    hashes = _mix(sums[ends] - sums[starts] + lengths)
    hashes[texts.is_null().to_numpy()] = _NULL
    return hashes


def _mix(values: Hashes) -> Hashes:
    """Scatter 64 bits: the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
