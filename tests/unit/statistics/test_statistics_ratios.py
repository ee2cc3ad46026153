"""Ratios of means, against Fieller's interval and a bootstrap written as a loop."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart import statistics
from eyechart.base.errors import DataError, SettingError
from eyechart.statistics import ratios

RNG = np.random.default_rng(2)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(2)


def fieller(n: np.ndarray, d: np.ndarray, z: float) -> list[float]:
    """Solve (mean n - R mean d)^2 = z^2 var(mean n - R mean d) for R."""
    c = np.cov(n, d) / n.size
    a, b, e = d.mean() ** 2 - z**2 * c[1, 1], n.mean() * d.mean() - z**2 * c[0, 1], n.mean() ** 2 - z**2 * c[0, 0]
    return [(b - np.sqrt(b * b - a * e)) / a, (b + np.sqrt(b * b - a * e)) / a]


def test_many_rows_come_close_to_fiellers_interval(rng: np.random.Generator) -> None:
    d = rng.normal(2, 1, 3000)
    n = 0.5 * d + rng.normal(0, 1, 3000)

    found = statistics.ratio(n, d, draws=8000)

    assert found.value == pytest.approx(n.mean() / d.mean())
    np.testing.assert_allclose([found.low, found.high], fieller(n, d, 1.96), atol=0.04 * (found.high - found.low))
    assert (found.n, found.clusters, found.method, found.unstable) == (3000, 3000, "bootstrap-t", False)


def test_the_interval_is_that_of_a_loop_over_draws(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """The loop draws whole clusters row by row; the block of draws held in memory must not matter."""
    clusters = np.repeat(np.arange(20), 3)
    d = rng.normal(2, 1, 60)
    n = rng.normal(1, 1, 60)
    monkeypatch.setattr(ratios, "CELLS", 100)

    found = statistics.ratio(n, d, clusters, draws=400, seed=4)

    def fit(chosen: np.ndarray) -> tuple[float, float]:
        sums = np.array([[n[clusters == c].sum(), d[clusters == c].sum()] for c in chosen])
        value = sums[:, 0].sum() / sums[:, 1].sum()
        spread = np.sum((sums[:, 0] - value * sums[:, 1]) ** 2) * 20 / 19
        return value, np.sqrt(spread) / abs(sums[:, 1].sum())

    generator = np.random.default_rng(4)
    value, se = fit(np.arange(20))
    t = np.sort([(v - value) / s for v, s in (fit(generator.integers(0, 20, 20)) for _ in range(400))])
    expected = [value, se, value - se * t[int(np.ceil(0.975 * 399))], value - se * t[int(np.floor(0.025 * 399))]]
    np.testing.assert_allclose([found.value, found.se, found.low, found.high], expected)


def test_only_so_many_draws_are_in_memory_at_once(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    summed, sizes = np.einsum, []

    def noting(how: str, weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        sizes.append(weights.size)
        return summed(how, weights, columns)

    monkeypatch.setattr(ratios, "CELLS", 100)
    monkeypatch.setattr(np, "einsum", noting)
    statistics.ratio(rng.normal(1, 1, 20), rng.normal(2, 1, 20), draws=42)

    assert sizes == [100] * 8 + [40]


@pytest.mark.parametrize(
    ("denominator", "unstable"),
    [
        (0.5 + 0.1 * RNG.normal(size=80), False),
        (0.05 + 0.01 * RNG.normal(size=80), True),
        (RNG.normal(0.2, 5, 80), True),
    ],
    ids=["far from 0", "below 0.1", "interval includes 0"],
)
def test_a_denominator_near_zero_is_flagged(
    denominator: np.ndarray, unstable: object, rng: np.random.Generator
) -> None:
    found = statistics.ratio(rng.normal(1, 0.1, 80), denominator)

    assert found.unstable is unstable


def test_a_numerator_carried_by_one_cluster_falls_back_and_is_flagged(rng: np.random.Generator) -> None:
    """Every third draw or so misses the only row that counts, so no bootstrap can bound the ratio."""
    found = statistics.ratio(np.r_[1.0, np.zeros(19)], rng.uniform(0.5, 1, 20))

    assert (found.method, found.unstable) == ("delta", True)
    assert found.low < found.value < found.high < np.inf


@pytest.mark.parametrize(
    ("n", "d"),
    [([], []), ([1.0, 1.0], [0.0, 0.0]), ([1.0], [2.0]), ([0, 0, 0], [1, 2, 3]), ([0.3, 0.6, 2.1], [0.1, 0.2, 0.7])],
)
def test_a_ratio_without_spread_or_denominator_has_no_interval(n: list[float], d: list[float]) -> None:
    found = statistics.ratio(n, d)

    assert (found.method, found.unstable) == ("none", True)
    assert np.isnan([found.low, found.high]).all()


def test_unusable_settings_and_columns_are_refused() -> None:
    with pytest.raises(SettingError, match="at least one draw"):
        statistics.ratio([1.0], [1.0], draws=0)
    with pytest.raises(DataError, match="columns of equal length"):
        statistics.ratio([1.0], [1.0, 2.0])


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([0.1, 0.7, 1.0]), st.integers(0, 12)),
        min_size=1,
        max_size=40,
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_of_rows_changes_no_bit_of_a_ratio(data: list[tuple[float, ...]], random: Random) -> None:
    first, second = (np.array(part).T for part in (data, random.sample(data, len(data))))

    for clustered in (True, False):
        one, two = (
            statistics.ratio(n, d, c.astype(int) if clustered else None, draws=50) for n, d, c in (first, second)
        )
        assert repr(one) == repr(two)
