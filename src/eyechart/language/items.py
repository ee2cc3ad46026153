"""Represent examples as sets of numbered items: words of the question, objects of the image, and the answer as a class.

Vocabularies are sorted, so that numbers are the same on every machine: words by text, then objects by label, and
answers by descending train count, then text. Only texts in train are numbered, as no rule can have others.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.base.text import clean_answer, normalize_answer
from eyechart.data.dataset import Dataset
from eyechart.language.answers import human_answers, number
from eyechart.language.questions import blocks, question_words
from eyechart.mining import Accepted, Transactions

VISUAL = "V_"  # before a label; words are lower case, so the two never clash
SURE = 0.5  # the lowest score at which an object counts as seen; one without a score counts


class ItemVocabulary(NamedTuple):
    """The texts of the numbered items and answers; the first `n_words` items are words."""

    items: pl.Series
    n_words: int
    answers: pl.Series

    def number_items(self, texts: pl.Series) -> pl.Series:
        """Return the item number of each text, null outside the vocabulary."""
        return number(texts, self.items)

    def number_answers(self, texts: pl.Series) -> pl.Series:
        """Return the answer number of each text, -1 outside the vocabulary."""
        return number(texts, self.answers).fill_null(-1)


def learn_vocabulary(learn: Dataset, n_answers: int) -> ItemVocabulary:
    """List the words and objects in train, and its most frequent answers; at the cutoff, ties are broken by text."""
    words = _distinct(_words(learn.examples))
    objects = _distinct(_objects(learn))
    counts = learn.examples["answer"].drop_nulls().value_counts(name="n")
    answers = counts.sort("n", "answer", descending=[True, False]).head(n_answers)["answer"]
    return ItemVocabulary(pl.concat([words, objects]), len(words), answers)


def numbered_answers(examples: pl.DataFrame, vocabulary: ItemVocabulary) -> pl.Series:
    """Return the number of each reference answer, -1 outside the vocabulary."""
    return vocabulary.number_answers(examples["answer"]).alias("number")


def make_transactions(data: Dataset, vocabulary: ItemVocabulary) -> Transactions:
    """List the items and the answer of each example, in the order of the examples, keeping repeats."""
    long = pl.concat([_words(data.examples), _objects(data)])
    items = (
        long.with_columns(vocabulary.number_items(long["text"]).alias("item")).drop_nulls("item").sort("row", "item")
    )
    starts = _starts(items["row"], data.examples.height)
    answers = vocabulary.number_answers(data.examples["answer"]).to_numpy().astype(np.int32)
    return Transactions(
        starts, items["item"].to_numpy().astype(np.int32), answers, len(vocabulary.items), len(vocabulary.answers)
    )


def make_accepted(examples: pl.DataFrame, vocabulary: ItemVocabulary, *, normalized: bool) -> Accepted:
    """List the answers that any human gave (or the reference, if there are none), unchanged or normalised."""
    people = human_answers(examples)
    long = pl.DataFrame({"row": np.arange(examples.height), "text": people}).explode(
        "text", empty_as_null=False, keep_nulls=False
    )
    known = pl.DataFrame({"text": vocabulary.answers, "number": np.arange(len(vocabulary.answers))})
    if normalized:
        long, known = (_normal(table) for table in (long, known))
    numbered = long.unique().join(known, on="text", how="inner").select("row", "number").unique().sort("row", "number")
    return Accepted(_starts(numbered["row"], examples.height), numbered["number"].to_numpy().astype(np.int32))


def _words(examples: pl.DataFrame) -> pl.DataFrame:
    words = question_words(pl.col("question")).alias("text")
    parts = (
        examples[part].select(pl.int_range(part.start, part.stop).alias("row"), words)
        for part in blocks(examples.height)
    )
    return pl.concat(part.explode("text", empty_as_null=False, keep_nulls=False) for part in parts)


def _objects(data: Dataset) -> pl.DataFrame:
    """List the labels seen in the image of each example, keeping repeats."""
    rows = data.examples.select(pl.int_range(pl.len()).alias("row"), "image")
    if "objects" not in data.images.kept.columns:
        return rows.clear().select("row", pl.lit("").alias("text"))
    used = data.images.scan("objects").join(rows.lazy().select("image").unique(), on="image", how="semi").collect()
    seen = used.explode("objects", empty_as_null=False, keep_nulls=False).unnest("objects")
    sure = seen.filter(pl.col("label").is_not_null() & (pl.col("score").is_null() | (pl.col("score") >= SURE)))
    labels = sure.select("image", (pl.lit(VISUAL) + pl.col("label")).alias("text"))
    return rows.join(labels, on="image", how="inner").select("row", "text")


def _distinct(long: pl.DataFrame) -> pl.Series:
    return long["text"].unique().sort()


def _starts(rows: pl.Series, n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    sizes = np.bincount(rows.to_numpy(), minlength=n)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def _normal(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(normalize_answer(clean_answer(pl.col("text"))))
