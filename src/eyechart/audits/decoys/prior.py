"""The answer-prior rule: how often a text is the target and how often a decoy tells which option is right.

    P(correct | C) = T / (T + D / K),  0.5 where C was never seen                                        (Eq. 2)

with T the times C is a target and D the times it is a decoy on the learned part. Where examples have different numbers
of decoys, each use as a decoy counts 1 / K of its own example.
"""

import numpy as np
import polars as pl

from eyechart.audits.decoys.picking import Flags, Offered

UNSEEN = 0.5


def count_uses(offered: Offered, among: Flags | None = None) -> pl.DataFrame:
    """Count each text's uses (text, as_target, as_decoy, decoy_weight, prior), most frequent first.

    `among` chooses the options that count, all those of an example or none; without it all of them do.
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
    # Sums of thirds are not whole: without rounding, texts that are in balance would not be equally likely.
    return uses.with_columns(prior.round(9).alias("prior")).sort("as_target", "text", descending=[True, False])


def prior_of(texts: pl.Series, uses: pl.DataFrame) -> pl.Series:
    """Look up how likely each text is to be correct."""
    asked = texts.to_frame("text")
    found = asked.join(uses.select("text", "prior"), on="text", how="left", validate="m:1", maintain_order="left")
    return found["prior"].fill_null(UNSEEN)
