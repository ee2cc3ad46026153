"""An example with all the rules it meets (Fig. 4): one easy, one counterexample."""

import numpy as np
import polars as pl

from eyechart.audits.rules.study import COUNTEREXAMPLE, EASY
from eyechart.encode.items import human_answers
from eyechart.mining import Transactions
from eyechart.mining.counting import NONE
from eyechart.mining.rules import Rules
from eyechart.statistics.rows import Ints

MOST = 40  # rules of one example
HELD_OUT = ("held_out_confidence", "low", "high", "held_out_support")
COLUMNS = (
    *("subset", "question", "image", "reference", "words", "objects", "answer", "right", "confidence", "support"),
    *HELD_OUT,
)


def shown_table(judged: pl.DataFrame, table: pl.DataFrame, rules: Rules, transactions: Transactions) -> pl.DataFrame:
    """List the rules of an easy example and of a counterexample, each one that meets a middling number of them.

    `judged` are the judged examples in the order of the transactions, with their `kind` and `matches`.
    """
    numbered = judged.with_row_index("example").rename({"kind": "subset", "answer": "reference"})
    numbered = numbered.with_columns(human_answers(judged).alias("people"))
    parts = []
    for kind in (EASY, COUNTEREXAMPLE):
        for row in _middling(numbered, kind).iter_rows(named=True):
            met = table.filter(pl.col("rule").is_in(rules_met(rules, transactions, row["example"]).tolist())).head(MOST)
            said = {name: pl.lit(row[name], pl.String).alias(name) for name in COLUMNS[:4]}
            right = pl.col("answer").is_in(row["people"])
            parts.append(met.with_columns(**said, right=right).select(COLUMNS))
    return pl.concat(parts) if parts else pl.DataFrame()


def rules_met(rules: Rules, transactions: Transactions, example: int) -> Ints:
    """Find the rules whose items one example has."""
    items = transactions.items[transactions.starts[example] : transactions.starts[example + 1]]
    has = np.zeros(transactions.n_items + 1, np.bool_)
    has[items] = has[NONE] = True  # the last place stands for no item
    return np.flatnonzero(has[rules.items].all(axis=1))


def _middling(numbered: pl.DataFrame, kind: str) -> pl.DataFrame:
    ranked = numbered.filter(pl.col("subset") == kind).sort("matches", "id")
    return ranked.slice(ranked.height // 2, 1)
