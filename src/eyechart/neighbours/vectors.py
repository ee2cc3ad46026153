"""Texts as unit vectors: the mean of their words' vectors, or whatever a sentence encoder says."""

from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from eyechart.errors import MissingExtraError

CORPUS, SENTENCE = "corpus", "sentence:"

Vectors = NDArray[np.float32]


class WordVectors(NamedTuple):
    """Distinct words and a row for each."""

    words: pl.Series
    matrix: Vectors


def make_vectors(words: pl.Series, how: str) -> Vectors:
    """Turn texts, given as lists of words, into unit vectors; a text without a known word has the zero vector.

    `how` is "corpus" (learn from these texts), "sentence:NAME" (a model of sentence-transformers), or the path of a
    file of word2vec or GloVe vectors.
    """
    if how.startswith(SENTENCE):
        return _encode_sentences(words, how.removeprefix(SENTENCE))
    return mean_vectors(words, word_vectors(words, how))


def word_vectors(words: pl.Series, how: str) -> WordVectors:
    """Learn the vectors of the words that occur, or read them from a file."""
    if how == CORPUS:
        from eyechart.neighbours.corpus import learn_vectors

        return learn_vectors(words)
    from eyechart.neighbours.word_files import read_word_vectors

    return read_word_vectors(Path(how), words.explode(empty_as_null=False, keep_nulls=False).unique())


def mean_vectors(words: pl.Series, known: WordVectors) -> Vectors:
    """Average the vectors of the known words of each text, repeats included, and scale to length one."""
    sums: Vectors = count_words(words, known.words).astype(np.float32) @ known.matrix
    return unit(sums)


def count_words(words: pl.Series, known: pl.Series) -> csr_array:
    """Count each known word in each text: a sparse matrix with a row for each text."""
    numbers = pl.DataFrame({"word": known, "number": np.arange(len(known), dtype=np.int32)})
    rows = pl.DataFrame({"row": np.arange(len(words), dtype=np.int32), "word": words})
    long = rows.explode("word", empty_as_null=False, keep_nulls=False).join(numbers, on="word", how="inner")
    counted = long.group_by("row", "number").agg(pl.len().cast(pl.Int32).alias("n")).sort("row", "number")
    places = (counted["row"].to_numpy(), counted["number"].to_numpy())
    return csr_array((counted["n"].to_numpy(), places), shape=(len(words), len(known)))


def unit(rows: Vectors) -> Vectors:
    """Scale each row to length one; a row of zeros stays."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Vectors = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return scaled


def _encode_sentences(words: pl.Series, name: str) -> Vectors:
    try:
        from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        advice = "pip install sentence-transformers, or choose other vectors"
        raise MissingExtraError("the library sentence-transformers", "none", advice) from None
    texts = words.list.join(" ").to_list()
    return unit(cast("Vectors", np.asarray(SentenceTransformer(name).encode(texts), np.float32)))
