"""What a scorer without understanding may know of an option: hashed sparse features of its text and context.

A         the words of the option and its whole text
Q + A     also each of these with each word of the question, and how much of the option is in the question
I + A     also each of these with each object in the image, and whether the option names one
I + Q + A all of that, and how many of the objects that the question names are there

The features of one kind in one option have norm 1 together, so that long texts do not count for more.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from eyechart.base.hashing import Hashes, combine, hash_text
from eyechart.data.dataset import Dataset
from eyechart.language.items import SURE
from eyechart.language.questions import question_words

SEEN: dict[str, tuple[str, ...]] = {
    "A": ("text",),
    "Q+A": ("text", "question"),
    "I+A": ("text", "image"),
    "I+Q+A": ("text", "question", "image", "both"),
}
COLUMNS = 2**20  # of the feature matrix
MOST_NAMED = 4  # a larger number of objects counts as this one
OPENING = 2  # words

Rows = npt.NDArray[np.int64]
Matrix: TypeAlias = Any  # a sparse matrix; scipy.sparse has no types


class HashedFeatures(NamedTuple):
    """Features of one kind: the option of each feature, and its hash."""

    rows: Rows
    hashes: Hashes


def opening_of(question: pl.Expr) -> pl.Expr:
    """Take the first words of a question."""
    return question_words(question).list.head(OPENING).list.join(" ")


def describe(offers: pl.DataFrame, data: Dataset) -> dict[str, HashedFeatures]:
    """Compute the features of every kind; `offers` also has `image` and `question`."""
    numbered = offers.with_columns(pl.int_range(pl.len()).alias("row"), pl.col("id").rle_id().alias("item"))
    items = numbered.unique("id", keep="first", maintain_order=True).select("item", "image", "question")
    keys = _option_keys(numbered)
    tokens = _long(items.select("item", text=question_words(pl.col("question")).list.unique()))
    objects = _objects(items, data)
    labels = objects.select("item", "text").unique().sort("item", "text")
    texts = HashedFeatures(keys["row"].to_numpy(), hash_text(keys["text"], 1))
    return {
        "text": texts,
        "question": _join(_cross(keys, tokens, 2), _match(numbered, tokens, 3)),
        "image": _join(_cross(keys, labels, 4), _match(numbered, labels, 5)),
        "both": _join(_cross(keys, _named(items, objects), 6), _match(numbered, labels, 7, opening=True)),
    }


def matrix(features: dict[str, HashedFeatures], n: int, kinds: tuple[str, ...]) -> Matrix:
    """Build a sparse matrix of the features of these kinds, with a row for each option."""
    import scipy.sparse

    parts = [features[name] for name in kinds]
    rows = np.concatenate([part.rows for part in parts])
    columns = np.concatenate([(part.hashes % np.uint64(COLUMNS)).astype(np.int64) for part in parts])
    weights = np.concatenate([_weights(part, n) for part in parts])
    # Learning time grows with the number of columns, so only those that occur are kept.
    used = np.bincount(columns, minlength=COLUMNS) > 0
    renumbered = np.cumsum(used) - 1
    return scipy.sparse.csr_matrix((weights, (rows, renumbered[columns])), shape=(n, int(used.sum())))


def _weights(features: HashedFeatures, n: int) -> npt.NDArray[np.float64]:
    sizes = np.bincount(features.rows, minlength=n)
    return 1 / np.sqrt(sizes[features.rows])


def _option_keys(numbered: pl.DataFrame) -> pl.DataFrame:
    """List the whole text of each option and, if it has several, its words (row, item, text)."""
    words = question_words(pl.col("text")).list.unique()
    full = "= " + pl.col("text").str.to_lowercase()
    several = pl.when(words.list.len() > 1).then(words)
    keys = pl.concat([numbered.select("row", "item", text=full), _long(numbered.select("row", "item", text=several))])
    return keys.sort("row", "text")


def _objects(items: pl.DataFrame, data: Dataset) -> pl.DataFrame:
    """List the labels of the sure objects in each item's image, with their number (item, text, n)."""
    table = data.images.table
    if "objects" not in table.columns:
        return items.select("item", text=pl.lit(""), n=pl.lit(0, pl.UInt32)).clear()
    listed = table.select("image", "objects").join(items.select("image").unique(), on="image", how="semi")
    objects = listed.explode("objects", empty_as_null=False, keep_nulls=False).unnest("objects")
    sure = objects.filter(pl.col("label").is_not_null() & (pl.col("score").fill_null(1.0) >= SURE))
    counted = sure.group_by("image", text=pl.col("label").str.to_lowercase()).agg(pl.len().alias("n"))
    return items.select("item", "image").join(counted, on="image").select("item", "text", "n").sort("item", "text")


def _named(items: pl.DataFrame, objects: pl.DataFrame) -> pl.DataFrame:
    """Count the objects in the image that the question names, plurals in -s included."""
    words = _long(items.select("item", text=question_words(pl.col("question")).list.unique()))
    both = pl.concat([words, words.with_columns(pl.col("text").str.strip_suffix("s"))]).unique()
    counts = both.join(objects, on=["item", "text"]).group_by("item").agg(pl.col("n").max())
    counted = items.join(counts, on="item", how="left", validate="1:1", maintain_order="left")
    text = pl.format("{} {}", opening_of(pl.col("question")), pl.col("n").fill_null(0).clip(0, MOST_NAMED))
    return counted.select("item", text=text)


def _match(numbered: pl.DataFrame, texts: pl.DataFrame, kind: int, *, opening: bool = False) -> HashedFeatures:
    """Flag options that are, whole or by a word, among the texts of their item; also by the question's opening."""
    full_texts = numbered.select("row", "item", text=pl.col("text").str.to_lowercase())
    words = _long(numbered.select("row", "item", text=question_words(pl.col("text")).list.unique()))
    matches = pl.concat([full_texts, words]).join(texts.select("item", "text"), on=["item", "text"], how="semi")
    flag = numbered["row"].is_in(matches["row"].unique().implode())
    flags = hash_text(flag.cast(pl.String), kind)
    if opening:
        flags = combine(flags, hash_text(numbered.select(opening_of(pl.col("question"))).to_series()))
    return HashedFeatures(numbered["row"].to_numpy(), flags)


def _cross(keys: pl.DataFrame, tokens: pl.DataFrame, kind: int) -> HashedFeatures:
    """Pair each text of an option with each text of its item; the tokens are sorted by item."""
    n = int(keys["item"].max() or 0) + 1  # type: ignore[arg-type]  # a column of whole numbers
    item, owner = keys["item"].to_numpy(), tokens["item"].to_numpy()
    sizes = np.bincount(owner, minlength=n)
    starts = np.cumsum(sizes) - sizes
    each = sizes[item]
    left = np.repeat(np.arange(len(item)), each)
    within = np.arange(len(left)) - np.repeat(np.cumsum(each) - each, each)
    right = starts[item[left]] + within
    hashes = combine(hash_text(keys["text"], kind)[left], hash_text(tokens["text"])[right])
    return HashedFeatures(keys["row"].to_numpy()[left], hashes)


def _join(one: HashedFeatures, other: HashedFeatures) -> HashedFeatures:
    return HashedFeatures(np.concatenate([one.rows, other.rows]), np.concatenate([one.hashes, other.hashes]))


def _long(lists: pl.DataFrame) -> pl.DataFrame:
    return lists.explode("text", empty_as_null=False, keep_nulls=False).sort(lists.columns)
