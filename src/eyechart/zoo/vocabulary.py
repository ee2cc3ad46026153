"""Words, answers and types of questions by number, and texts turned into numbers."""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import DataError
from eyechart.zoo import pieces
from eyechart.zoo.arrays import Array

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NOTHING, UNKNOWN = "", "<unknown>"  # words 0 and 1
LONGEST = 14  # words of a question that are read
ANSWERS = 3129  # as many as UpDn has
_WORD = r"[\p{L}\p{N}']+"


@dataclass(frozen=True)
class Vocabulary:
    """The lists a network is made for; `pieces` says that words are those of a released network's tokenizer."""

    words: tuple[str, ...]
    answers: tuple[str, ...]
    types: tuple[str, ...]
    pieces: bool = False

    @classmethod
    def of(cls, data: Dataset, most: int = ANSWERS) -> Self:
        """Take the words of questions and options, the most frequent answers and the question types of a dataset."""
        examples = data.examples
        texts = [examples["question"].cast(pl.String)]
        if "choices" in examples.columns:
            texts.append(examples["choices"].explode(empty_as_null=False, keep_nulls=False).cast(pl.String))
        words = _words(pl.concat(texts).drop_nulls().unique()).explode(empty_as_null=False).unique().sort()
        known = examples["answer"].drop_nulls().value_counts().sort(["count", "answer"], descending=[True, False])
        if not known.height:
            raise DataError("examples with answers to learn from", "none", "choose another split")
        return cls((NOTHING, UNKNOWN, *words), tuple(known["answer"].head(most)), (NOTHING, *_types(examples)))

    def digest(self) -> str:
        """Tell these lists, in their order, from all others."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:16]

    @cached_property
    def word_numbers(self) -> dict[str, int]:
        """Give each word its place."""
        return {word: at for at, word in enumerate(self.words)}

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        return pieces.make_tokenizer(self.words)

    def read(self, texts: pl.Series, longest: int | None = None) -> Array:
        """Turn texts into words by number, [M, longest]; null is no word at all."""
        if self.pieces:
            return pieces.read_pieces(self._tokenizer, texts, longest or pieces.LONGEST)
        longest = longest or LONGEST
        tokens = _words(texts.fill_null("")).list.head(longest)
        sizes = tokens.list.len().to_numpy()
        flat = tokens.explode(empty_as_null=False)
        numbers = flat.replace_strict(self.word_numbers, default=self.words.index(UNKNOWN), return_dtype=pl.Int32)
        found = np.zeros((len(texts), longest), np.int32)
        found[np.arange(longest) < sizes[:, None]] = numbers.to_numpy()
        return found

    def read_options(self, options: pl.Series) -> Array:
        """Turn lists of options into words by number, [M, K, L]; 0 throughout where a list has no such option."""
        sizes = options.list.len().fill_null(0).to_numpy()
        texts = options.explode(empty_as_null=False, keep_nulls=False)
        longest = pieces.LONGEST if self.pieces else int(count_words(texts).max(initial=1))
        found = np.zeros((len(options), int(sizes.max(initial=1)), longest), np.int32)
        found[np.arange(found.shape[1]) < sizes[:, None]] = self.read(texts, longest)
        return found

    def may_be_hidden(self, texts: pl.Series, beginnings: pl.Series) -> Array:
        """Tell which words stand behind a text's beginning, [M, T]; null is none."""
        q, begun = self.read(texts), count_words(beginnings)
        if self.pieces:
            begun = (self.read(beginnings) != 0).sum(1) - 1  # with [CLS], without [SEP]
            q = np.where(q == self.words.index(pieces.END), 0, q)
        return np.asarray((q != 0) & (np.arange(q.shape[1]) >= begun[:, None]))

    def number_types(self, questions: pl.Series, known: pl.Series | None = None) -> Array:
        """Find the numbers of question types: those that are known, else the longest that a question begins with.

        0 is a type that was not there in training.
        """
        longest_first = sorted(range(1, len(self.types)), key=lambda at: -len(self.types[at]))
        text = pl.col("text").str.to_lowercase()
        begun = [pl.when(text.str.starts_with(self.types[at].lower())).then(pl.lit(at)) for at in longest_first]
        numbers = {kind: at for at, kind in enumerate(self.types)}
        told = pl.col("known").replace_strict(numbers, default=None, return_dtype=pl.Int32)
        asked = pl.DataFrame({"text": questions, "known": known}, {"text": pl.String, "known": pl.String})
        found = asked.with_columns(at=pl.coalesce(told, *begun, pl.lit(0)).cast(pl.Int32))
        return found["at"].to_numpy()


def _types(examples: pl.DataFrame) -> list[str]:
    return examples["question_type"].drop_nulls().unique().sort().to_list() if "question_type" in examples else []


def _words(texts: pl.Series) -> pl.Series:
    return texts.str.to_lowercase().str.extract_all(_WORD)


def count_words(texts: pl.Series) -> Array:
    """Count the words of each text, 0 for null."""
    return _words(texts.fill_null("")).list.len().to_numpy()
