"""A mean held against what is known, against exact tails and SciPy."""

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart import statistics
from eyechart.base.errors import DataError

CHANCES = st.sampled_from([0.1, 0.2, 0.25, 0.5])


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), CHANCES, st.integers(0, 9)), min_size=2, max_size=60))
@settings(deadline=None)
def test_it_is_the_mean_with_its_interval_moved(rows: list[tuple[float, float, int]]) -> None:
    scores, known, clusters = map(list, zip(*rows, strict=True))
    alone, found = statistics.mean(scores, clusters), statistics.beyond_known(scores, known, clusters)
    at = float(np.mean(known))

    np.testing.assert_allclose(found[:3], [each - at for each in alone[:3]], atol=1e-12)
    assert (found.n, found.clusters, found.method) == (alone.n, alone.clusters, alone.method)


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=200), CHANCES)
@settings(deadline=None)
def test_p_is_small_where_the_interval_leaves_nothing_out(scores: list[float], chance: float) -> None:
    found = statistics.beyond_known(scores, [chance] * len(scores))

    assert (found.p < 0.05) == (not found.low <= 0 <= found.high)


def test_all_wrong_is_as_surprising_as_the_binomial_says() -> None:
    """Of eight guesses among four options none is right with probability 0.75 ** 8."""
    found = statistics.beyond_known(np.zeros(8), np.full(8, 0.25))

    assert found.p == pytest.approx(2 * scipy.stats.binom.pmf(0, 8, 0.25))
    assert found.low == -0.25


@pytest.mark.parametrize(("score", "known", "seen"), [(0.5, 0.3, 0.3 / 0.5), (0.5, 0.6, 0.4 / 0.5)])
def test_a_score_that_never_changes_is_as_surprising_as_that_no_row_is_at_the_end_of_the_scale(
    score: float, known: float, seen: float
) -> None:
    """If the mean is 0.3, at most 60 % of the rows score 0.5 and the others 0; if it is 0.6, 20 % score 1."""
    found = statistics.beyond_known(np.full(9, score), np.full(9, known))

    assert found.p == pytest.approx(2 * seen**9)


def test_many_graded_scores_are_tested_as_student_does() -> None:
    scores = np.random.default_rng(3).uniform(0.2, 1, 400)

    found = statistics.beyond_known(scores, np.full(400, 0.59))

    assert found.p == pytest.approx(scipy.stats.ttest_1samp(scores, 0.59).pvalue)


@pytest.mark.parametrize(("options", "n"), [(4, 8), (4, 40), (10, 12), (10, 40)])
def test_guesses_are_seldom_told_from_chance(options: int, n: int) -> None:
    """Flipping signs tells up to 45 % of them at 0.01, as a score less its chance is skewed."""
    rng = np.random.default_rng(options * n)
    p = [
        statistics.beyond_known((rng.random(n) < 1 / options).astype(float), np.full(n, 1 / options)).p
        for _ in range(400)
    ]

    assert np.mean(np.array(p) <= 0.05) < 0.1
    assert np.mean(np.array(p) <= 0.01) < 0.05


def test_no_rows_and_unequal_ones() -> None:
    assert statistics.beyond_known([], []).n == 0
    with pytest.raises(DataError, match="2 and 1 rows"):
        statistics.beyond_known([1, 0], [0.5])
