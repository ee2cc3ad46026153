"""What texts have in common, by runs of three letters or by words, counted on numbers.

Different texts are few and options many, so each text is taken apart once: its runs or words become a sorted set of
numbers, and the options of all examples are compared by walking along two such sets at a time.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.decoys.drawing.lists import Int32s, Int64s, starts_of
from eyechart.encode.items import number
from eyechart.encode.words import blocks, question_words
from eyechart.kernels import inner_kernel, kernel

RUN = 3  # letters
BITS = 21  # of a code point, so that a run is one number


class Sets(NamedTuple):
    """Sorted sets of numbers laid end to end: set i stands at starts[i] up to starts[i + 1]."""

    starts: Int64s
    items: Int64s

    @property
    def sizes(self) -> Int64s:
        """Count the members of each set."""
        return np.diff(self.starts)


def runs_of(texts: pl.Series) -> Sets:
    """Find the runs of three letters of each lower-cased text between two spaces; a null has none."""
    return _joined(_runs(texts[part]) for part in blocks(len(texts)))


def words_of(texts: pl.Series, known: pl.Series) -> Sets:
    """Find which of the known words, which are distinct, each text has."""
    return _joined(_words(texts[part], known) for part in blocks(len(texts)))


def known_words(texts: pl.Series) -> pl.Series:
    """List the different words of texts."""
    return pl.concat([_long(texts[part])["text"].unique() for part in blocks(len(texts))]).unique().sort()


@kernel
def shared_with_others(runs: Sets, codes: Int32s, starts: Int64s) -> Int64s:
    """Sum over the runs of each option how many other options of its example have the run too."""
    found = np.zeros(len(codes), np.int64)
    for example in range(len(starts) - 1):
        for one in range(starts[example], starts[example + 1]):
            for other in range(one + 1, starts[example + 1]):
                n = _common(runs, codes[one], runs, codes[other])
                found[one] += n
                found[other] += n
    return found


@kernel
def shared_with_question(words: Sets, codes: Int32s, asked: Sets, questions: Int32s) -> Int64s:
    """Count the different words that each option has in common with its question."""
    found = np.zeros(len(codes), np.int64)
    for at in range(len(codes)):
        found[at] = _common(words, codes[at], asked, questions[at])
    return found


@inner_kernel
def _common(sets: Sets, one: int, others: Sets, other: int) -> int:
    """Count the common members of two sets."""
    i, j, n = sets.starts[one], others.starts[other], 0
    while i < sets.starts[one + 1] and j < others.starts[other + 1]:
        left, right = sets.items[i], others.items[j]
        n += left == right
        i += left <= right
        j += right <= left
    return n


def _runs(texts: pl.Series) -> Sets:
    padded = (" " + texts.str.to_lowercase() + " ").fill_null("")
    letters = np.frombuffer(str(padded.str.join("").item()).encode("utf-32-le"), np.uint32).astype(np.int64)
    ends = starts_of(padded.str.len_chars().to_numpy())
    owner = np.repeat(np.arange(len(texts)), np.diff(ends))
    # The last two letters of a text start no run of its own.
    first = np.flatnonzero(np.arange(len(letters)) + RUN <= ends[owner + 1])
    run = (letters[first] << 2 * BITS) | (letters[first + 1] << BITS) | letters[first + 2]
    return _laid_out(owner[first], run, len(texts))


def _words(texts: pl.Series, known: pl.Series) -> Sets:
    long = _long(texts)
    found = long.with_columns(number(long["text"], known).alias("word")).drop_nulls("word")
    return _laid_out(found["row"].to_numpy(), found["word"].to_numpy().astype(np.int64), len(texts))


def _long(texts: pl.Series) -> pl.DataFrame:
    """List the words of each text (row, text), repeats included."""
    lists = texts.to_frame("text").select(pl.int_range(pl.len()).alias("row"), question_words(pl.col("text")))
    return lists.explode("text", empty_as_null=False, keep_nulls=False)


def _laid_out(owner: Int64s, items: Int64s, n: int) -> Sets:
    once = pl.DataFrame({"owner": owner, "item": items}).unique().sort("owner", "item")
    return Sets(starts_of(np.bincount(once["owner"].to_numpy(), minlength=n)), once["item"].to_numpy())


def _joined(parts: Iterable[Sets]) -> Sets:
    listed = list(parts)
    return Sets(
        starts_of(np.concatenate([part.sizes for part in listed])), np.concatenate([part.items for part in listed])
    )
