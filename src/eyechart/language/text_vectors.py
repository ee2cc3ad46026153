"""Represent texts as unit vectors: the mean of their words' vectors, or the output of a sentence encoder.

Word vectors come from a file, or are learned from the texts themselves by positive pointwise mutual information,
reduced by singular values: M(v, w) = max(0, log(n(v, w) N / (n(v) n(w)))) over N texts, where n counts the texts
that contain a word, or both; M ~ U S V', and the vector of word w is row w of U S^(1/2) (Levy, Goldberg and Dagan
2015). A frequent word shares little information with any other, so its vector is short and hardly moves the mean of a
text.
"""

from pathlib import Path
from typing import cast

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from eyechart.base.errors import MissingExtraError
from eyechart.language.word_vectors import Vectors, WordVectors, read_word_vectors

CORPUS, SENTENCE = "corpus", "sentence:"

DIMENSIONS = 100  # dimensions of learned vectors
MOST_WORDS = 30_000  # words that vectors are learned for


def make_vectors(words: pl.Series, how: str) -> Vectors:
    """Convert texts, given as lists of words, to unit vectors; a text without a known word has the zero vector.

    `how` is "corpus" (learn from these texts), "sentence:NAME" (a model of sentence-transformers), or the path of a
    file of word2vec or GloVe vectors.
    """
    if how.startswith(SENTENCE):
        return _encode_sentences(words, how.removeprefix(SENTENCE))
    return mean_vectors(words, word_vectors(words, how))


def word_vectors(words: pl.Series, how: str) -> WordVectors:
    """Learn the vectors of the words that occur, or read them from a file."""
    if how == CORPUS:
        return learn_vectors(words)
    return read_word_vectors(Path(how), words.explode(empty_as_null=False, keep_nulls=False).unique())


def mean_vectors(words: pl.Series, known: WordVectors) -> Vectors:
    """Average the vectors of the known words of each text, repeats included, and scale to length one."""
    sums: Vectors = count_words(words, known.words).astype(np.float32) @ known.matrix
    return unit(sums)


def count_words(words: pl.Series, known: pl.Series) -> csr_array:
    """Count each known word in each text, as a sparse matrix with a row for each text."""
    numbers = pl.DataFrame({"word": known, "number": np.arange(len(known), dtype=np.int32)})
    rows = pl.DataFrame({"row": np.arange(len(words), dtype=np.int32), "word": words})
    long = rows.explode("word", empty_as_null=False, keep_nulls=False).join(numbers, on="word", how="inner")
    counted = long.group_by("row", "number").agg(pl.len().cast(pl.Int32).alias("n")).sort("row", "number")
    coordinates = (counted["row"].to_numpy(), counted["number"].to_numpy())
    return csr_array((counted["n"].to_numpy(), coordinates), shape=(len(words), len(known)))


def unit(rows: Vectors) -> Vectors:
    """Scale each row to length one; a row of zeros is unchanged."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Vectors = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return scaled


def learn_vectors(words: pl.Series) -> WordVectors:
    """Learn a vector for each of the most frequent words; ties are broken alphabetically."""
    known = _most_frequent(words)
    if known.is_empty():
        return WordVectors(known, np.zeros((0, 1), np.float32))
    from sklearn.utils.extmath import randomized_svd

    information = _mutual_information(count_words(words, known))
    left, sizes, _ = randomized_svd(information, min(DIMENSIONS, len(known)), n_iter=3, random_state=0)
    return WordVectors(known, (left * np.sqrt(sizes)).astype(np.float32))


def _most_frequent(words: pl.Series) -> pl.Series:
    """List the words that occur in most texts, in alphabetical order."""
    each = words.to_frame("word").explode("word", empty_as_null=False, keep_nulls=False)
    counts = each["word"].value_counts(name="n").sort("n", "word", descending=[True, False])
    return counts.head(MOST_WORDS)["word"].sort()


def _mutual_information(counts: csr_array) -> csr_array:
    """Compute the positive pointwise mutual information of all pairs of words that share a text."""
    occurrences = csr_array((np.ones(counts.nnz, np.float32), counts.indices, counts.indptr), shape=counts.shape)
    together = csr_array(occurrences.T @ occurrences).tocoo()
    alone = together.diagonal()
    rows, columns = together.coords
    information = np.log(together.data * occurrences.shape[0] / (alone[rows] * alone[columns]))
    positive = information > 0
    values = information[positive].astype(np.float32)
    return csr_array((values, (rows[positive], columns[positive])), shape=together.shape)


def _encode_sentences(words: pl.Series, name: str) -> Vectors:
    try:
        from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        advice = "pip install sentence-transformers, or choose other vectors"
        raise MissingExtraError("the library sentence-transformers", "none", advice) from None
    texts = words.list.join(" ").to_list()
    return unit(cast("Vectors", np.asarray(SentenceTransformer(name).encode(texts), np.float32)))
