"""Rules that pick an option by a number: how often they pick the target, and what chance would."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from eyechart.audits.decoys.drawing.lists import Int32s, Int64s, starts_of
from eyechart.encode.items import number

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Values = npt.NDArray[Any]  # of any type that has an order


class Coded(NamedTuple):
    """Texts as numbers: the different texts in order, and the place of each text among them."""

    texts: pl.Series
    codes: Int32s


class Offered(NamedTuple):
    """Options as numbers, one example after the other."""

    texts: pl.Series  # the different ones in order
    codes: Int32s  # of each option
    target: Flags  # of each option
    starts: Int64s  # of each example, and the end of the last

    @property
    def sizes(self) -> Int64s:
        """Count the options of each example."""
        return np.diff(self.starts)

    def spread(self, values: Values) -> Values:
        """Give each option the value of its example."""
        return np.repeat(values, self.sizes)


def lay_out(offers: pl.DataFrame) -> Offered:
    """Turn options (id, text, target) into numbers; those of an example stand together."""
    return Offered(*code_texts(offers["text"]), offers["target"].to_numpy(), where_examples_start(offers))


def where_examples_start(offers: pl.DataFrame) -> Int64s:
    """Find the first option of each example, and the end of the last; those of an example stand together."""
    return starts_of(offers["id"].rle().struct.field("len").to_numpy())


def pick(offers: pl.DataFrame, value: pl.Series, name: str = "score") -> pl.DataFrame:
    """Score (0 to 1) picking the option of the highest value; where several share it, each is as likely picked."""
    starts = where_examples_start(offers)
    score = score_picks(value.to_numpy(), offers["target"].to_numpy(), starts)
    return pl.DataFrame({"id": offers["id"].gather(starts[:-1]), name: score})


def score_picks(value: Values, target: Flags, starts: Int64s) -> Floats:
    """Score the pick of each example: 1 / (options that share the highest value) if the target is one of them, else 0.

    What is not a number is picked only where nothing else is offered.
    """
    firsts = starts[:-1]
    best = np.fmax.reduceat(value.astype(np.float64), firsts)
    top = (value == np.repeat(best, np.diff(starts))) | np.repeat(np.isnan(best), np.diff(starts))
    picked = np.add.reduceat(top & target, firsts, dtype=np.int64)
    return np.asarray(picked / np.add.reduceat(top, firsts, dtype=np.int64), np.float64)


def chance(offers: pl.DataFrame) -> pl.DataFrame:
    """Give each example the chance of guessing: one over its options."""
    starts = where_examples_start(offers)
    return pl.DataFrame({"id": offers["id"].gather(starts[:-1]), "chance": 1 / np.diff(starts)})


def code_texts(texts: pl.Series) -> Coded:
    """Give each text its number in the order of the different texts."""
    different = texts.unique().sort()
    return Coded(different, number(texts, different).to_numpy())
