"""Read word vectors from files of word2vec (text or binary) and GloVe, plain or gzipped, and represent texts by them.

A text is the mean of its words' vectors, or the output of a sentence encoder, as a unit vector. Word vectors come from
a file, or are learned from the texts themselves by positive pointwise mutual information, reduced by singular values:
M(v, w) = max(0, log(n(v, w) N / (n(v) n(w)))) over N texts, where n counts the texts that contain a word, or both;
M ~ U S V', and the vector of word w is row w of U S^(1/2) (Levy, Goldberg and Dagan 2015). A frequent word shares
little information with any other, so its vector is short and hardly moves the mean of a text.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from eyechart.base.errors import FileFormatError, MissingExtraError

Vectors = NDArray[np.float32]


class WordVectors(NamedTuple):
    """Distinct words, and a row of the matrix for each."""

    words: pl.Series
    matrix: Vectors


def read_word_vectors(path: Path, wanted: pl.Series) -> WordVectors:
    """Read the vectors of the wanted words only, since a whole file may be larger than memory.

    The result has the words found in the file, sorted; if a word occurs twice, the last vector counts.
    """
    if not path.is_file():
        advice = "give the path of a word2vec or GloVe file, or 'corpus'"
        raise FileFormatError(f"word vectors at {path}", "no such file", advice)
    try:
        vectors = dict(_read_entries(path, {word.encode() for word in wanted.drop_nulls()}))
    except (ValueError, EOFError, OSError) as error:
        advice = "check that it is complete, and in the text or binary format of word2vec or GloVe"
        raise FileFormatError(f"word vectors in {path}", str(error), advice) from None
    words = sorted(vectors)
    matrix = np.stack([vectors[word] for word in words]) if words else np.zeros((0, 1), np.float32)
    return WordVectors(pl.Series("word", [word.decode() for word in words], pl.String), matrix)


def _read_entries(path: Path, wanted: set[bytes]) -> Iterator[tuple[bytes, Vectors]]:
    with _open(path) as file:
        first = file.readline()
        header = _read_header(first)
        binary = header is not None and _is_binary(path, len(first))
    with _open(path) as file:
        if header is None:
            yield from _read_text(file, len(first.split()) - 1, wanted)
            return
        file.readline()
        yield from _read_binary(file, *header, wanted) if binary else _read_text(file, header[1], wanted)


def _open(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _read_header(line: bytes) -> tuple[int, int] | None:
    """Read the numbers of words and dimensions; GloVe files have no such line."""
    fields = line.split()
    return (int(fields[0]), int(fields[1])) if len(fields) == 2 and all(map(bytes.isdigit, fields)) else None


def _is_binary(path: Path, start: int) -> bool:
    """Return whether floats are stored as bytes: text has only digits, signs and blanks after the first word."""
    with _open(path) as file:
        file.seek(start)
        _, _, numbers = file.read(400).partition(b" ")
    return bool(set(numbers.split(b"\n")[0][:40]) - set(b"0123456789.+-eE \r"))


def _read_text(file: IO[bytes], size: int, wanted: set[bytes]) -> Iterator[tuple[bytes, Vectors]]:
    for number, line in enumerate(file, 1):
        word, _, numbers = line.rstrip().partition(b" ")
        if word in wanted:
            vector = np.array(numbers.split(), np.float32)
            if len(vector) != size:
                raise ValueError(f"{len(vector)} numbers where {size} were expected, in vector {number}")
            yield word, vector


def _read_binary(file: IO[bytes], n_words: int, size: int, wanted: set[bytes]) -> Iterator[tuple[bytes, Vectors]]:
    for number in range(1, n_words + 1):
        word = _read_word(file)
        data = file.read(4 * size)
        if len(data) < 4 * size:
            raise EOFError(f"the file ends within vector {number} of {n_words}")
        if word in wanted:
            yield word, np.frombuffer(data, "<f4")


def _read_word(file: IO[bytes]) -> bytes:
    """Read up to a blank; a line end before the word belongs to the previous vector."""
    letters = bytearray()
    while (letter := file.read(1)) not in {b" ", b""}:
        letters += letter
    return bytes(letters.lstrip(b"\n"))


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
