"""The shipped taxonomy: what is in it, and similarities worked out by hand."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import eyechart.wordnet
from eyechart.wordnet import Taxonomy
from eyechart.wordnet.ancestors import climb
from eyechart.wordnet.similarity import compare_senses, word_similarities

ROOM = Path(eyechart.wordnet.__file__).parent

# A made-up taxonomy: 0 is the root; 3 is below 1 and 2; 5 is below 4 and, by a short cut, the root; 6 is below 5.
#     0 <- 1 <- 3 <- 4 <- 5 <- 6,  0 <- 2 <- 3,  0 <- 5
PARENTS = [[], [0], [0], [1, 2], [3], [4, 0], [5]]
MIN_DEPTHS = [0, 1, 1, 2, 3, 1, 2]
MAX_DEPTHS = [0, 1, 1, 2, 3, 4, 5]


@pytest.fixture(scope="module")
def taxonomy() -> Taxonomy:
    return Taxonomy.load()


def similarity(first: str, second: str, taxonomy: Taxonomy) -> float:
    return float(word_similarities(pl.Series([first]), pl.Series([second]), taxonomy)[0])


def test_it_is_small_and_comes_with_its_licence() -> None:
    assert (ROOM / "taxonomy.npz").stat().st_size < 3_000_000
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in (ROOM / "LICENSE.wordnet").read_text("utf-8")


def test_it_has_the_nouns_of_wordnet_below_one_root(taxonomy: Taxonomy) -> None:
    assert len(taxonomy.ladder.min_depths) == 82_115  # WordNet 3.0's own count of noun synsets
    assert int((taxonomy.ladder.min_depths == 0).sum()) == 1


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
    values = word_similarities(pl.Series([None, "dog"], dtype=pl.String), pl.Series(["dog", None]), taxonomy)

    assert values.tolist() == [0.0, 0.0]


def test_no_words_have_no_similarities(taxonomy: Taxonomy) -> None:
    nothing = pl.Series([], dtype=pl.String)

    assert len(word_similarities(nothing, nothing, taxonomy)) == 0


def made_up_ladder() -> eyechart.wordnet.ancestors.Ladder:
    lengths = [len(row) for row in PARENTS]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    parents = np.array([parent for row in PARENTS for parent in row], np.int32)
    return climb(starts, parents, np.array(MIN_DEPTHS, np.uint8), np.array(MAX_DEPTHS, np.uint8))


def test_the_way_to_each_ancestor_is_the_shortest() -> None:
    ladder = made_up_ladder()
    here = slice(ladder.starts[6], ladder.starts[7])

    found = dict(zip(ladder.ancestors[here].tolist(), ladder.distances[here].tolist(), strict=True))

    assert found == {0: 2, 1: 4, 2: 4, 3: 3, 4: 2, 5: 1, 6: 0}
    assert ladder.climbs.tolist() == [1, 2, 2, 3, 4, 4, 5]


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
    ladder = made_up_ladder()

    both_ways = compare_senses(ladder, np.array([first, second], np.int32), np.array([second, first], np.int32))

    assert both_ways.tolist() == [expected, expected]
