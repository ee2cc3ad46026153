"""How often each text is the target and how often a decoy: the prior of Eq. 2, and neutrality.

    P(correct | C) = T / (T + D / K),  0.5 where C was never seen                                        (Eq. 2)

with T the times C is a target and D the times it is a decoy on the learned part. Where examples have different numbers
of decoys, each use as a decoy counts 1 / K of its own example.

Options are neutral when every text is the target as often as chance makes it one. In an example with m options each
would be the target with the chance 1 / m. For a text C, with T_C the times it is the target and E_C the sum of 1 / m
over the examples that offer it,

    imbalance = sum_C |T_C - E_C| / (2 n)

is the share of the n targets that would have to change. Even neutral options have some imbalance, so it is tested by
redrawing the target among the options of each example: p = (b + 1) / (draws + 1), with b draws at least as imbalanced.
"""

import numpy as np
import polars as pl

from eyechart.audits.decoys.options import Flags, Floats, Offered, lay_out
from eyechart.audits.decoys.texts import Int32s
from eyechart.statistics import wilson

UNSEEN = 0.5
DRAWS = 499
MOST_TEXTS = 100


def count_uses(offered: Offered, among: Flags | None = None) -> pl.DataFrame:
    """Count each text's uses (text, as_target, as_decoy, decoy_weight, prior), most frequent first.

    `among` marks the options that count, all those of an example or none; without it all count.
    """
    counted = np.ones(len(offered.codes), np.bool_) if among is None else among
    right, wrong = offered.codes[counted & offered.target], offered.codes[counted & ~offered.target]
    weights = offered.spread(1 / np.maximum(offered.sizes - 1, 1))[counted & ~offered.target]
    n = len(offered.texts)
    uses = pl.DataFrame(
        {
            "text": offered.texts,
            "as_target": np.bincount(right, minlength=n),
            "as_decoy": np.bincount(wrong, minlength=n),
            "decoy_weight": np.bincount(wrong, weights, minlength=n),
        }
    ).filter(pl.col("as_target") + pl.col("as_decoy") > 0)
    prior = pl.col("as_target") / (pl.col("as_target") + pl.col("decoy_weight"))  # Eq. 2
    # Sums of thirds are not exact: without rounding, balanced texts would not be equally likely.
    return uses.with_columns(prior.round(9).alias("prior")).sort("as_target", "text", descending=[True, False])


def prior_of(texts: pl.Series, uses: pl.DataFrame) -> pl.Series:
    """Look up how likely each text is to be correct."""
    known = uses.select("text", "prior")
    joined = texts.to_frame("text").join(known, on="text", how="left", validate="m:1", maintain_order="left")
    return joined["prior"].fill_null(UNSEEN)


def measure_neutrality(offers: pl.DataFrame, seed: int) -> dict[str, float | int]:
    """Measure the imbalance of a set of options and of redrawn targets, and the two averages of the paper."""
    offered = lay_out(offers)
    expected = _expect(offered)
    imbalance = _imbalance(offered.codes[offered.target], expected)
    drawn = _redraw(offered, expected, seed)
    uses = count_uses(offered).filter(pl.col("as_target") > 0)
    return {
        "n": len(offered.sizes),
        "texts": len(offered.texts),
        "targets": uses.height,
        "uses_as_target": _mean(uses["as_target"]),
        "uses_as_decoy": _mean(uses["as_decoy"]),
        "decoys_per_target": (len(offered.codes) - len(offered.sizes)) / max(uses.height, 1),
        "imbalance": imbalance,
        "imbalance_by_chance": float(drawn.mean()),
        "chance_low": float(np.quantile(drawn, 0.025)),
        "chance_high": float(np.quantile(drawn, 0.975)),
        "p": float((np.count_nonzero(drawn >= imbalance - 1e-12) + 1) / (DRAWS + 1)),
    }


def usage_table(offers: pl.DataFrame) -> pl.DataFrame:
    """List the texts used as target furthest from the expected share of their uses."""
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
    draws = (firsts + generator.integers(0, sizes) for _ in range(DRAWS))
    return np.array([_imbalance(offered.codes[targets], expected) for targets in draws])


def _imbalance(targets: Int32s, expected: Floats) -> float:
    counts = np.bincount(targets, minlength=len(expected))
    return float(np.abs(counts - expected).sum() / 2 / max(len(targets), 1))


def _mean(column: pl.Series) -> float:
    return float(column.to_numpy().mean()) if len(column) else float("nan")
