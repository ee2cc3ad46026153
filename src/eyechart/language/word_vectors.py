"""Read word vectors from files of word2vec (text or binary) and GloVe (text without a header), plain or gzipped."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.base.errors import FileFormatError

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
