"""Between the miner's arrays and tables for people."""

import logging
import math
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.encode.items import VISUAL, Vocabulary, number
from eyechart.encode.words import blocks
from eyechart.errors import SettingError
from eyechart.kernels import COMPILING
from eyechart.mining import Accepted, Transactions
from eyechart.mining.counting import NONE, Queries
from eyechart.mining.match import Matches, match
from eyechart.mining.mine import mine
from eyechart.mining.rules import Rules
from eyechart.mining.settings import Compat, MiningSettings, Superset
from eyechart.progress import tracked_share
from eyechart.protocols import Engine

_log = logging.getLogger("eyechart.rules")
KINDS = ("words", "objects", "mixed")
PRIOR = "prior"  # the kind of what is listed beside the rules but was not mined: no condition, the most frequent answer
Items = np.ndarray[tuple[int, ...], np.dtype[np.int32]]
Chosen = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@cache
def tell(sentence: str) -> None:
    """Say a sentence once: that kernels are compiled aloud, what a run will need only to those who listen."""
    _log.log(logging.WARNING if sentence == COMPILING else logging.INFO, sentence)


class Search(NamedTuple):
    """The settings of the audit that concern the miner, as they were given."""

    max_items: int
    min_support: float
    min_confidence: float
    superset: str
    compat: str
    threads: int
    max_rules: int


def least_support(min_support: float, n: int) -> int:
    """Take a number of 1 or more for a count, and one below for a share of the examples, rounded down."""
    if min_support >= 1 and min_support == int(min_support):
        return int(min_support)
    if 0 < min_support < 1:
        return max(1, math.floor(Fraction(str(min_support)) * n))
    advice = "give a count such as 8, or a share such as 0.00002"
    raise SettingError("min_support as a whole number from 1, or a share below 1", str(min_support), advice)


def settings_of(search: Search, n: int) -> MiningSettings:
    """Bring the settings into the miner's form, where a confidence is an exact fraction."""
    superset: Superset = search.superset  # type: ignore[assignment]  # checked by the miner's settings
    compat: Compat = search.compat  # type: ignore[assignment]
    return MiningSettings(
        max_items=search.max_items,
        min_support=least_support(search.min_support, n),
        min_confidence=Fraction(str(search.min_confidence)),
        superset=superset,
        compat=compat,
        threads=search.threads,
        max_rules=search.max_rules,
    )


def mine_rules(transactions: Transactions, search: Search, engine: Engine | None = None) -> Rules:
    """Mine, or return no rules where no antecedent can reach the support."""
    settings = settings_of(search, transactions.n)
    if settings.min_support > transactions.n or not len(transactions.items):
        return no_rules(settings.max_items)
    with tracked_share("mining rules") as reach:
        return mine(transactions, settings, progress=reach, announce=tell, engine=engine)


def no_rules(width: int) -> Rules:
    """Make a list of no rules."""
    nothing = np.empty(0, np.int32)
    return Rules(np.empty((0, width), np.int32), np.empty(0, np.int8), nothing, nothing, nothing)


def match_rules(
    rules: Rules, transactions: Transactions, accepted: Accepted, threads: int, engine: Engine | None = None
) -> Matches:
    """Find what each rule and each example meets; nothing where one of the two is missing."""
    if rules.n and transactions.n:
        return match(rules, transactions, accepted, threads, announce=tell, engine=engine)
    zeros, none = np.zeros(rules.n, np.int32), np.full(transactions.n, NONE, np.int32)
    return Matches(zeros, zeros, np.zeros(transactions.n, np.int32), none, none)


def queries_of(rules: Rules) -> Queries:
    """Ask for the examples of each rule."""
    return Queries(rules.items, np.full(rules.n, NONE, np.int32), rules.answers)


def decode(rules: Rules, vocabulary: Vocabulary) -> pl.DataFrame:
    """Write rules with words, labels and answers, numbered in their order."""
    is_word = (rules.items >= 0) & (rules.items < vocabulary.n_words)
    is_object = rules.items >= vocabulary.n_words
    kind = np.select([~is_object.any(axis=1), ~is_word.any(axis=1)], [0, 1], 2)
    return pl.DataFrame(
        {
            "rule": np.arange(rules.n, dtype=np.int64),
            "words": _texts(rules.items, vocabulary.items, is_word),
            "objects": _texts(rules.items, vocabulary.items.str.strip_prefix(VISUAL), is_object),
            "answer": vocabulary.answers.gather(rules.answers).cast(pl.String),
            "kind": pl.Series(KINDS).gather(kind),
            "support": rules.supports.astype(np.int64),
            "joint": rules.joints.astype(np.int64),
            "confidence": rules.confidences.astype(np.float64),
        }
    )


def without_prior(table: pl.DataFrame) -> pl.DataFrame:
    """Keep the rules of a table: the prior beside them is none."""
    return table.filter(pl.col("kind") != PRIOR)


def _texts(items: Items, names: pl.Series, chosen: Chosen) -> pl.Series:
    """Write the chosen items of each rule as a list, block by block: on the way all of them take far more room."""
    return pl.concat(_texts_of(items[part], names, chosen[part]) for part in blocks(len(items)))


def _texts_of(items: Items, names: pl.Series, chosen: Chosen) -> pl.Series:
    columns = [
        names.gather(pl.Series(np.where(chosen[:, at], items[:, at], 0)).set(pl.Series(~chosen[:, at]), None))
        for at in range(items.shape[1])
    ]
    table = pl.DataFrame([column.cast(pl.String).alias(str(at)) for at, column in enumerate(columns)])
    return table.select(pl.concat_list(pl.all()).list.drop_nulls()).to_series()


def vocabulary_of(table: pl.DataFrame) -> Vocabulary:
    """List the words, objects and answers that a table of rules speaks of."""
    words = _spoken(table["words"])
    objects = VISUAL + _spoken(table["objects"])
    return Vocabulary(pl.concat([words, objects]), len(words), table["answer"].unique().sort())


def _spoken(lists: pl.Series) -> pl.Series:
    return lists.explode(empty_as_null=False, keep_nulls=False).unique().sort().cast(pl.String)


def queries_from(table: pl.DataFrame, vocabulary: Vocabulary) -> Queries:
    """Turn rules that were written for people back into numbers."""
    visual = pl.col("objects").list.eval(pl.lit(VISUAL) + pl.element())
    items = table.select(pl.int_range(pl.len()).alias("row"), pl.concat_list("words", visual).alias("text"))
    long = items.explode("text", empty_as_null=False, keep_nulls=False)
    place = long.select(pl.int_range(pl.len()).over("row")).to_series().to_numpy()
    matrix = np.full((table.height, int(place.max(initial=0)) + 1), NONE, np.int32)
    matrix[long["row"].to_numpy(), place] = number(long["text"], vocabulary.items).to_numpy()
    answers = number(table["answer"], vocabulary.answers).to_numpy().astype(np.int32)
    return Queries(matrix, np.full(table.height, NONE, np.int32), answers)
