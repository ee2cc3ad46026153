"""Rules that pick an option by a number: how often they pick the target, and what chance would."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from eyechart.encode.items import number


class Coded(NamedTuple):
    """Texts as numbers: the different texts in order, and the place of each text among them."""

    texts: pl.Series
    codes: npt.NDArray[np.int64]


def pick(offers: pl.DataFrame, value: pl.Series, name: str = "score") -> pl.DataFrame:
    """Score (0 to 1) picking the option of the highest value; where several share it, each is as likely picked."""
    top = pl.col("value") == pl.col("value").max().over("id")
    picked = offers.select("id", "target", value=value).with_columns(top.alias("top"))
    share = (pl.col("top") & pl.col("target")).sum() / pl.col("top").sum()
    return picked.group_by("id", maintain_order=True).agg(share.alias(name))


def chance(offers: pl.DataFrame) -> pl.DataFrame:
    """Give each example the chance of guessing: one over its options."""
    return offers.group_by("id", maintain_order=True).agg((1 / pl.len()).alias("chance"))


def code_texts(texts: pl.Series) -> Coded:
    """Give each text its number in the order of the different texts."""
    different = texts.unique().sort()
    return Coded(different, number(texts, different).to_numpy().astype(np.int64))
