"""The shipped taxonomy: what is in it, and similarities worked out by hand."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import eyechart.language.wordnet
from eyechart.language.wordnet import Hypernyms, Taxonomy, sense_similarity, word_similarity

ROOM = Path(eyechart.language.__file__).parent

# A made-up taxonomy: 0 is the root; 3 is below 1 and 2; 5 is below 4 and, by a short cut, the root; 6 is below 5.
#     0 <- 1 <- 3 <- 4 <- 5 <- 6,  0 <- 2 <- 3,  0 <- 5
PARENTS = [[], [0], [0], [1, 2], [3], [4, 0], [5]]
MIN_DEPTHS = [0, 1, 1, 2, 3, 1, 2]
MAX_DEPTHS = [0, 1, 1, 2, 3, 4, 5]


@pytest.fixture(scope="module")
def taxonomy() -> Taxonomy:
    return Taxonomy.load()


def similarity(first: str | None, second: str | None, taxonomy: Taxonomy) -> float:
    senses = taxonomy.senses(pl.Series([first, second], dtype=pl.String))
    return word_similarity(taxonomy.hypernyms, senses, 0, 1)


def test_it_is_small_and_comes_with_its_licence() -> None:
    assert (ROOM / "taxonomy.npz").stat().st_size < 3_000_000
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in (ROOM / "LICENSE.wordnet").read_text("utf-8")


def test_it_has_the_nouns_of_wordnet_below_one_root(taxonomy: Taxonomy) -> None:
    assert len(taxonomy.hypernyms.min_depths) == 82_115  # WordNet 3.0's own count of noun synsets
    assert int((taxonomy.hypernyms.min_depths == 0).sum()) == 1


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("dog", "dogs", 1.0),  # the same word in two forms
        ("Dog", "dog", 1.0),
        ("mice", "mouse", 1.0),  # irregular
        ("sofa", "couch", 1.0),  # of one synset
        ("lady", "woman", 12 / 19),  # by a common ancestor far above
        ("qwertz", "dog", 0.0),
        ("", "dog", 0.0),
        ("犬", "dog", 0.0),
    ],
)
def test_words_are_compared_by_their_best_senses(first: str, second: str, expected: float, taxonomy: Taxonomy) -> None:
    assert similarity(first, second, taxonomy) == pytest.approx(expected, abs=1e-12)


def test_a_null_word_is_like_no_other(taxonomy: Taxonomy) -> None:
    assert similarity(None, "dog", taxonomy) == 0.0
    assert similarity("dog", None, taxonomy) == 0.0


def test_no_words_have_no_senses(taxonomy: Taxonomy) -> None:
    found = taxonomy.senses(pl.Series([], dtype=pl.String))

    assert found.starts.tolist() == [0]
    assert len(found.senses) == 0


def made_up_hypernyms() -> Hypernyms:
    lengths = [len(row) for row in PARENTS]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    parents = np.array([parent for row in PARENTS for parent in row], np.int32)
    return Hypernyms.climb(starts, parents, np.array(MIN_DEPTHS, np.uint8), np.array(MAX_DEPTHS, np.uint8))


def test_the_way_to_each_ancestor_is_the_shortest() -> None:
    hypernyms = made_up_hypernyms()
    here = slice(hypernyms.starts[6], hypernyms.starts[7])

    found = dict(zip(hypernyms.ancestors[here].tolist(), hypernyms.distances[here].tolist(), strict=True))

    assert found == {0: 2, 1: 4, 2: 4, 3: 3, 4: 2, 5: 1, 6: 0}
    assert hypernyms.climbs.tolist() == [1, 2, 2, 3, 4, 4, 5]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (1, 2, 2 / 4),  # meet at the root: depth 1, one step each
        (3, 1, 2 * 2 / (2 * 2 + 1)),  # 1 itself is the subsumer
        (5, 6, 2 * 4 / (2 * 4 + 1 + 2)),  # 4 is the deepest by its shortest way to the root, 1 step from 5 and 2 from 6
        (5, 5, 2 * 4 / (2 * 4 + 1 + 1)),  # so 5 is not quite itself: a quirk of NLTK that is kept
        (4, 4, 1.0),
        (7, 7, 1.0),  # beyond the seven nouns are adjectives
        (7, 8, 0.5),
        (7, 0, 2 / (2 + 1 + 1)),
        (7, 6, 2 / (2 + 1 + 5)),
    ],
)
def test_senses_are_compared_as_worked_out_by_hand(first: int, second: int, expected: float) -> None:
    hypernyms = made_up_hypernyms()

    assert sense_similarity(hypernyms, first, second) == expected
    assert sense_similarity(hypernyms, second, first) == expected
