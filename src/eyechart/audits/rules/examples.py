"""What rules look like: some rules with examples and counterexamples, and an example with all its rules (Fig. 4)."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from eyechart.audits.rules.settings import COUNTEREXAMPLE, EASY, RULE_KINDS
from eyechart.data.dataset import Dataset
from eyechart.language.answers import human_answers
from eyechart.mining import Transactions
from eyechart.mining.counting import NONE
from eyechart.mining.rules import Rules
from eyechart.statistics.rows import Ints

RULES_OF_A_KIND = 2
EXAMPLES = 3  # for which a rule holds, and as many counterexamples
MOST_RULES = 40  # of one example
HELD_OUT = ("held_out_confidence", "low", "high", "held_out_support")
COLUMNS = (
    *("subset", "question", "image", "reference", "words", "objects", "answer", "right", "confidence", "support"),
    *HELD_OUT,
)


def gallery_table(judged: Dataset, table: pl.DataFrame, rules: Rules, transactions: Transactions) -> pl.DataFrame:
    """Show the surest rules of each kind; `judged` are the examples in the order of the transactions."""
    examples = judged.examples.with_row_index("example").with_columns(human_answers(judged.examples).alias("people"))
    parts = [
        _rule_examples(rule, examples.filter(pl.col("example").is_in(numbers.tolist())), judged)
        for rule, numbers in _matching(_surest(table), rules, transactions)
    ]
    return pl.concat(parts) if parts else pl.DataFrame()


def _surest(table: pl.DataFrame) -> pl.DataFrame:
    """Take the confirmed rules of each kind with the highest lower bounds of confidence on held-out images."""
    sure = table.filter(pl.col("state") == "confirmed").sort("low", "rule", descending=[True, False])
    # Many rules differ in a word and meet the same examples: one for each answer shows more.
    different = sure.unique(["kind", "answer"], keep="first", maintain_order=True)
    return pl.concat([different.filter(pl.col("kind") == kind).head(RULES_OF_A_KIND) for kind in RULE_KINDS])


def _matching(
    chosen: pl.DataFrame, rules: Rules, transactions: Transactions
) -> Iterator[tuple[Mapping[str, Any], Ints]]:
    """Find the numbers of the examples that have all items of a rule."""
    owner = np.repeat(np.arange(transactions.n), np.diff(transactions.starts))
    for rule in chosen.iter_rows(named=True):
        items = [item for item in rules.items[rule["rule"]] if item >= 0]
        met = [np.unique(owner[transactions.items == item]) for item in items]
        numbers = met[0]
        for matching in met[1:]:
            numbers = np.intersect1d(numbers, matching, assume_unique=True)
        yield rule, numbers


def _rule_examples(rule: Mapping[str, Any], met: pl.DataFrame, judged: Dataset) -> pl.DataFrame:
    right = pl.col("people").list.contains(pl.lit(rule["answer"]))
    examples = met.with_columns(right.alias("right")).sort("right", "id", descending=[True, False])
    examples = examples.group_by("right", maintain_order=True).head(EXAMPLES)
    return examples.select(
        pl.lit(_in_words(rule)).alias("rule"),
        "image",
        "question",
        pl.col("answer").alias("reference"),
        pl.when("right").then(pl.lit("holds")).otherwise(pl.lit("counterexample")).alias("here"),
        _boxes(examples, rule, judged).alias("boxes"),
    )


def _boxes(examples: pl.DataFrame, rule: Mapping[str, Any], judged: Dataset) -> pl.Series:
    """Find the objects of the rule in each picture."""
    images = judged.images.table
    if "objects" not in images.columns:
        return pl.Series([None] * examples.height, dtype=pl.Null)
    objects = examples.select("image").join(
        images.select("image", "objects"), on="image", how="left", maintain_order="left"
    )
    in_rule = pl.element().filter(pl.element().struct.field("label").is_in(rule["objects"]))
    return objects.select(pl.col("objects").list.eval(in_rule)).to_series()


def _in_words(rule: Mapping[str, Any]) -> str:
    cues = [*rule["words"], *(f"{label} in sight" for label in rule["objects"])]
    held = f"{rule['held_out_confidence']:.0%} of {rule['held_out_support']} held-out images"
    return f"{' + '.join(cues)} → {rule['answer']} ({held})"


def shown_table(judged: pl.DataFrame, table: pl.DataFrame, rules: Rules, transactions: Transactions) -> pl.DataFrame:
    """List the rules of an easy example and of a counterexample, each with the median number of rules.

    `judged` are the judged examples in the order of the transactions, with their `kind` and `matches`.
    """
    numbered = judged.with_row_index("example").rename({"kind": "subset", "answer": "reference"})
    numbered = numbered.with_columns(human_answers(judged).alias("people"))
    parts = []
    for kind in (EASY, COUNTEREXAMPLE):
        for row in _median(numbered, kind).iter_rows(named=True):
            numbers = rules_met(rules, transactions, row["example"]).tolist()
            met = table.filter(pl.col("rule").is_in(numbers)).head(MOST_RULES)
            example = {name: pl.lit(row[name], pl.String).alias(name) for name in COLUMNS[:4]}
            right = pl.col("answer").is_in(row["people"])
            parts.append(met.with_columns(**example, right=right).select(COLUMNS))
    return pl.concat(parts) if parts else pl.DataFrame()


def rules_met(rules: Rules, transactions: Transactions, example: int) -> Ints:
    """Find the rules whose items one example has."""
    items = transactions.items[transactions.starts[example] : transactions.starts[example + 1]]
    has = np.zeros(transactions.n_items + 1, np.bool_)
    has[items] = has[NONE] = True  # the last place stands for no item
    return np.flatnonzero(has[rules.items].all(axis=1))


def _median(numbered: pl.DataFrame, kind: str) -> pl.DataFrame:
    ranked = numbered.filter(pl.col("subset") == kind).sort("matches", "id")
    return ranked.slice(ranked.height // 2, 1)
