"""Word vectors in the files of word2vec (text or binary) and GloVe (text without a first line), plain or gzipped."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np
import polars as pl

from eyechart.errors import FileFormatError
from eyechart.neighbours.vectors import Vectors, WordVectors


class Entry(NamedTuple):
    """One word of a file."""

    word: bytes
    vector: Vectors


class Header(NamedTuple):
    """What the first line of a word2vec file says."""

    words: int
    size: int


def read_word_vectors(path: Path, wanted: pl.Series) -> WordVectors:
    """Read the vectors of the wanted words and no others: whole files may be larger than memory."""
    if not path.is_file():
        advice = "give the path of a word2vec or GloVe file, or 'corpus'"
        raise FileFormatError(f"word vectors at {path}", "no such file", advice)
    words = {word.encode() for word in wanted.drop_nulls()}
    try:
        found = {entry.word: entry.vector for entry in _entries(path, words)}
    except (ValueError, EOFError, OSError) as error:
        advice = "check that it is complete, and text or binary as word2vec and GloVe write it"
        raise FileFormatError(f"word vectors in {path}", str(error), advice) from None
    names = sorted(found)
    matrix = np.stack([found[name] for name in names]) if names else np.zeros((0, 1), np.float32)
    return WordVectors(pl.Series("word", [name.decode() for name in names], pl.String), matrix)


def _entries(path: Path, wanted: set[bytes]) -> Iterator[Entry]:
    with _open(path) as file:
        first = file.readline()
        header = _read_header(first)
        binary = header is not None and _is_binary(path, len(first))
    with _open(path) as file:
        if header is None:
            yield from _read_text(file, len(first.split()) - 1, wanted)
            return
        file.readline()
        yield from _read_binary(file, header, wanted) if binary else _read_text(file, header.size, wanted)


def _open(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _read_header(line: bytes) -> Header | None:
    """Read the numbers of words and dimensions; GloVe files have no such line."""
    fields = line.split()
    return Header(*map(int, fields)) if len(fields) == 2 and all(map(bytes.isdigit, fields)) else None


def _is_binary(path: Path, at: int) -> bool:
    """Tell floats as bytes from floats as text: text has digits, signs and blanks only after the first word."""
    with _open(path) as file:
        file.seek(at)
        _, _, numbers = file.read(400).partition(b" ")
    return bool(set(numbers.split(b"\n")[0][:40]) - set(b"0123456789.+-eE \r"))


def _read_text(file: IO[bytes], size: int, wanted: set[bytes]) -> Iterator[Entry]:
    for number, line in enumerate(file, 1):
        word, _, numbers = line.rstrip().partition(b" ")
        if word in wanted:
            vector = np.array(numbers.split(), np.float32)
            if len(vector) != size:
                raise ValueError(f"{len(vector)} numbers where {size} were expected, in vector {number}")
            yield Entry(word, vector)


def _read_binary(file: IO[bytes], header: Header, wanted: set[bytes]) -> Iterator[Entry]:
    for number in range(1, header.words + 1):
        word = _read_word(file)
        data = file.read(4 * header.size)
        if len(data) < 4 * header.size:
            raise EOFError(f"the file ends within vector {number} of {header.words}")
        if word in wanted:
            yield Entry(word, np.frombuffer(data, "<f4"))


def _read_word(file: IO[bytes]) -> bytes:
    """Read up to a blank; a line end before the word is the end of the last vector."""
    letters = bytearray()
    while (letter := file.read(1)) not in {b" ", b""}:
        letters += letter
    return bytes(letters.lstrip(b"\n"))
