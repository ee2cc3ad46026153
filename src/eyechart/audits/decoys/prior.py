"""The answer-prior rule: how often a text is the target and how often a decoy tells which option is right.

    P(correct | C) = T / (T + D / K),  0.5 where C was never seen                                        (Eq. 2)

with T the times C is a target and D the times it is a decoy on the learned part. Where examples have different numbers
of decoys, each use as a decoy counts 1 / K of its own example.
"""

import numpy as np
import polars as pl

from eyechart.audits.decoys.picking import code_texts

UNSEEN = 0.5


def count_uses(offers: pl.DataFrame) -> pl.DataFrame:
    """Count each text's uses (text, as_target, as_decoy, decoy_weight), most frequent first."""
    coded = code_texts(offers["text"])
    wrong = ~offers["target"].to_numpy()
    weights = (1 / (offers.select(pl.len().over("id")).to_series() - 1)).to_numpy()
    n = len(coded.texts)
    counted = pl.DataFrame(
        {
            "text": coded.texts,
            "as_target": np.bincount(coded.codes[~wrong], minlength=n),
            "as_decoy": np.bincount(coded.codes[wrong], minlength=n),
            "decoy_weight": np.bincount(coded.codes[wrong], weights[wrong], minlength=n),
        }
    )
    prior = pl.col("as_target") / (pl.col("as_target") + pl.col("decoy_weight"))  # Eq. 2
    # Sums of thirds are not whole: without rounding, texts that are in balance would not be equally likely.
    return counted.with_columns(prior.round(9).alias("prior")).sort("as_target", "text", descending=[True, False])


def prior_of(texts: pl.Series, uses: pl.DataFrame) -> pl.Series:
    """Look up how likely each text is to be correct."""
    asked = texts.to_frame("text")
    found = asked.join(uses.select("text", "prior"), on="text", how="left", validate="m:1", maintain_order="left")
    return found["prior"].fill_null(UNSEEN)
