"""Word vectors to start from: a text file with a word and its numbers a line, as GloVe's, or word2vec's with a head."""

import gzip
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import torch
from torch import nn

from eyechart.errors import FileFormatError
from eyechart.files import damaged, missing
from eyechart.zoo.arrays import Array


class WordVectors(NamedTuple):
    """The vectors of the words of a vocabulary that a file knows."""

    places: Array  # [n] in the vocabulary
    values: Array  # [n, E]


def read_word_vectors(file: Path, words: tuple[str, ...]) -> WordVectors:
    """Read the vectors of some words, line by line."""
    if not file.is_file():
        raise missing(file)
    wanted = {word: at for at, word in enumerate(words)}
    found: dict[int, list[str]] = {}
    try:
        with _open(file) as lines:
            for line in lines:
                word, _, numbers = line.rstrip().partition(" ")
                if word in wanted and len(numbers.split()) > 1:
                    found[wanted[word]] = numbers.split()
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise damaged(file, str(error)) from None
    if len({len(numbers) for numbers in found.values()}) != 1:
        told = "none of the words" if not found else "lines of different lengths"
        raise FileFormatError(f"a word and its numbers a line in {file}", told, "give vectors in the form of GloVe")
    try:
        return WordVectors(np.array(list(found)), np.array(list(found.values()), np.float32))
    except ValueError as error:
        raise FileFormatError(f"a word and its numbers a line in {file}", str(error), "check the file") from None


def put_in(whole: nn.Module, vectors: WordVectors) -> None:
    """Start the words that are known from their vectors wherever words are looked up; others keep what was drawn."""
    for part in whole.modules():
        looked_up = getattr(part, "embedding", None)
        if not isinstance(looked_up, nn.Embedding):
            continue
        if looked_up.weight.shape[1] != vectors.values.shape[1]:
            found = f"{vectors.values.shape[1]} numbers a word"
            expected = f"word vectors of {looked_up.weight.shape[1]} numbers for this network"
            raise FileFormatError(expected, found, "leave --words out, or give others")
        with torch.no_grad():
            looked_up.weight[torch.from_numpy(vectors.places)] = torch.from_numpy(vectors.values)


def _open(file: Path) -> IO[str]:
    return gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8")
