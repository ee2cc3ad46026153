"""Texts as the pieces of words that a released network knows: WordPiece, as BERT's, between [CLS] and [SEP]."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from eyechart.errors import FileFormatError
from eyechart.zoo.arrays import Array

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BEGIN, END, OTHER = "[CLS]", "[SEP]", "[UNK]"
LONGEST = 20  # pieces of a question that are read, as LXMERT does


def read_known_pieces(folder: Path) -> tuple[str, ...]:
    """List the pieces that the tokenizer of released weights knows, by number."""
    listed, whole = folder / "vocab.txt", folder / "tokenizer.json"
    try:
        if listed.is_file():
            found = listed.read_text(encoding="utf-8").splitlines()
        elif whole.is_file():
            from tokenizers import Tokenizer

            numbers = Tokenizer.from_file(str(whole)).get_vocab()
            found = sorted(numbers, key=numbers.__getitem__)
        else:
            found = []
    except Exception as error:  # noqa: BLE001 - tokenizers raises bare exceptions
        raise FileFormatError(f"a tokenizer in {folder}", str(error).partition("\n")[0], "save it anew") from None
    if not found or found[0] != "[PAD]" or not {BEGIN, END, OTHER} <= set(found):
        told = "none" if not found else f"one that begins with {found[0]!r}"
        advice = "save the tokenizer of these weights beside them, as vocab.txt or tokenizer.json"
        raise FileFormatError(f"a tokenizer as BERT's in {folder}", told, advice)
    return tuple(found)


def make_tokenizer(words: tuple[str, ...]) -> "Tokenizer":
    """Make what cuts texts into pieces, in lower case as both released networks want it."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    numbers = {word: at for at, word in enumerate(words)}
    made = Tokenizer(models.WordPiece(numbers, unk_token=OTHER))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing((END, numbers[END]), (BEGIN, numbers[BEGIN]))
    return made


def read_pieces(tokenizer: "Tokenizer", texts: pl.Series, longest: int) -> Array:
    """Turn texts into pieces by number, [M, longest], 0 behind the last; a longer one keeps its [SEP]."""
    tokenizer.enable_truncation(longest)
    unique = texts.fill_null("").unique()
    numbers = [each.ids for each in tokenizer.encode_batch(unique.to_list())]
    found = np.zeros((len(unique), longest), np.int32)
    for row, ids in enumerate(numbers):  # once for each different question
        found[row, : len(ids)] = ids
    places = pl.DataFrame({"text": unique}).with_row_index("at")
    asked = pl.DataFrame({"text": texts.fill_null("")}).join(places, on="text", how="left", maintain_order="left")
    read: Array = found[asked["at"].to_numpy()]
    return read
