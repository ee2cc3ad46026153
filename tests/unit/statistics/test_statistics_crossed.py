"""Standard errors over examples and donors, against explicit sums over clusters and cells, and by simulation."""

from collections import defaultdict

import numpy as np
import polars as pl
import pytest

from eyechart import statistics
from eyechart.statistics.crossed import Draws, crossed_se, gather_draws


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(4)


def drawn(rng: np.random.Generator, rows: int = 60, images: int = 20, draws: int = 3) -> tuple[np.ndarray, Draws]:
    """Make rows whose donors matter, and their means."""
    own, mood = np.sort(rng.integers(0, images, rows)), rng.random(images) < 0.7
    donor = rng.integers(0, images, (rows, draws))
    value = mood[donor] * (rng.random((rows, draws)) < 0.9).astype(float)
    row = np.repeat(np.arange(rows), draws)
    share, kind = np.full(row.size, 1 / draws), np.zeros(row.size, np.int64)
    return value.mean(axis=1), Draws(own, row, donor.ravel(), value.ravel(), share, kind)


def by_hand(x: np.ndarray, draws: Draws) -> tuple[float, float]:
    """Sum over clusters and cells one by one: the squared error with donors, and without."""
    own, both, cells = (defaultdict(float) for _ in range(3))
    for cluster, value in zip(draws.clusters, x, strict=True):
        own[cluster] += value - x.mean()
        both[cluster] += value - x.mean()
    for row, donor, value, share in zip(draws.row, draws.donor, draws.value, draws.share, strict=True):
        part = share * (value - draws.value.mean())
        both[donor] += part
        cells[draws.clusters[row], donor] += part
    few = len(own) / (len(own) - 1)
    crossed = few * sum(each**2 for each in both.values()) - sum(each**2 for each in cells.values())
    return crossed / x.size**2, few * sum(each**2 for each in own.values()) / x.size**2


@pytest.mark.parametrize("images", [2, 5, 20, 60])
def test_the_error_is_that_of_sums_over_clusters_and_cells(rng: np.random.Generator, images: int) -> None:
    x, draws = drawn(rng, images=images)
    crossed, alone = by_hand(x, draws)

    assert crossed_se(x - x.mean(), draws) ** 2 == pytest.approx(max(crossed, alone))


def test_it_is_never_below_that_of_the_rows_alone(rng: np.random.Generator) -> None:
    for _ in range(50):
        x, draws = drawn(rng, rows=40, images=30, draws=1)
        found, alone = (statistics.mean(x, draws.clusters, draws=each) for each in (draws, None))

        assert found.se >= alone.se
        assert found.low <= alone.low
        assert found.high >= alone.high


def test_order_and_names_of_clusters_do_not_matter(rng: np.random.Generator) -> None:
    x, draws = drawn(rng)
    rows, terms = rng.permutation(x.size), rng.permutation(draws.row.size)
    names = 7 * rng.permutation(20)
    moved = Draws(
        names[draws.clusters][rows],
        np.argsort(rows)[draws.row][terms],
        names[draws.donor][terms],
        draws.value[terms],
        draws.share[terms],
        draws.kind[terms],
    )

    assert crossed_se((x - x.mean())[rows], moved) == pytest.approx(crossed_se(x - x.mean(), draws), rel=1e-12)


def test_draws_of_each_kind_are_centred_on_their_own_mean(rng: np.random.Generator) -> None:
    """Adding a number to all draws of a kind changes nothing."""
    x, draws = drawn(rng)
    kinds = draws._replace(kind=np.arange(draws.row.size) % 3)
    shifted = kinds._replace(value=kinds.value + 5 * kinds.kind)

    assert crossed_se(x - x.mean(), shifted) == pytest.approx(crossed_se(x - x.mean(), kinds))


def test_a_difference_has_the_draws_of_both(rng: np.random.Generator) -> None:
    """A model has no error beside itself, and two that see the same donors less than two that see others."""
    x, draws = drawn(rng)
    other = draws._replace(value=np.where(rng.random(draws.row.size) < 0.2, 1 - draws.value, draws.value))
    y = np.bincount(other.row, other.value * other.share)
    change = x - y

    assert crossed_se(np.zeros(x.size), draws.minus(draws)) == pytest.approx(0, abs=1e-12)
    assert crossed_se(change - change.mean(), draws.minus(other)) < np.hypot(
        crossed_se(x - x.mean(), draws), crossed_se(y - y.mean(), other)
    )


def test_one_cluster_has_no_error() -> None:
    x, draws = np.array([0.0, 1.0]), Draws(*(np.zeros(2, np.int64) for _ in range(6)))

    assert np.isnan(crossed_se(x - 0.5, draws._replace(share=np.ones(2), value=x)))


def test_lists_of_draws_are_gathered_by_row() -> None:
    terms = [
        [{"donor": 3, "value": 0.5, "share": 1.0, "kind": 0}],
        None,
        [{"donor": 1, "value": 0, "share": 1, "kind": 2}],
    ]
    found = gather_draws(pl.Series([7, 8, 9]), pl.Series(terms, strict=False))

    assert [each.tolist() for each in found] == [[7, 8, 9], [0, 2], [3, 1], [0.5, 0.0], [1.0, 1.0], [0, 2]]


def skewed(rng: np.random.Generator, images: int) -> tuple[np.ndarray, np.ndarray, Draws]:
    """Let a reader of moods, of which 80 % are good, answer two questions an image, four times with another image."""
    rows, mood = 2 * images, rng.random(images) < 0.8
    own = np.repeat(np.arange(images), 2)
    right = np.where(rng.random(rows) < 0.9, mood[own], ~mood[own])
    donor = rng.integers(0, images - 1, (rows, 4))
    donor += donor >= own[:, None]
    still = (mood[donor] == right[:, None]).astype(float)
    row, share = np.repeat(np.arange(rows), 4), np.full(4 * rows, 0.25)
    draws = Draws(own, row, donor.ravel(), still.ravel(), share, np.zeros(row.size, np.int64))
    return (mood[own] == right).astype(float), still.mean(axis=1), draws


def test_a_ratio_has_the_error_of_what_it_leaves_of_each_row(rng: np.random.Generator) -> None:
    plain, without, draws = skewed(rng, 60)
    lost = draws._replace(value=-draws.value)

    found = statistics.ratio(plain - without, plain, draws.clusters, draws=50, taken=lost)
    crossed, _ = by_hand(plain - without - found.value * plain, lost)

    assert found.se == pytest.approx(np.sqrt(crossed) / plain.mean())


def test_intervals_cover_new_examples_and_new_donors(rng: np.random.Generator) -> None:
    """With 80 % of one answer, 95 % intervals that take the donors as given cover the truth in about 79 %."""
    good = 0.9 * 0.8 + 0.1 * 0.2
    truth = 0.9 - (0.8 * good + 0.2 * (1 - good))
    held = {"donors": 0, "alone": 0, "ratio": 0}
    for _ in range(200):
        plain, without, draws = skewed(rng, 150)
        lost = draws._replace(value=-draws.value)
        for name, taken in (("donors", lost), ("alone", None)):
            found = statistics.paired_difference(plain, without, draws.clusters, flips=9, draws=taken)
            held[name] += found.low <= truth <= found.high
        share = statistics.ratio(plain - without, plain, draws.clusters, draws=200, taken=lost)
        held["ratio"] += share.low <= truth / 0.9 <= share.high

    assert held["donors"] >= 180
    assert held["ratio"] >= 180
    assert held["alone"] < 175


def test_p_and_equivalence_know_of_other_donors(rng: np.random.Generator) -> None:
    plain, without, draws = skewed(rng, 60)
    lost = draws._replace(value=-draws.value)
    found, alone = (statistics.paired_difference(plain, without, draws.clusters, draws=each) for each in (lost, None))
    same, same_alone = (
        statistics.equivalence(plain - without - found.value, draws.clusters, 0.1, draws=each) for each in (lost, None)
    )

    assert found.p >= alone.p
    assert same.p > same_alone.p
    assert same.high - same.low > same_alone.high - same_alone.low
