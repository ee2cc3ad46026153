"""Texts as numbers: numbered texts, lists of numbers for kernels, and what two texts have in common.

Distinct texts are few and options many, so each text is split once: its runs of three letters or its words become a
sorted list of numbers, and the options of all examples are compared by walking along two such lists at a time.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.base.kernels import inner_kernel, kernel
from eyechart.language.answers import number
from eyechart.language.questions import blocks, question_words

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
RUN = 3  # letters
BITS = 21  # of a code point, so that a run is one number


class Ragged(NamedTuple):
    """Lists of numbers stored end to end: list i is at starts[i] up to starts[i + 1]."""

    starts: Int64s
    items: NDArray[Any]  # Int32s or Int64s

    @property
    def sizes(self) -> Int64s:
        """Count the items of each list."""
        return np.diff(self.starts)


def starts_of(lengths: NDArray[np.integer]) -> Int64s:
    """Compute where lists of these lengths start, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def number_words(words: pl.Series) -> Ragged:
    """Replace each text of the lists by its rank in alphabetical order."""
    long = words.explode(empty_as_null=False, keep_nulls=False)
    known = long.unique().sort()
    starts = starts_of(words.list.len().fill_null(0).to_numpy())
    return Ragged(starts, known.search_sorted(long).to_numpy().astype(np.int32))


def number_bytes(texts: pl.Series) -> Ragged:
    """Convert each text to the list of its bytes."""
    data = np.frombuffer(str(texts.str.join("").item()).encode(), np.uint8)
    return Ragged(starts_of(texts.str.len_bytes().to_numpy()), data.astype(np.int32))


def group(keys: NDArray[np.integer], items: NDArray[np.integer], n: int) -> Ragged:
    """Group items by their keys 0 to n - 1, which are sorted."""
    return Ragged(starts_of(np.bincount(keys, minlength=n)), items.astype(np.int32))


def code_texts(texts: pl.Series) -> tuple[pl.Series, Int32s]:
    """Return the distinct texts in order, and the number of each given text among them."""
    different = texts.unique().sort()
    return different, number(texts, different).to_numpy()


def runs_of(texts: pl.Series) -> Ragged:
    """Find the runs of three letters of each lower-cased text between two spaces; a null has none."""
    return _concatenate(_runs(texts[part]) for part in blocks(len(texts)))


def words_of(texts: pl.Series, known: pl.Series) -> Ragged:
    """Find which of the distinct known words are in each text."""
    return _concatenate(_words(texts[part], known) for part in blocks(len(texts)))


def known_words(texts: pl.Series) -> pl.Series:
    """List the distinct words of texts."""
    return pl.concat([_long_words(texts[part])["text"].unique() for part in blocks(len(texts))]).unique().sort()


@kernel
def shared_with_others(runs: Ragged, codes: Int32s, starts: Int64s) -> Int64s:
    """Sum over the runs of each option the number of other options of its example with the same run."""
    shared = np.zeros(len(codes), np.int64)
    for example in range(len(starts) - 1):
        for one in range(starts[example], starts[example + 1]):
            for other in range(one + 1, starts[example + 1]):
                n = _count_common(runs, codes[one], runs, codes[other])
                shared[one] += n
                shared[other] += n
    return shared


@kernel
def shared_with_question(words: Ragged, codes: Int32s, asked: Ragged, questions: Int32s) -> Int64s:
    """Count the distinct words that each option shares with its question."""
    shared = np.zeros(len(codes), np.int64)
    for i in range(len(codes)):
        shared[i] = _count_common(words, codes[i], asked, questions[i])
    return shared


@inner_kernel
def _count_common(lists: Ragged, one: int, others: Ragged, other: int) -> int:
    """Count the common items of two sorted lists without repeats."""
    i, j, n = lists.starts[one], others.starts[other], 0
    while i < lists.starts[one + 1] and j < others.starts[other + 1]:
        left, right = lists.items[i], others.items[j]
        n += left == right
        i += left <= right
        j += right <= left
    return n


def _runs(texts: pl.Series) -> Ragged:
    padded = (" " + texts.str.to_lowercase() + " ").fill_null("")
    letters = np.frombuffer(str(padded.str.join("").item()).encode("utf-32-le"), np.uint32).astype(np.int64)
    ends = starts_of(padded.str.len_chars().to_numpy())
    owner = np.repeat(np.arange(len(texts)), np.diff(ends))
    # The last two letters of a text start no run of its own.
    first = np.flatnonzero(np.arange(len(letters)) + RUN <= ends[owner + 1])
    run = (letters[first] << 2 * BITS) | (letters[first + 1] << BITS) | letters[first + 2]
    return _sorted_lists(owner[first], run, len(texts))


def _words(texts: pl.Series, known: pl.Series) -> Ragged:
    long = _long_words(texts)
    numbered = long.with_columns(number(long["text"], known).alias("word")).drop_nulls("word")
    return _sorted_lists(numbered["row"].to_numpy(), numbered["word"].to_numpy().astype(np.int64), len(texts))


def _long_words(texts: pl.Series) -> pl.DataFrame:
    """List the words of each text (row, text), repeats included."""
    lists = texts.to_frame("text").select(pl.int_range(pl.len()).alias("row"), question_words(pl.col("text")))
    return lists.explode("text", empty_as_null=False, keep_nulls=False)


def _sorted_lists(owner: Int64s, items: Int64s, n: int) -> Ragged:
    """Gather the distinct items of each owner in order."""
    once = pl.DataFrame({"owner": owner, "item": items}).unique().sort("owner", "item")
    return Ragged(starts_of(np.bincount(once["owner"].to_numpy(), minlength=n)), once["item"].to_numpy())


def _concatenate(parts: Iterable[Ragged]) -> Ragged:
    listed = list(parts)
    sizes = np.concatenate([part.sizes for part in listed])
    return Ragged(starts_of(sizes), np.concatenate([part.items for part in listed]))
