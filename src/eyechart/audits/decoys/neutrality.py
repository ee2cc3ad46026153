"""Neutrality: whether every text is as often the target as its offers let expect.

In an example with m options each would be the target with the chance 1 / m. For a text C, with T_C the times it is the
target and E_C the sum of 1 / m over its offers,

    imbalance = sum_C |T_C - E_C| / (2 n)

is the share of the n targets that would have to change hands. Even neutral options have some, so it is tested by
drawing the target anew among the options of each example: p = (b + 1) / (draws + 1), with b draws at least as
imbalanced.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from eyechart.audits.decoys.picking import code_texts
from eyechart.audits.decoys.prior import count_uses
from eyechart.statistics import wilson

DRAWS = 499
MOST_TEXTS = 100

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Offered(NamedTuple):
    """Options of all examples as numbers, one example after the other."""

    codes: Codes
    starts: Codes  # of each example
    sizes: Codes
    expected: Floats  # of each text


def measure_neutrality(offers: pl.DataFrame, seed: int) -> dict[str, float | int]:
    """Measure the imbalance of a set of options, beside what redrawn targets have, and the paper's two averages."""
    offered, targets = _lay_out(offers)
    found = _imbalance(targets, offered)
    drawn = _redraw(offered, seed)
    uses = count_uses(offers).filter(pl.col("as_target") > 0)
    return {
        "n": len(offered.sizes),
        "texts": len(offered.expected),
        "targets": uses.height,
        "uses_as_target": _mean(uses["as_target"]),
        "uses_as_decoy": _mean(uses["as_decoy"]),
        "decoys_per_target": (len(offered.codes) - len(offered.sizes)) / max(uses.height, 1),
        "imbalance": found,
        "imbalance_by_chance": float(drawn.mean()),
        "chance_low": float(np.quantile(drawn, 0.025)),
        "chance_high": float(np.quantile(drawn, 0.975)),
        "p": float((np.count_nonzero(drawn >= found - 1e-12) + 1) / (DRAWS + 1)),
    }


def usage_table(offers: pl.DataFrame) -> pl.DataFrame:
    """List the texts whose use as target is furthest from what their offers let expect, with the share of offers."""
    share = offers.select("text", expected=1 / pl.len().over("id"))
    coded = code_texts(share["text"])
    expected = pl.DataFrame({"text": coded.texts, "expected": np.bincount(coded.codes, share["expected"].to_numpy())})
    uses = count_uses(offers).join(expected, on="text", validate="1:1").drop("decoy_weight")
    off = (pl.col("as_target") - pl.col("expected")).abs()
    furthest = uses.sort(off, "text", descending=[True, False]).head(MOST_TEXTS)
    offers_of = furthest.with_columns(n=pl.col("as_target") + pl.col("as_decoy"))
    low, high = wilson(offers_of["as_target"].to_numpy(), offers_of["n"].to_numpy())
    return offers_of.with_columns(
        share=pl.col("as_target") / pl.col("n"),
        low=pl.Series(low),
        high=pl.Series(high),
        expected_share=pl.col("expected") / pl.col("n"),
    )


def _lay_out(offers: pl.DataFrame) -> tuple[Offered, Codes]:
    coded = code_texts(offers["text"])
    sizes = offers["id"].rle().struct.field("len").to_numpy().astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    expected = np.bincount(coded.codes, np.repeat(1 / sizes, sizes), minlength=len(coded.texts)).astype(np.float64)
    return Offered(coded.codes, starts, sizes, expected), coded.codes[offers["target"].to_numpy()]


def _redraw(offered: Offered, seed: int) -> Floats:
    generator = np.random.default_rng(seed)
    places = (offered.starts + generator.integers(0, offered.sizes) for _ in range(DRAWS))
    return np.array([_imbalance(offered.codes[at], offered) for at in places])


def _imbalance(targets: Codes, offered: Offered) -> float:
    counts = np.bincount(targets, minlength=len(offered.expected))
    return float(np.abs(counts - offered.expected).sum() / 2 / max(len(targets), 1))


def _mean(column: pl.Series) -> float:
    return float(column.to_numpy().mean()) if len(column) else float("nan")
