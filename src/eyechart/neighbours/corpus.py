"""Vectors learned from the texts themselves: positive pointwise mutual information, reduced by singular values.

M(v, w) = max(0, log(n(v, w) N / (n(v) n(w)))) over N texts, where n counts the texts that hold a word or both of two;
M ~ U S V', and the vector of word w is row w of U S^(1/2) (Levy, Goldberg and Dagan 2015). A frequent word shares
little information with any other, so its vector is short and hardly moves the mean of a text.
"""

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from eyechart.neighbours.vectors import WordVectors, count_words

DIMENSIONS = 100
MOST_WORDS = 30_000


def learn_vectors(words: pl.Series) -> WordVectors:
    """Learn a vector for each of the most frequent words; ties are settled by the alphabet."""
    known = _vocabulary(words)
    if known.is_empty():
        return WordVectors(known, np.zeros((0, 1), np.float32))
    from sklearn.utils.extmath import randomized_svd

    shared = _information(count_words(words, known))
    left, sizes, _ = randomized_svd(shared, min(DIMENSIONS, len(known)), n_iter=3, random_state=0)
    return WordVectors(known, (left * np.sqrt(sizes)).astype(np.float32))


def _vocabulary(words: pl.Series) -> pl.Series:
    """List the words that most texts hold, in the order of the alphabet."""
    each = words.to_frame("word").explode("word", empty_as_null=False, keep_nulls=False)
    counts = each["word"].value_counts(name="n").sort("n", "word", descending=[True, False])
    return counts.head(MOST_WORDS)["word"].sort()


def _information(counts: csr_array) -> csr_array:
    """Weigh how often words share a text against how often they would by chance."""
    held = csr_array((np.ones(counts.nnz, np.float32), counts.indices, counts.indptr), shape=counts.shape)
    together = csr_array(held.T @ held).tocoo()
    alone = together.diagonal()
    rows, columns = together.coords
    information = np.log(together.data * held.shape[0] / (alone[rows] * alone[columns]))
    positive = information > 0
    values = information[positive].astype(np.float32)
    return csr_array((values, (rows[positive], columns[positive])), shape=together.shape)
