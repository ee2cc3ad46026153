"""The tests of rules against SciPy's, and the states against cases worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits.rules.confirm import LEVEL, binomial_tail, confirm, fisher_tail, power, states
from eyechart.mining import Transactions
from eyechart.mining.counting import Counts, Queries, make_index

stats = pytest.importorskip("scipy.stats")


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 300), st.floats(0, 1), st.floats(0, 1))
def test_the_binomial_tail_is_that_of_scipy(n: int, share: float, base: float) -> None:
    hits = round(n * share)

    found = binomial_tail(ints(hits), ints(n), np.array([base]))

    assert found[0] == pytest.approx(stats.binom.sf(hits - 1, n, base), rel=1e-8, abs=1e-300)


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 60), st.integers(0, 400), st.floats(0, 1), st.floats(0, 1))
def test_the_fisher_tail_is_that_of_scipy_where_hits_are_denser(n: int, m: int, share: float, other: float) -> None:
    k, j = round(n * share), round(m * other)

    found = fisher_tail(Counts(ints(n), ints(k)), Counts(ints(m), ints(j)))[0]

    denser = k * (n + m) > n * (k + j)
    table = [[k, n - k], [j, m - j]]
    assert found == pytest.approx(stats.fisher_exact(table, "greater").pvalue if denser else 1.0, rel=1e-7)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 80), st.floats(0.01, 0.99), st.floats(0.3, 1))
def test_power_is_the_chance_to_pass_the_first_test(n: int, base: float, confidence: float) -> None:
    passing = [hits for hits in range(n + 1) if stats.binom.sf(hits - 1, n, base) <= LEVEL]
    expected = sum(stats.binom.pmf(hits, n, confidence) for hits in passing)

    assert power(ints(n), np.array([base]), np.array([confidence]))[0] == pytest.approx(expected, abs=1e-9)


def test_no_rule_is_confirmed_that_does_not_beat_its_parts() -> None:
    """Item 0 tells the answer 1; item 1 is a coin that adds nothing, and 2 is nowhere."""
    rows = [[0, 1] if n % 2 else [0] for n in range(60)] + [[1] if n % 2 else [] for n in range(60)]
    answers = [1] * 54 + [0] * 6 + [0] * 54 + [1] * 6
    index = make_index(Transactions.from_rows(rows, answers, 3, 2), np.arange(120, dtype=np.int32), np.arange(3))
    items = np.array([[0, -1], [0, 1], [2, -1]], np.int32)
    queries = Queries(items, np.full(3, -1, np.int32), np.array([1, 1, 1], np.int32))

    found = confirm(queries, np.array([0.9, 0.9, 0.9]), index)

    assert found["state"].to_list() == ["confirmed", "adds nothing", "untestable"]
    assert found["held_out_support"].to_list() == [60, 30, 0]
    assert found["held_out_confidence"].to_list() == [0.9, 0.9, None]
    first = stats.fisher_exact([[54, 6], [6, 54]], "greater").pvalue
    base = stats.binom.sf(53, 60, 0.5)
    assert found["p"][0] == pytest.approx(max(first, base))
    assert found["q"][0] == pytest.approx(3 * max(first, base))


def test_many_questions_of_one_image_prove_nothing() -> None:
    """Sixty right examples of one image are one case."""
    rows, answers = [[0]] * 60 + [[1]] * 60, [1] * 60 + [0] * 60
    queries = Queries(np.array([[0]], np.int32), np.array([-1], np.int32), np.array([1], np.int32))
    images = {"one image": np.repeat([0, 1], 60), "an image each": np.arange(120)}

    found = {
        name: confirm(
            queries,
            np.array([1.0]),
            make_index(Transactions.from_rows(rows, answers, 2, 2), own.astype(np.int32), np.arange(2)),
        )
        for name, own in images.items()
    }

    assert found["one image"]["state"].to_list() == ["untestable"]
    assert found["an image each"]["state"].to_list() == ["confirmed"]


def test_states_say_what_the_data_could_show() -> None:
    """In turn: sure; no better than its answer; no better than a shorter rule; too few; sure only before correction."""
    q, p = np.array([0.01, 0.9, 0.9, 0.9, 0.2]), np.array([0.001, 0.8, 0.8, 0.8, 0.01])
    beats_base, powers = np.array([True, False, True, True, True]), np.array([0.1, 0.9, 0.9, 0.1, 0.9])

    found = states(q, p, beats_base, powers)

    assert found.to_list() == ["confirmed", "refuted", "adds nothing", "untestable", "untestable"]


def test_an_even_chance_to_be_confirmed_is_enough_to_be_refuted() -> None:
    sure, failed, powers = np.array([0.9, 0.9]), np.array([False, False]), np.array([0.5, 0.49])

    assert states(sure, sure, failed, powers).to_list() == ["refuted", "untestable"]


@pytest.mark.parametrize(("images", "state"), [(9, "untestable"), (10, "confirmed")])
def test_a_rule_is_confirmed_on_ten_images_or_more(images: int, state: str) -> None:
    """However rare its answer is elsewhere."""
    rows, answers = [[0]] * images + [[1]] * 200, [1] * images + [0] * 200
    index = make_index(Transactions.from_rows(rows, answers, 2, 2), np.arange(len(rows), dtype=np.int32), np.arange(2))
    queries = Queries(np.array([[0]], np.int32), np.array([-1], np.int32), np.array([1], np.int32))

    found = confirm(queries, np.array([1.0]), index)

    assert found["q"][0] < 1e-9
    assert found["state"].to_list() == [state]
