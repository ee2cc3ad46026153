"""Wu-Palmer similarity (Wu and Palmer 1994), to the letter of NLTK's `wup_similarity`.

    wup(a, b) = 2 depth(s) / (depth(s) + d(a, s) + depth(s) + d(b, s))

s is the common ancestor whose shortest way to the root is the longest; among several a itself, else the first by name.
depth(s) counts the nodes of the longest way from s to the root, and d(a, s) is the length of the shortest way between
a and s, which may lead over another common ancestor. Adjectives have no ancestors: with one of them a root is put above
everything, so that two different adjectives always have 0.5. A noun whose shortest way to the root bypasses some of its
ancestors is less than 1 similar to itself, for one of them is taken for s.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.kernels import kernel
from eyechart.wordnet.ancestors import Int32s, Ladder
from eyechart.wordnet.taxonomy import Senses, Taxonomy


class Meeting(NamedTuple):
    """Word pairs as places in a list of distinct words."""

    words: pl.Series
    first: Int32s
    second: Int32s


def word_similarities(first: pl.Series, second: pl.Series, taxonomy: Taxonomy) -> NDArray[np.float64]:
    """Compare words pairwise: the greatest similarity of any of their senses; 0 where a word has none."""
    met = _number(first, second)
    return compare_words(taxonomy.ladder, taxonomy.senses(met.words), met.first, met.second)


def _number(first: pl.Series, second: pl.Series) -> Meeting:
    both = pl.concat([first.cast(pl.String), second.cast(pl.String)]).fill_null("")
    words = both.unique().sort()
    places = words.search_sorted(both).to_numpy().astype(np.int32)
    return Meeting(words, places[: len(first)], places[len(first) :])


@kernel
def compare_words(ladder: Ladder, senses: Senses, first: Int32s, second: Int32s) -> NDArray[np.float64]:
    """Compare words given by their places in `senses`."""
    values = np.empty(len(first), np.float64)
    for at in range(len(first)):
        values[at] = word_similarity(ladder, senses, first[at], second[at])
    return values


@kernel
def compare_senses(ladder: Ladder, first: Int32s, second: Int32s) -> NDArray[np.float64]:
    """Compare senses pairwise."""
    values = np.empty(len(first), np.float64)
    for at in range(len(first)):
        values[at] = sense_similarity(ladder, first[at], second[at])
    return values


@kernel
def word_similarity(ladder: Ladder, senses: Senses, first: int, second: int) -> float:
    """Take the greatest similarity over all pairs of senses."""
    best = 0.0
    for i in range(senses.starts[first], senses.starts[first + 1]):
        for j in range(senses.starts[second], senses.starts[second + 1]):
            best = max(best, sense_similarity(ladder, senses.senses[i], senses.senses[j]))
            if best == 1.0:
                return best
    return best


@kernel
def sense_similarity(ladder: Ladder, first: int, second: int) -> float:
    """Compare two senses."""
    n_nouns = len(ladder.min_depths)
    if first >= n_nouns and first == second:
        return 1.0
    if first >= n_nouns or second >= n_nouns:
        ways = 1 if first >= n_nouns else ladder.climbs[first]
        ways += 1 if second >= n_nouns else ladder.climbs[second]
        return 2.0 / (2.0 + ways)
    subsumer = _subsumer(ladder, first, second)
    depth = ladder.max_depths[subsumer] + 1
    ways = _distance(ladder, first, subsumer) + _distance(ladder, second, subsumer)
    return float(2.0 * depth / (2 * depth + ways))


@kernel
def _subsumer(ladder: Ladder, first: int, second: int) -> int:
    """Find the lowest common ancestor by the shortest way to the root; ties as NLTK settles them."""
    i, j = ladder.starts[first], ladder.starts[second]
    best, depth = -1, -1
    while i < ladder.starts[first + 1] and j < ladder.starts[second + 1]:
        left, right = ladder.ancestors[i], ladder.ancestors[j]
        if left == right:
            here = ladder.min_depths[left]
            if here > depth or (here == depth and left == first):
                best, depth = left, here
        i += left <= right
        j += right <= left
    return best


@kernel
def _distance(ladder: Ladder, first: int, second: int) -> int:
    """Find the shortest way between two nouns over a common ancestor."""
    i, j = ladder.starts[first], ladder.starts[second]
    best = 255
    while i < ladder.starts[first + 1] and j < ladder.starts[second + 1]:
        left, right = ladder.ancestors[i], ladder.ancestors[j]
        if left == right:
            best = min(best, ladder.distances[i] + ladder.distances[j])
        i += left <= right
        j += right <= left
    return best
