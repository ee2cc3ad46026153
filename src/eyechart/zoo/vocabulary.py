"""Words, answers and question types by number, and texts converted to numbers.

The words of a released network are word pieces: WordPiece as in BERT, between [CLS] and [SEP]. The questions of a
planted world are also parsed into programs, for the symbolic network.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

from eyechart.base.errors import DataError, FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.world.questions import parse_questions
from eyechart.world.vocabulary import BIGGER, COLOR, DOING, IS, LEFT, MANY, PLURALS, THERE, USED
from eyechart.zoo.arrays import OPERATIONS, Array

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NOTHING, UNKNOWN = "", "<unknown>"  # words 0 and 1
LONGEST = 14  # words of a question to read
ANSWERS = 3129  # as many as in UpDn
BEGIN, END, OTHER = "[CLS]", "[SEP]", "[UNK]"
LONGEST_IN_PIECES = 20  # pieces of a question to read, as LXMERT does
OPERATION_OF = {
    COLOR: "query",
    DOING: "query",
    USED: "query",
    LEFT: "relate",
    MANY: "count",
    THERE: "exist",
    BIGGER: "choose",
    IS: "verify",
}
QUERIED = {COLOR: "color", DOING: "doing", USED: "use"}  # the word of the question that says what is queried
_WORD = r"[\p{L}\p{N}']+"


@dataclass(frozen=True)
class NetworkVocabulary:
    """The words, answers and types of a network; `pieces` says that words are those of a released tokenizer."""

    words: tuple[str, ...]
    answers: tuple[str, ...]
    types: tuple[str, ...]
    pieces: bool = False

    @classmethod
    def of(cls, data: Dataset, most: int = ANSWERS) -> Self:
        """Collect the words of questions and options, the most frequent answers and the question types of a dataset."""
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
        """Hash these lists, in their order."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:16]

    @cached_property
    def word_numbers(self) -> dict[str, int]:
        """Map each word to its number."""
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        return make_tokenizer(self.words)

    def read(self, texts: pl.Series, longest: int | None = None) -> Array:
        """Convert texts to words by number, [M, longest]; null has no words."""
        if self.pieces:
            return read_pieces(self._tokenizer, texts, longest or LONGEST_IN_PIECES)
        longest = longest or LONGEST
        tokens = _words(texts.fill_null("")).list.head(longest)
        sizes = tokens.list.len().to_numpy()
        flat = tokens.explode(empty_as_null=False)
        numbers = flat.replace_strict(self.word_numbers, default=self.words.index(UNKNOWN), return_dtype=pl.Int32)
        encoded = np.zeros((len(texts), longest), np.int32)
        encoded[np.arange(longest) < sizes[:, None]] = numbers.to_numpy()
        return encoded

    def read_options(self, options: pl.Series) -> Array:
        """Convert lists of options to words by number, [M, K, L]; missing options are all 0."""
        sizes = options.list.len().fill_null(0).to_numpy()
        texts = options.explode(empty_as_null=False, keep_nulls=False)
        longest = LONGEST_IN_PIECES if self.pieces else int(count_words(texts).max(initial=1))
        encoded = np.zeros((len(options), int(sizes.max(initial=1)), longest), np.int32)
        encoded[np.arange(encoded.shape[1]) < sizes[:, None]] = self.read(texts, longest)
        return encoded

    def may_be_hidden(self, texts: pl.Series, beginnings: pl.Series) -> Array:
        """Mark the words after the beginning of each text, [M, T]; a null beginning is empty."""
        q, begun = self.read(texts), count_words(beginnings)
        if self.pieces:
            begun = (self.read(beginnings) != 0).sum(1) - 1  # with [CLS], without [SEP]
            q = np.where(q == self.words.index(END), 0, q)
        return np.asarray((q != 0) & (np.arange(q.shape[1]) >= begun[:, None]))

    def number_types(self, questions: pl.Series, known: pl.Series | None = None) -> Array:
        """Find the numbers of question types: the known ones, else the longest that a question begins with.

        0 is a type that did not occur in training.
        """
        longest_first = sorted(range(1, len(self.types)), key=lambda n: -len(self.types[n]))
        text = pl.col("text").str.to_lowercase()
        begun = [pl.when(text.str.starts_with(self.types[n].lower())).then(pl.lit(n)) for n in longest_first]
        numbers = {kind: number for number, kind in enumerate(self.types)}
        given = pl.col("known").replace_strict(numbers, default=None, return_dtype=pl.Int32)
        asked = pl.DataFrame({"text": questions, "known": known}, {"text": pl.String, "known": pl.String})
        numbered = asked.with_columns(number=pl.coalesce(given, *begun, pl.lit(0)).cast(pl.Int32))
        return numbered["number"].to_numpy()


def _types(examples: pl.DataFrame) -> list[str]:
    return examples["question_type"].drop_nulls().unique().sort().to_list() if "question_type" in examples else []


def _words(texts: pl.Series) -> pl.Series:
    return texts.str.to_lowercase().str.extract_all(_WORD)


def count_words(texts: pl.Series) -> Array:
    """Count the words of each text, 0 for null."""
    return _words(texts.fill_null("")).list.len().to_numpy()


def read_known_pieces(folder: Path) -> tuple[str, ...]:
    """List the pieces of the tokenizer of released weights, by number."""
    listed, whole = folder / "vocab.txt", folder / "tokenizer.json"
    try:
        if listed.is_file():
            pieces = listed.read_text(encoding="utf-8").splitlines()
        elif whole.is_file():
            from tokenizers import Tokenizer

            numbers = Tokenizer.from_file(str(whole)).get_vocab()
            pieces = sorted(numbers, key=numbers.__getitem__)
        else:
            pieces = []
    except Exception as error:  # noqa: BLE001 - tokenizers raises bare exceptions
        raise FileFormatError(f"a tokenizer in {folder}", str(error).partition("\n")[0], "save it again") from None
    if not pieces or pieces[0] != "[PAD]" or not {BEGIN, END, OTHER} <= set(pieces):
        found = "none" if not pieces else f"one that begins with {pieces[0]!r}"
        advice = "save the tokenizer of these weights next to them, as vocab.txt or tokenizer.json"
        raise FileFormatError(f"a tokenizer like BERT's in {folder}", found, advice)
    return tuple(pieces)


def make_tokenizer(words: tuple[str, ...]) -> "Tokenizer":
    """Build the tokenizer that splits texts into lower-case pieces, as both released networks expect."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    numbers = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token=OTHER))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing((END, numbers[END]), (BEGIN, numbers[BEGIN]))
    return tokenizer


def read_pieces(tokenizer: "Tokenizer", texts: pl.Series, longest: int) -> Array:
    """Convert texts to pieces by number, [M, longest], 0 after the last; truncated texts keep their [SEP]."""
    tokenizer.enable_truncation(longest)
    unique = texts.fill_null("").unique()
    numbers = [each.ids for each in tokenizer.encode_batch(unique.to_list())]
    encoded = np.zeros((len(unique), longest), np.int32)
    for row, ids in enumerate(numbers):  # once for each distinct text
        encoded[row, : len(ids)] = ids
    indices = pl.DataFrame({"text": unique}).with_row_index("row")
    indexed = pl.DataFrame({"text": texts.fill_null("")}).join(indices, on="text", how="left", maintain_order="left")
    rows: Array = encoded[indexed["row"].to_numpy()]
    return rows


def programs_of(questions: pl.Series, words: Mapping[str, int]) -> Array:
    """Parse each question as (operation, first word, second word) by number, [M, 3]; zeros if it has no program."""
    texts = pl.DataFrame({"question": questions.cast(pl.String)})
    parsed = texts.join(parse_questions(questions), on="question", how="left", validate="m:1", maintain_order="left")
    queried = pl.col("question_type").replace_strict(QUERIED, default=None, return_dtype=pl.String)
    operations = {name: OPERATIONS.index(operation) for name, operation in OPERATION_OF.items()}
    numbers = {label: words[plural] for label, plural in PLURALS.items() if plural in words} | dict(words)
    programs: Array = (
        parsed.with_columns(second=pl.coalesce("second", queried))
        .select(
            pl.col("question_type").replace_strict(operations, default=0, return_dtype=pl.Int64),
            *(pl.col(name).replace_strict(numbers, default=0, return_dtype=pl.Int64) for name in ("first", "second")),
        )
        .to_numpy()
    )
    return programs
