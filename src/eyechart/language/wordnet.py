"""Look up nouns and adjectives in WordNet 3.0, and compute the similarity of words from them.

The senses of a word are found with NLTK's morphology, and the ancestors of a sense by WordNet's hypernyms. The data
are shipped with the package under WordNet's own licence (LICENSE.wordnet); tools/build_taxonomy.py builds them.

The similarity is that of Wu and Palmer (1994), exactly as in NLTK's `wup_similarity`:

    wup(a, b) = 2 depth(s) / (depth(s) + d(a, s) + depth(s) + d(b, s))

s is the common ancestor whose shortest path to the root is the longest; of several, a itself, else the first by name.
depth(s) counts the nodes of the longest path from s to the root, and d(a, s) is the length of the shortest path between
a and s, which may pass through another common ancestor. Adjectives have no ancestors: with one, a root is put above
everything, so two different adjectives always have 0.5. A noun whose shortest path to the root bypasses some of its
ancestors has a similarity below 1 to itself, because one of them is chosen as s.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.base.kernels import kernel

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Suffixes = tuple[tuple[str, str], ...]

_FILE = Path(__file__).parent / "taxonomy.npz"

NOUN_SUFFIXES = (
    ("s", ""),
    ("ses", "s"),
    ("ves", "f"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
)
ADJECTIVE_SUFFIXES = (("er", ""), ("est", ""), ("er", "e"), ("est", "e"))


class Hypernyms(NamedTuple):
    """The ancestors of each noun, including itself, in the order of their numbers, and the shortest path to each."""

    starts: Int64s
    ancestors: Int32s
    distances: Bytes
    min_depths: Bytes  # steps from the noun to the root along the shortest path
    max_depths: Bytes  # and along the longest path
    climbs: Bytes  # steps to a root above all: one more than to the farthest ancestor

    @classmethod
    def climb(cls, starts: Int64s, hypernyms: Int32s, min_depths: Bytes, max_depths: Bytes) -> Self:
        """Walk up from all nouns at once, step by step; the first path to reach an ancestor is the shortest."""
        n = len(starts) - 1
        noun, ancestor = np.arange(n, dtype=np.int64), np.arange(n, dtype=np.int64)
        steps = [noun * n + ancestor]
        while len(noun):
            widths = starts[ancestor + 1] - starts[ancestor]
            ends = np.cumsum(widths)
            indices = np.arange(widths.sum()) - np.repeat(ends - widths, widths) + np.repeat(starts[ancestor], widths)
            noun, ancestor = np.repeat(noun, widths), hypernyms[indices].astype(np.int64)
            steps.append(noun * n + ancestor)
        distances = np.repeat(np.arange(len(steps)), [len(step) for step in steps])
        keys, first = np.unique(np.concatenate(steps), return_index=True)
        begins = np.searchsorted(keys, np.arange(n + 1) * n)
        shortest = distances[first].astype(np.uint8)
        climbs = np.maximum.reduceat(shortest, begins[:-1]) + np.uint8(1)
        return cls(begins, (keys % n).astype(np.int32), shortest, min_depths, max_depths, climbs)


def base_forms(words: pl.Series, suffixes: Suffixes, exceptions: pl.DataFrame) -> pl.DataFrame:
    """List the possible base forms of each distinct lower-case word, as NLTK does; columns word, base.

    They are the word itself, and its base form from the list of irregular ones (`exceptions`: word, base), else by
    suffixes, whether or not such a word exists.
    """
    table = words.to_frame("word")
    irregular = table.join(exceptions, on="word", how="inner")
    regular = table.join(exceptions, on="word", how="anti")
    stripped = [_replace_suffix(regular, old, new) for old, new in suffixes]
    return pl.concat([table.with_columns(base="word"), irregular, *stripped]).unique()


def _replace_suffix(table: pl.DataFrame, old: str, new: str) -> pl.DataFrame:
    ending = table.filter(pl.col("word").str.ends_with(old))
    return ending.with_columns((pl.col("word").str.head(-len(old)) + new).alias("base"))


class Senses(NamedTuple):
    """The senses of a list of words, word by word; senses from the number of nouns upwards are adjectives."""

    starts: Int64s
    senses: Int32s


class PartOfSpeech(NamedTuple):
    """The tables for looking up words of one part of speech."""

    lemmas: pl.DataFrame  # base, sense
    suffixes: Suffixes
    exceptions: pl.DataFrame  # word, base


class Taxonomy(NamedTuple):
    """The nouns and adjectives of WordNet 3.0."""

    hypernyms: Hypernyms
    nouns: PartOfSpeech
    adjectives: PartOfSpeech

    @classmethod
    @cache
    def load(cls) -> Self:
        """Read the shipped file, once per process: about half a second."""
        with np.load(_FILE, allow_pickle=False) as arrays:
            stored = dict(arrays)
        words = pl.Series("base", _lines(stored["words"]), pl.String)
        starts = _starts(stored["hypernyms_lengths"])
        hypernyms = Hypernyms.climb(starts, stored["hypernyms"], stored["min_depths"], stored["max_depths"])
        n_nouns = len(starts) - 1
        nouns = _lemmas(words, stored["nouns_lengths"], stored["nouns"])
        adjectives = _lemmas(words, stored["adjectives_lengths"], stored["adjectives"] + np.int32(n_nouns))
        return cls(
            hypernyms,
            PartOfSpeech(nouns, NOUN_SUFFIXES, _exceptions(stored["noun_exceptions"])),
            PartOfSpeech(adjectives, ADJECTIVE_SUFFIXES, _exceptions(stored["adjective_exceptions"])),
        )

    def senses(self, words: pl.Series) -> Senses:
        """Look up the noun and adjective senses of words with NLTK's morphology; an unknown word has none."""
        lowered = words.cast(pl.String).fill_null("").str.to_lowercase()
        distinct = lowered.unique().alias("word")
        known = pl.concat([_look_up(distinct, part) for part in (self.nouns, self.adjectives)]).unique()
        rows = lowered.to_frame("word").with_row_index("row")
        long = rows.join(known, on="word", how="inner").sort("row", "sense")
        sizes = np.bincount(long["row"].to_numpy(), minlength=len(words))
        return Senses(_starts(sizes), long["sense"].to_numpy().astype(np.int32))


def _look_up(words: pl.Series, part: PartOfSpeech) -> pl.DataFrame:
    forms = base_forms(words, part.suffixes, part.exceptions)
    return forms.join(part.lemmas, on="base", how="inner").select("word", "sense")


def _lemmas(words: pl.Series, lengths: NDArray[np.uint8], senses: Int32s) -> pl.DataFrame:
    rows = np.repeat(np.arange(len(words)), lengths)
    return pl.DataFrame({"base": words.gather(rows), "sense": senses})


def _exceptions(stored: NDArray[np.uint8]) -> pl.DataFrame:
    fields = pl.Series("fields", _lines(stored), pl.String).str.split(" ")
    table = fields.to_frame().select(word=pl.col("fields").list.first(), base=pl.col("fields").list.slice(1))
    return table.explode("base", empty_as_null=False, keep_nulls=False)


def _lines(stored: NDArray[np.uint8]) -> list[str]:
    return stored.tobytes().decode().split("\n")


def _starts(lengths: NDArray[np.integer]) -> Int64s:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


@kernel
def word_similarity(hypernyms: Hypernyms, senses: Senses, first: int, second: int) -> float:
    """Compute the highest similarity over all pairs of senses."""
    best = 0.0
    for i in range(senses.starts[first], senses.starts[first + 1]):
        for j in range(senses.starts[second], senses.starts[second + 1]):
            best = max(best, sense_similarity(hypernyms, senses.senses[i], senses.senses[j]))
            if best == 1.0:
                return best
    return best


@kernel
def sense_similarity(hypernyms: Hypernyms, first: int, second: int) -> float:
    """Compare two senses."""
    n_nouns = len(hypernyms.min_depths)
    if first >= n_nouns and first == second:
        return 1.0
    if first >= n_nouns or second >= n_nouns:
        ways = 1 if first >= n_nouns else hypernyms.climbs[first]
        ways += 1 if second >= n_nouns else hypernyms.climbs[second]
        return 2.0 / (2.0 + ways)
    subsumer = _subsumer(hypernyms, first, second)
    depth = hypernyms.max_depths[subsumer] + 1
    ways = _distance(hypernyms, first, subsumer) + _distance(hypernyms, second, subsumer)
    return float(2.0 * depth / (2 * depth + ways))


@kernel
def _subsumer(hypernyms: Hypernyms, first: int, second: int) -> int:
    """Find the lowest common ancestor by the shortest path to the root, breaking ties as NLTK does."""
    i, j = hypernyms.starts[first], hypernyms.starts[second]
    best, depth = -1, -1
    while i < hypernyms.starts[first + 1] and j < hypernyms.starts[second + 1]:
        left, right = hypernyms.ancestors[i], hypernyms.ancestors[j]
        if left == right:
            min_depths = hypernyms.min_depths[left]
            if min_depths > depth or (min_depths == depth and left == first):
                best, depth = left, min_depths
        i += left <= right
        j += right <= left
    return best


@kernel
def _distance(hypernyms: Hypernyms, first: int, second: int) -> int:
    """Find the length of the shortest path between two nouns through a common ancestor."""
    i, j = hypernyms.starts[first], hypernyms.starts[second]
    best = 255
    while i < hypernyms.starts[first + 1] and j < hypernyms.starts[second + 1]:
        left, right = hypernyms.ancestors[i], hypernyms.ancestors[j]
        if left == right:
            best = min(best, hypernyms.distances[i] + hypernyms.distances[j])
        i += left <= right
        j += right <= left
    return best
