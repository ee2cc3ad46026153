"""May two answers stand side by side? The filters between a decoy and the target, another answer, or another decoy.

As the authors implemented them, in this order:

1. containment: one rendering of one answer inside that of the other;
2. WordNet: for words i of one answer and j of the other (nouns and adjectives), s(i, j) is the greatest Wu-Palmer
   similarity of their senses; the answers' similarity is max(prod_i max_j s(i, j), prod_j max_i s(i, j)), and more than
   the threshold (0.9) is too much. An answer without such a word is like no other.

Beyond the paper, where guards are on:

3. vectors: the cosine of the answers' vectors reaches its own threshold ("lady" and "woman", 0.63 in WordNet);
4. yes and no go with each other only;
5. numbers go with other numbers whatever WordNet says of them, but not with "several" and the like.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart.audits.decoys.drawing.answers import NO, NUMBER, VAGUE, YES
from eyechart.audits.decoys.drawing.lists import Int64s, Lists
from eyechart.kernels import Integer, kernel
from eyechart.wordnet.ancestors import Ladder
from eyechart.wordnet.similarity import word_similarity
from eyechart.wordnet.taxonomy import Senses

FINE, CONTAINS, SIMILAR, ALIKE, POLAR, AMOUNT = range(6)
FILTERS = {CONTAINS: "contains", SIMILAR: "wordnet", ALIKE: "vectors", POLAR: "yes/no", AMOUNT: "numbers"}


class Lexicon(NamedTuple):
    """What the filters know of each answer."""

    one: Lists  # the first rendering
    two: Lists  # the second
    words: Lists  # those that WordNet knows, as places in `senses`
    senses: Senses
    ladder: Ladder
    kinds: NDArray[np.uint8]
    values: NDArray[np.float64]
    vectors: NDArray[np.float32]  # of no columns where there are none


class Limits(NamedTuple):
    """How strict the filters are."""

    threshold: float
    alike: float
    guards: bool
    everyone: bool  # compare with all accepted answers, not with the target alone


class Memory(NamedTuple):
    """Pairs compared lately; a slot holds the last that fell into it."""

    pairs: Int64s
    codes: NDArray[np.uint8]
    word_pairs: Int64s
    similarities: NDArray[np.float64]


def make_memory(n_answers: int) -> Memory:
    """Make room for the pairs a drawing meets again, at most 100 MB of it."""
    slots = 1 << int(np.clip(np.ceil(np.log2(16 * n_answers + 1)), 10, 22))
    nothing = np.full(slots, -1, np.int64)
    return Memory(nothing, np.zeros(slots, np.uint8), nothing.copy(), np.zeros(slots))


@kernel
def judge_pair(lexicon: Lexicon, limits: Limits, memory: Memory, first: int, second: int) -> int:
    """Say which filter keeps two answers apart, or that they are fine."""
    first, second = min(first, second), max(first, second)
    pair = np.int64(first) * len(lexicon.kinds) + second
    slot = _slot(pair, len(memory.pairs))
    if memory.pairs[slot] != pair:
        memory.pairs[slot] = pair
        memory.codes[slot] = _judge(lexicon, limits, memory, first, second)
    return int(memory.codes[slot])


@kernel
def _slot(pair: Integer, slots: int) -> int:
    """Scatter neighbouring pairs over a power of two."""
    return ((pair ^ (pair >> 23)) * 2654435761 & 0x7FFFFFFFFFFF) >> 7 & (slots - 1)


@kernel
def _judge(lexicon: Lexicon, limits: Limits, memory: Memory, first: int, second: int) -> int:
    one, two = lexicon.kinds[first], lexicon.kinds[second]
    if limits.guards and one == NUMBER and two == NUMBER:
        return AMOUNT if lexicon.values[first] == lexicon.values[second] else FINE
    if _contained(lexicon.one, first, second) or _contained(lexicon.two, first, second):
        return CONTAINS
    if answer_similarity(lexicon, memory, first, second) > limits.threshold:
        return SIMILAR
    return _guard(lexicon, limits, first, second) if limits.guards else FINE


@kernel
def _guard(lexicon: Lexicon, limits: Limits, first: int, second: int) -> int:
    """Apply the filters beyond the paper."""
    one, two = lexicon.kinds[first], lexicon.kinds[second]
    if lexicon.vectors.shape[1] and _cosine(lexicon.vectors, first, second) >= limits.alike:
        return ALIKE
    polar = (one in (YES, NO)) + (two in (YES, NO))
    if polar == 1 or (polar == 2 and one == two):
        return POLAR
    return AMOUNT if VAGUE in (one, two) and NUMBER in (one, two) else FINE


@kernel
def _contained(lists: Lists, first: int, second: int) -> bool:
    """Look for either list inside the other; an empty one is inside every other."""
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
def answer_similarity(lexicon: Lexicon, memory: Memory, first: int, second: int) -> float:
    """Take the greater of the two products of maxima."""
    words = lexicon.words
    a, a_end, b, b_end = words.starts[first], words.starts[first + 1], words.starts[second], words.starts[second + 1]
    if a == a_end or b == b_end:
        return 0.0
    best = np.zeros(b_end - b)
    rows, columns = 1.0, 1.0
    for i in range(a, a_end):
        row = 0.0
        for j in range(b, b_end):
            value = _word_similarity(lexicon, memory, words.items[i], words.items[j])
            row = max(row, value)
            best[j - b] = max(best[j - b], value)
        rows *= row
    for value in best:
        columns *= value
    return max(rows, columns)


@kernel
def _word_similarity(lexicon: Lexicon, memory: Memory, first: int, second: int) -> float:
    pair = np.int64(first) * len(lexicon.senses.starts) + second
    slot = _slot(pair, len(memory.word_pairs))
    if memory.word_pairs[slot] != pair:
        memory.word_pairs[slot] = pair
        memory.similarities[slot] = word_similarity(lexicon.ladder, lexicon.senses, first, second)
    return float(memory.similarities[slot])


@kernel
def _cosine(vectors: NDArray[np.float32], first: int, second: int) -> float:
    total = 0.0
    for at in range(vectors.shape[1]):
        total += vectors[first, at] * vectors[second, at]
    return total
