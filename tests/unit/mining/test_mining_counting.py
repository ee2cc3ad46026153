"""Counts of antecedents against loops over sets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.mining import Transactions
from eyechart.mining.counting import Queries, count, list_pairs, make_index

N_ITEMS = 6
Example = tuple[list[int], int, int]  # items, answer, image
Query = tuple[list[int], int, int]  # items, lacking or -1, answer

EXAMPLES = st.lists(
    st.tuples(st.lists(st.integers(0, N_ITEMS - 1), max_size=8), st.integers(-1, 2), st.integers(0, 5)), max_size=90
)
QUERIES = st.lists(
    st.tuples(
        st.lists(st.integers(0, N_ITEMS - 1), max_size=3, unique=True), st.integers(-1, N_ITEMS - 1), st.integers(0, 2)
    ),
    min_size=1,
    max_size=6,
)


def queries_of(queries: list[Query]) -> Queries:
    items = np.full((len(queries), 3), -1, np.int32)
    for row, (own, _, _) in enumerate(queries):
        items[row, : len(own)] = own
    lacking, answers = (np.array([query[at] for query in queries], np.int32) for at in (1, 2))
    return Queries(items, lacking, answers)


@settings(deadline=None, max_examples=150)
@given(EXAMPLES, QUERIES)
def test_each_image_counts_once_by_its_first_example_that_is_met(examples: list[Example], queries: list[Query]) -> None:
    examples = sorted(examples, key=lambda one: one[2])
    rows, answers, images = ([one[at] for one in examples] for at in range(3))
    used = np.array([item for items, lacking, _ in queries for item in (*items, lacking)], np.int32)
    index = make_index(Transactions.from_rows(rows, answers, N_ITEMS, 3), np.array(images, np.int32), used)
    found, pairs = count(queries_of(queries), index, threads=2), list_pairs(queries_of(queries), index)

    met = [
        [at for at, row in enumerate(rows) if set(items) <= set(row) and lacking not in row]
        for items, lacking, _ in queries
    ]
    first = [{images[at]: answers[at] for at in reversed(own)} for own in met]
    assert found.images.tolist() == [len(own) for own in first]
    assert found.hits.tolist() == [
        sum(answer == query[2] for answer in own.values()) for own, query in zip(first, queries, strict=True)
    ]
    assert list(zip(pairs.queries.tolist(), pairs.examples.tolist(), strict=True)) == [
        (query, at) for query, own in enumerate(met) for at in own
    ]


@pytest.mark.parametrize("n", [63, 64, 65, 66, 128, 129])
def test_examples_are_counted_up_to_the_last_one_and_beyond_a_word_of_bits(n: int) -> None:
    rows, images = [[0, 1] if at % 3 else [1] for at in range(n)], np.arange(n, dtype=np.int32)
    index = make_index(Transactions.from_rows(rows, [at % 2 for at in range(n)], 2, 2), images, np.array([0, 1]))

    found = count(queries_of([([0], -1, 1), ([1], 0, 1), ([1], -1, 0)]), index)

    assert found.images.tolist() == [n - (n + 2) // 3, (n + 2) // 3, n]
    assert found.hits.tolist() == [
        sum(at % 2 for at in range(n) if at % 3),
        sum(at % 2 for at in range(0, n, 3)),
        sum(at % 2 == 0 for at in range(n)),
    ]
