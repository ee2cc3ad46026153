"""Score rankings of all candidates, best first."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.base.errors import DataError
from eyechart.scoring.answers import FlatLists, or_null


def mrr(table: pl.DataFrame) -> pl.Series:
    """Score 1 / the first rank of the answer, 0 if it was not ranked."""
    flat = FlatLists.flatten(table["ranking"])
    hits = (flat.values == table["answer"].gather(flat.rows)).fill_null(value=False).to_numpy()
    rows, first = np.unique(flat.rows[hits], return_index=True)
    reciprocal = np.zeros(len(table))
    reciprocal[rows] = 1 / (flat.places[hits][first] + 1)
    return or_null(reciprocal, (flat.sizes > 0) & table["answer"].is_not_null().to_numpy())


def ndcg(table: pl.DataFrame) -> pl.Series:
    """Score DCG@k / ideal DCG@k with DCG = sum of relevance / log2(rank + 1), k = candidates with relevance > 0."""
    relevant = _relevant_candidates(table)
    n = len(table)
    k = np.bincount(relevant["row"], minlength=n)
    ranked = FlatLists.flatten(table["ranking"])
    positions = pl.DataFrame({"row": ranked.rows, "place": ranked.places, "text": ranked.values})
    top = positions.filter(pl.Series(ranked.places < k[ranked.rows])).with_columns(_nth_of_text())
    gained = top.join(relevant.drop("place"), on=["row", "text", "nth"], how="inner", validate="1:1")
    ratio = _discounted(gained, n) / np.where(k > 0, _discounted(relevant, n), 1)
    return or_null(ratio, (k > 0) & (ranked.sizes > 0))


def _relevant_candidates(table: pl.DataFrame) -> pl.DataFrame:
    """List the candidates of positive relevance, best first in each row; `nth` distinguishes equal texts."""
    choices, relevance = FlatLists.flatten(table["choices"]), FlatLists.flatten(table["relevance"])
    _check_aligned(choices, relevance)
    long = pl.DataFrame({"row": choices.rows, "text": choices.values, "relevance": relevance.values})
    best_first = long.filter(pl.col("relevance") > 0).sort("relevance", descending=True, maintain_order=True)
    return best_first.with_columns(place=pl.int_range(pl.len()).over("row")).with_columns(_nth_of_text())


def _check_aligned(choices: FlatLists, relevance: FlatLists) -> None:
    unequal = np.flatnonzero(choices.sizes != relevance.sizes)
    if len(unequal):
        row = unequal[0]
        raise DataError(
            "one relevance for each of the choices",
            f"{choices.sizes[row]} choices and {relevance.sizes[row]} relevances in row {row}",
            "align the two lists",
        )


def _nth_of_text() -> pl.Expr:
    return pl.int_range(pl.len()).over("row", "text").alias("nth")


def _discounted(gains: pl.DataFrame, n: int) -> NDArray[np.float64]:
    weights = gains["relevance"].to_numpy() / np.log2(gains["place"].to_numpy() + 2)
    return np.asarray(np.bincount(gains["row"], weights=weights, minlength=n), dtype=np.float64)
