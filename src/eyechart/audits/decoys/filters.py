"""Decide whether two answers may be options together: filters between a decoy and the target, an answer, or a decoy.

As the authors implemented them, in this order:

1. containment: one rendering of one answer inside that of the other;
2. WordNet: for words i of one answer and j of the other (nouns and adjectives), s(i, j) is the greatest Wu-Palmer
   similarity of their senses; the answers' similarity is max(prod_i max_j s(i, j), prod_j max_i s(i, j)), and more than
   the threshold (0.9) is too much. An answer without such a word is like no other.

Beyond the paper, where guards are on:

3. vectors: the cosine of the answers' vectors reaches its own threshold ("lady" and "woman", 0.63 in WordNet);
4. yes and no are combined only with each other;
5. numbers are combined with other numbers whatever WordNet says, but not with "several" and the like.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from eyechart.audits.decoys.lexicon import NO, NUMBER, VAGUE, YES, Lexicon
from eyechart.audits.decoys.texts import Int32s, Int64s, Ragged
from eyechart.base.kernels import Integer, kernel
from eyechart.language.wordnet import word_similarity

FINE, CONTAINS, SIMILAR, ALIKE, POLAR, AMOUNT = range(6)
FILTERS = {CONTAINS: "contains", SIMILAR: "wordnet", ALIKE: "vectors", POLAR: "yes/no", AMOUNT: "numbers"}
EQUAL = len(FILTERS) + 1  # another reason to reject a candidate: it is an accepted answer
TARGET, ACCEPTED, CHOSEN = range(3)  # what a filter compared a candidate with


class Memo(NamedTuple):
    """A cache of recent results for pairs; a slot holds the last pair that fell into it."""

    pairs: Int64s
    results: NDArray[Any]


class Filters(NamedTuple):
    """The data needed to compare two answers."""

    lexicon: Lexicon
    codes: Memo  # of pairs of answers
    similarities: Memo  # of pairs of words

    @classmethod
    def of(cls, lexicon: Lexicon) -> Self:
        """Allocate a cache for the pairs that a drawing compares repeatedly, of at most 100 MB."""
        slots = 1 << int(np.clip(np.ceil(np.log2(16 * len(lexicon.kinds) + 1)), 10, 22))
        empty = np.full(slots, -1, np.int64)
        return cls(lexicon, Memo(empty, np.zeros(slots, np.uint8)), Memo(empty.copy(), np.zeros(slots)))


@kernel
def judge_pair(filters: Filters, first: int, second: int) -> int:
    """Return the code of the filter that keeps two answers apart, or of none."""
    first, second = min(first, second), max(first, second)
    pair = np.int64(first) * len(filters.lexicon.kinds) + second
    slot = _slot(pair, len(filters.codes.pairs))
    if filters.codes.pairs[slot] != pair:
        filters.codes.pairs[slot] = pair
        filters.codes.results[slot] = _judge(filters, first, second)
    return int(filters.codes.results[slot])


@kernel
def goes_with(filters: Filters, beside: Int32s, chosen: Int32s, answer: int, taken: Int64s) -> bool:
    """Compare a candidate with the decoys of the same options; those of another set may be the same."""
    for other in chosen:
        code = judge_pair(filters, other, answer)
        if code:
            taken[CHOSEN, code] += 1
            return False
    for other in beside:
        if other >= 0 and other != answer:
            code = judge_pair(filters, other, answer)
            if code:
                taken[CHOSEN, code] += 1
                return False
    return True


@kernel
def _slot(pair: Integer, slots: int) -> int:
    """Scatter neighbouring pairs over a power of two."""
    return ((pair ^ (pair >> 23)) * 2654435761 & 0x7FFFFFFFFFFF) >> 7 & (slots - 1)


@kernel
def _judge(filters: Filters, first: int, second: int) -> int:
    lexicon = filters.lexicon
    one, two = lexicon.kinds[first], lexicon.kinds[second]
    if lexicon.guards and one == NUMBER and two == NUMBER:
        return AMOUNT if lexicon.values[first] == lexicon.values[second] else FINE
    if _contained(lexicon.one, first, second) or _contained(lexicon.two, first, second):
        return CONTAINS
    if answer_similarity(filters, first, second) > lexicon.threshold:
        return SIMILAR
    return _guard(lexicon, first, second) if lexicon.guards else FINE


@kernel
def _guard(lexicon: Lexicon, first: int, second: int) -> int:
    """Apply the filters beyond the paper."""
    one, two = lexicon.kinds[first], lexicon.kinds[second]
    if lexicon.vectors.shape[1] and _cosine(lexicon.vectors, first, second) >= lexicon.alike:
        return ALIKE
    polar = (one in (YES, NO)) + (two in (YES, NO))
    if polar == 1 or (polar == 2 and one == two):
        return POLAR
    return AMOUNT if VAGUE in (one, two) and NUMBER in (one, two) else FINE


@kernel
def _contained(lists: Ragged, first: int, second: int) -> bool:
    """Check whether either list is inside the other; an empty one is inside every list."""
    a, a_end = lists.starts[first], lists.starts[first + 1]
    b, b_end = lists.starts[second], lists.starts[second + 1]
    if a_end - a > b_end - b:
        a, a_end, b, b_end = b, b_end, a, a_end
    length = a_end - a
    for start in range(b, b_end - length + 1):
        same = 0
        while same < length and lists.items[a + same] == lists.items[start + same]:
            same += 1
        if same == length:
            return True
    return False


@kernel
def answer_similarity(filters: Filters, first: int, second: int) -> float:
    """Return the greater of the two products of maxima."""
    words = filters.lexicon.words
    a, a_end, b, b_end = words.starts[first], words.starts[first + 1], words.starts[second], words.starts[second + 1]
    if a == a_end or b == b_end:
        return 0.0
    best = np.zeros(b_end - b)
    rows, columns = 1.0, 1.0
    for i in range(a, a_end):
        row = 0.0
        for j in range(b, b_end):
            value = _word_similarity(filters, words.items[i], words.items[j])
            row = max(row, value)
            best[j - b] = max(best[j - b], value)
        rows *= row
    for value in best:
        columns *= value
    return max(rows, columns)


@kernel
def _word_similarity(filters: Filters, first: int, second: int) -> float:
    lexicon, memo = filters.lexicon, filters.similarities
    pair = np.int64(first) * len(lexicon.senses.starts) + second
    slot = _slot(pair, len(memo.pairs))
    if memo.pairs[slot] != pair:
        memo.pairs[slot] = pair
        memo.results[slot] = word_similarity(lexicon.ladder, lexicon.senses, first, second)
    return float(memo.results[slot])


@kernel
def _cosine(vectors: NDArray[np.float32], first: int, second: int) -> float:
    total = 0.0
    for i in range(vectors.shape[1]):
        total += vectors[first, i] * vectors[second, i]
    return total
