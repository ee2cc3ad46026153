"""The taxonomy in memory: which senses a word has, and what they are kinds of."""

from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.wordnet.ancestors import Int32s, Int64s, Ladder, climb
from eyechart.wordnet.morphology import ADJECTIVE_SUFFIXES, NOUN_SUFFIXES, Suffixes, base_forms

_FILE = Path(__file__).parent / "taxonomy.npz"


class Senses(NamedTuple):
    """The senses of a list of words, one word after the other; from the number of nouns on they are adjectives."""

    starts: Int64s
    senses: Int32s


class Kind(NamedTuple):
    """How words of one part of speech are looked up."""

    lemmas: pl.DataFrame  # base, sense
    suffixes: Suffixes
    exceptions: pl.DataFrame  # word, base


class Taxonomy(NamedTuple):
    """The nouns and adjectives of WordNet 3.0."""

    ladder: Ladder
    nouns: Kind
    adjectives: Kind

    @classmethod
    @cache
    def load(cls) -> Self:
        """Read the shipped file, once a process: about half a second."""
        with np.load(_FILE, allow_pickle=False) as arrays:
            stored = dict(arrays)
        words = pl.Series("base", _lines(stored["words"]), pl.String)
        hypernyms = _starts(stored["hypernyms_lengths"])
        ladder = climb(hypernyms, stored["hypernyms"], stored["min_depths"], stored["max_depths"])
        n_nouns = len(hypernyms) - 1
        nouns = _lemmas(words, stored["nouns_lengths"], stored["nouns"])
        adjectives = _lemmas(words, stored["adjectives_lengths"], stored["adjectives"] + np.int32(n_nouns))
        return cls(
            ladder,
            Kind(nouns, NOUN_SUFFIXES, _exceptions(stored["noun_exceptions"])),
            Kind(adjectives, ADJECTIVE_SUFFIXES, _exceptions(stored["adjective_exceptions"])),
        )

    def senses(self, words: pl.Series) -> Senses:
        """Look up the noun and adjective senses of words, after NLTK's morphology; an unknown word has none."""
        lowered = words.cast(pl.String).fill_null("").str.to_lowercase()
        distinct = lowered.unique().alias("word")
        found = pl.concat([_look_up(distinct, kind) for kind in (self.nouns, self.adjectives)]).unique()
        places = lowered.to_frame("word").with_row_index("row")
        long = places.join(found, on="word", how="inner").sort("row", "sense")
        sizes = np.bincount(long["row"].to_numpy(), minlength=len(words))
        return Senses(_starts(sizes), long["sense"].to_numpy().astype(np.int32))


def _look_up(words: pl.Series, kind: Kind) -> pl.DataFrame:
    forms = base_forms(words, kind.suffixes, kind.exceptions)
    return forms.join(kind.lemmas, on="base", how="inner").select("word", "sense")


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
