"""Hashes are the same everywhere, and spread."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.hashing import _mix, combine, hash_text, uniform

MASK = 2**64 - 1


def slow_mix(value: int) -> int:
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def slow_hash(text: str | None, seed: int) -> int:
    """Hash one text with plain integers, as the docstring of the module says."""
    if text is None:
        return 0x9E3779B97F4A7C15
    data = text.encode()
    total = sum(slow_mix(position * 256 + byte + slow_mix(seed)) for position, byte in enumerate(data))
    return slow_mix((total + len(data)) & MASK)


@settings(deadline=None)
@given(st.lists(st.none() | st.text(), max_size=20), st.integers(0, 2**40))
def test_a_column_is_hashed_as_its_texts_one_by_one(texts: list[str | None], seed: int) -> None:
    hashes = hash_text(pl.Series(texts, dtype=pl.String), seed)

    assert hashes.tolist() == [slow_hash(text, seed) for text in texts]


def test_the_mixing_is_splitmix64() -> None:
    """The first outputs of SplitMix64 seeded with 1234567, as its authors' test vectors give them."""
    states = (np.arange(3, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) + np.uint64(1234567)

    assert _mix(states).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_long_columns_are_hashed_in_parts_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pl.Series([f"text {n}" for n in range(100)])
    whole = hash_text(texts)
    monkeypatch.setattr("eyechart.base.hashing._ROWS_AT_ONCE", 7)

    assert hash_text(texts).tolist() == whole.tolist()


def test_no_two_of_a_million_texts_collide() -> None:
    texts = pl.Series(np.arange(1_000_000)).cast(pl.String)

    assert len(np.unique(hash_text(texts))) == 1_000_000


def test_uniform_numbers_fill_the_unit_interval_evenly() -> None:
    numbers = uniform(hash_text(pl.Series(np.arange(100_000)).cast(pl.String)))
    counts = np.histogram(numbers, bins=10, range=(0, 1))[0]

    assert counts.sum() == 100_000
    assert np.all(np.abs(counts - 10_000) < 5 * np.sqrt(9_000))


def test_combining_depends_on_the_order() -> None:
    left, right = hash_text(pl.Series(["a"])), hash_text(pl.Series(["b"]))

    assert combine(left, right) != combine(right, left)
