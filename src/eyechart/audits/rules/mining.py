"""Mine rules from encoded examples, and convert rules between the miner's arrays and tables of text."""

import logging
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.rules.settings import RULE_KINDS, RulesSettings
from eyechart.base.errors import SettingError
from eyechart.base.kernels import COMPILING
from eyechart.base.progress import tracked_share
from eyechart.data.dataset import Dataset
from eyechart.data.protocols import Engine
from eyechart.language.answers import number
from eyechart.language.items import (
    VISUAL,
    ItemVocabulary,
    learn_vocabulary,
    make_accepted,
    make_transactions,
    numbered_answers,
)
from eyechart.language.questions import blocks
from eyechart.mining import Accepted, Transactions
from eyechart.mining.counting import NONE, Index, Queries, make_index
from eyechart.mining.match import Matches, match
from eyechart.mining.mine import mine
from eyechart.mining.rules import Rules
from eyechart.mining.settings import MiningSettings
from eyechart.mining.transactions import Int32s
from eyechart.statistics.rows import Bools

_log = logging.getLogger("eyechart.rules")
Items = np.ndarray[tuple[int, ...], np.dtype[np.int32]]


@cache
def log_once(sentence: str) -> None:
    """Log a message once: a warning that kernels are being compiled, or information on what a run will need."""
    _log.log(logging.WARNING if sentence == COMPILING else logging.INFO, sentence)


class EncodedParts(NamedTuple):
    """The mined and the judged examples as numbers, and the vocabulary of the numbers."""

    vocabulary: ItemVocabulary
    learn: Transactions
    judged: Transactions
    accepted: Accepted  # by the judged examples
    images: Int32s  # of the judged examples

    def index_judged(self, items: Items) -> Index:
        """Index the judged examples by the items that rules use."""
        return make_index(self.judged, self.images, items)

    def match_learned(self, rules: Rules, threads: int, engine: Engine | None) -> Matches:
        """Match rules with the examples they were mined on."""
        return match_rules(rules, self.learn, Accepted.only(self.learn.answers), threads, engine)


def encode_parts(learn: Dataset, judged: Dataset, n_answers: int, *, normalized: bool) -> EncodedParts:
    """Encode both parts; train examples outside the answer vocabulary are not mined."""
    vocabulary = learn_vocabulary(learn, n_answers)
    in_vocabulary = numbered_answers(learn.examples, vocabulary) >= 0
    transactions = make_transactions(judged, vocabulary)
    return EncodedParts(
        vocabulary,
        make_transactions(learn.take(pl.lit(in_vocabulary)), vocabulary),
        transactions,
        make_accepted(judged.examples, vocabulary, normalized=normalized),
        number_images(judged),
    )


def sort_by_image(data: Dataset) -> Dataset:
    """Sort the examples by image and id: the order in which they are numbered and counted."""
    examples = data.examples.with_columns(data.clusters().alias("cluster")).sort("cluster", "id")
    return replace(data, examples=examples)


def number_images(data: Dataset) -> Int32s:
    """Give each cluster of sorted examples a number."""
    return (data.examples["cluster"].rle_id()).to_numpy().astype(np.int32)


def least_support(min_support: float, n: int) -> int:
    """Convert the setting to a count: one below 1 is a share of the examples, rounded down."""
    if min_support >= 1 and min_support == int(min_support):
        return int(min_support)
    if 0 < min_support < 1:
        return max(1, math.floor(Fraction(str(min_support)) * n))
    advice = "give a count such as 8, or a share such as 0.00002"
    raise SettingError("min_support as a whole number from 1, or a share below 1", str(min_support), advice)


def miner_settings(settings: RulesSettings, n: int) -> MiningSettings:
    """Convert the settings for the miner, where a confidence is an exact fraction."""
    return MiningSettings(
        max_items=settings.max_items,
        min_support=least_support(settings.min_support, n),
        min_confidence=Fraction(str(settings.min_confidence)),
        superset=settings.superset,
        published=settings.published,
        threads=settings.threads,
        max_rules=settings.max_rules,
    )


def mine_rules(transactions: Transactions, settings: RulesSettings, engine: Engine | None = None) -> Rules:
    """Mine rules, or return none if no antecedent can reach the support."""
    limits = miner_settings(settings, transactions.n)
    if limits.min_support > transactions.n or not len(transactions.items):
        return no_rules(limits.max_items)
    with tracked_share("mining rules") as report:
        return mine(transactions, limits, progress=report, announce=log_once, engine=engine)


def no_rules(width: int) -> Rules:
    """Make an empty list of rules."""
    nothing = np.empty(0, np.int32)
    return Rules(np.empty((0, width), np.int32), np.empty(0, np.int8), nothing, nothing, nothing)


def match_rules(
    rules: Rules, transactions: Transactions, accepted: Accepted, threads: int, engine: Engine | None = None
) -> Matches:
    """Match rules with examples; find nothing if either is missing."""
    if rules.n and transactions.n:
        return match(rules, transactions, accepted, threads, announce=log_once, engine=engine)
    zeros, none = np.zeros(rules.n, np.int32), np.full(transactions.n, NONE, np.int32)
    return Matches(zeros, zeros, np.zeros(transactions.n, np.int32), none, none)


def queries_of(rules: Rules) -> Queries:
    """Make a query for the examples of each rule."""
    return Queries(rules.items, np.full(rules.n, NONE, np.int32), rules.answers)


def decode_rules(rules: Rules, vocabulary: ItemVocabulary) -> pl.DataFrame:
    """Convert rules to a table of words, labels and answers, numbered in order."""
    is_word = (rules.items >= 0) & (rules.items < vocabulary.n_words)
    is_object = rules.items >= vocabulary.n_words
    kind = np.select([~is_object.any(axis=1), ~is_word.any(axis=1)], [0, 1], 2)
    return pl.DataFrame(
        {
            "rule": np.arange(rules.n, dtype=np.int64),
            "words": _texts(rules.items, vocabulary.items, is_word),
            "objects": _texts(rules.items, vocabulary.items.str.strip_prefix(VISUAL), is_object),
            "answer": vocabulary.answers.gather(rules.answers).cast(pl.String),
            "kind": pl.Series(RULE_KINDS).gather(kind),
            "support": rules.supports.astype(np.int64),
            "joint": rules.joints.astype(np.int64),
            "confidence": rules.confidences.astype(np.float64),
        }
    )


def _texts(items: Items, names: pl.Series, chosen: Bools) -> pl.Series:
    """List the chosen items of each rule, block by block: all at once would need far more memory."""
    return pl.concat(_texts_of(items[part], names, chosen[part]) for part in blocks(len(items)))


def _texts_of(items: Items, names: pl.Series, chosen: Bools) -> pl.Series:
    columns = [names.gather(pl.Series(items[:, i]).set(pl.Series(~chosen[:, i]), None)) for i in range(items.shape[1])]
    table = pl.DataFrame([column.cast(pl.String).alias(str(i)) for i, column in enumerate(columns)])
    return table.select(pl.concat_list(pl.all()).list.drop_nulls()).to_series()


def vocabulary_of(table: pl.DataFrame) -> ItemVocabulary:
    """List the words, objects and answers in a table of rules."""
    words = _different(table["words"])
    objects = VISUAL + _different(table["objects"])
    return ItemVocabulary(pl.concat([words, objects]), len(words), table["answer"].unique().sort())


def _different(lists: pl.Series) -> pl.Series:
    return lists.explode(empty_as_null=False, keep_nulls=False).unique().sort().cast(pl.String)


def encode_rules(table: pl.DataFrame, vocabulary: ItemVocabulary) -> Queries:
    """Convert a table of rules back into numbers."""
    visual = pl.col("objects").list.eval(pl.lit(VISUAL) + pl.element())
    items = table.select(pl.int_range(pl.len()).alias("row"), pl.concat_list("words", visual).alias("text"))
    long = items.explode("text", empty_as_null=False, keep_nulls=False)
    column = long.select(pl.int_range(pl.len()).over("row")).to_series().to_numpy()
    matrix = np.full((table.height, int(column.max(initial=0)) + 1), NONE, np.int32)
    matrix[long["row"].to_numpy(), column] = number(long["text"], vocabulary.items).to_numpy()
    answers = number(table["answer"], vocabulary.answers).to_numpy().astype(np.int32)
    return Queries(matrix, np.full(table.height, NONE, np.int32), answers)
