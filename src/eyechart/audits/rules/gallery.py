"""A few confirmed rules, each with examples that bear it out and counterexamples, to be looked at."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from eyechart.audits.rules.mined import KINDS
from eyechart.dataset import Dataset
from eyechart.encode.items import human_answers
from eyechart.mining import Transactions
from eyechart.mining.rules import Rules
from eyechart.statistics.rows import Ints

RULES_OF_A_KIND = 2
EXAMPLES = 3  # that bear a rule out, and as many that do not


def gallery_table(judged: Dataset, table: pl.DataFrame, rules: Rules, transactions: Transactions) -> pl.DataFrame:
    """Show the surest rules of each kind; `judged` are the examples in the order of the transactions."""
    examples = judged.examples.with_row_index("example").with_columns(human_answers(judged.examples).alias("people"))
    parts = [
        _examples_of(rule, examples.filter(pl.col("example").is_in(found.tolist())), judged)
        for rule, found in _meeting(_surest(table), rules, transactions)
    ]
    return pl.concat(parts) if parts else pl.DataFrame()


def _surest(table: pl.DataFrame) -> pl.DataFrame:
    """Take the confirmed rules of each kind that are the most confident on held-out images, at the least."""
    sure = table.filter(pl.col("state") == "confirmed").sort("low", "rule", descending=[True, False])
    # Many rules differ in a word and meet the same examples: one for each answer shows more.
    different = sure.unique(["kind", "answer"], keep="first", maintain_order=True)
    return pl.concat([different.filter(pl.col("kind") == kind).head(RULES_OF_A_KIND) for kind in KINDS])


def _meeting(
    chosen: pl.DataFrame, rules: Rules, transactions: Transactions
) -> Iterator[tuple[Mapping[str, Any], Ints]]:
    """Find the examples that have all items of a rule."""
    owner = np.repeat(np.arange(transactions.n), np.diff(transactions.starts))
    for rule in chosen.iter_rows(named=True):
        items = [item for item in rules.items[rule["rule"]] if item >= 0]
        met = [np.unique(owner[transactions.items == item]) for item in items]
        found = met[0]
        for other in met[1:]:
            found = np.intersect1d(found, other, assume_unique=True)
        yield rule, found


def _examples_of(rule: Mapping[str, Any], met: pl.DataFrame, judged: Dataset) -> pl.DataFrame:
    right = pl.col("people").list.contains(pl.lit(rule["answer"]))
    few = met.with_columns(right.alias("right")).sort("right", "id", descending=[True, False])
    few = few.group_by("right", maintain_order=True).head(EXAMPLES)
    return few.select(
        pl.lit(_say(rule)).alias("rule"),
        "image",
        "question",
        pl.col("answer").alias("reference"),
        pl.when("right").then(pl.lit("holds")).otherwise(pl.lit("counterexample")).alias("here"),
        _boxes(few, rule, judged).alias("boxes"),
    )


def _boxes(few: pl.DataFrame, rule: Mapping[str, Any], judged: Dataset) -> pl.Series:
    """Find the objects of the rule in each picture."""
    images = judged.images.table
    if "objects" not in images.columns:
        return pl.Series([None] * few.height, dtype=pl.Null)
    objects = few.select("image").join(images.select("image", "objects"), on="image", how="left", maintain_order="left")
    named = pl.element().filter(pl.element().struct.field("label").is_in(rule["objects"]))
    return objects.select(pl.col("objects").list.eval(named)).to_series()


def _say(rule: Mapping[str, Any]) -> str:
    cues = [*rule["words"], *(f"{label} in sight" for label in rule["objects"])]
    held = f"{rule['held_out_confidence']:.0%} of {rule['held_out_support']} held-out images"
    return f"{' + '.join(cues)} → {rule['answer']} ({held})"
