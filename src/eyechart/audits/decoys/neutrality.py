"""Neutrality: whether every text is as often the target as its offers let expect.

In an example with m options each would be the target with the chance 1 / m. For a text C, with T_C the times it is the
target and E_C the sum of 1 / m over its offers,

    imbalance = sum_C |T_C - E_C| / (2 n)

is the share of the n targets that would have to change hands. Even neutral options have some, so it is tested by
drawing the target anew among the options of each example: p = (b + 1) / (draws + 1), with b draws at least as
imbalanced.
"""

import numpy as np
import polars as pl

from eyechart.audits.decoys.drawing.lists import Int32s
from eyechart.audits.decoys.picking import Floats, Offered, lay_out
from eyechart.audits.decoys.prior import count_uses
from eyechart.statistics import wilson

DRAWS = 499
MOST_TEXTS = 100


def measure_neutrality(offers: pl.DataFrame, seed: int) -> dict[str, float | int]:
    """Measure the imbalance of a set of options, beside what redrawn targets have, and the paper's two averages."""
    offered = lay_out(offers)
    expected = _expect(offered)
    found = _imbalance(offered.codes[offered.target], expected)
    drawn = _redraw(offered, expected, seed)
    uses = count_uses(offered).filter(pl.col("as_target") > 0)
    return {
        "n": len(offered.sizes),
        "texts": len(offered.texts),
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
    offered = lay_out(offers)
    expected = pl.DataFrame({"text": offered.texts, "expected": _expect(offered)})
    uses = count_uses(offered).join(expected, on="text", validate="1:1").drop("decoy_weight")
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


def _expect(offered: Offered) -> Floats:
    """Sum up E_C of each text."""
    shares = offered.spread(1 / offered.sizes)
    return np.bincount(offered.codes, shares, minlength=len(offered.texts)).astype(np.float64)


def _redraw(offered: Offered, expected: Floats, seed: int) -> Floats:
    generator = np.random.default_rng(seed)
    sizes, firsts = offered.sizes, offered.starts[:-1]
    places = (firsts + generator.integers(0, sizes) for _ in range(DRAWS))
    return np.array([_imbalance(offered.codes[at], expected) for at in places])


def _imbalance(targets: Int32s, expected: Floats) -> float:
    counts = np.bincount(targets, minlength=len(expected))
    return float(np.abs(counts - expected).sum() / 2 / max(len(targets), 1))


def _mean(column: pl.Series) -> float:
    return float(column.to_numpy().mean()) if len(column) else float("nan")
