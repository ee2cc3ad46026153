"""Groups of one concept: how balanced their answers are, and which answers are head or tail (Sec. 3.4)."""

from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.statistics.rows import Floats, Ints, begins, sums

KEY = ("part", "group")
EVEN = 1 - 1e-9  # the entropy of equal counts, but for rounding


class Cut(NamedTuple):
    """When a group is imbalanced and an answer rare; no threshold means GQA-OOD's, mean less standard deviation."""

    threshold: float | None
    alpha: float


class Grouped(NamedTuple):
    """The groups of one concept in every part, and their answers.

    groups: part, group, n, answers, entropy, threshold, imbalanced. answers: part, group, answer, n, cut, tail (null
    in a balanced group).
    """

    groups: pl.DataFrame
    answers: pl.DataFrame


def group_examples(examples: pl.DataFrame, cut: Cut) -> Grouped:
    """Group rows of (part, group, answer), of which none is null; single-answer groups are balanced."""
    answers = examples.group_by(*KEY, "answer").agg(pl.len().cast(pl.Int64).alias("n")).sort(*KEY, "answer")
    starts = np.flatnonzero(begins(answers, *KEY))
    counts = answers["n"].to_numpy().astype(np.float64)
    n, m = sums(counts, starts).astype(np.int64), np.diff(starts, append=len(counts))
    groups = (
        answers[starts]
        .select(KEY)
        .with_columns(
            pl.Series("n", n), pl.Series("answers", m), pl.Series("entropy", normalized_entropies(counts, starts))
        )
    )
    groups = _imbalanced(groups, cut)
    each = np.repeat(np.arange(len(starts)), m)
    rare = counts * m[each] < cut.alpha * n[each]  # strictly, in whole numbers on the left
    side = pl.when(groups["imbalanced"].gather(each)).then(pl.Series(rare))
    return Grouped(groups, answers.with_columns(pl.Series("cut", cut.alpha * n[each] / m[each]), side.alias("tail")))


def normalized_entropies(counts: Floats, starts: Ints) -> Floats:
    """Give -sum p log p / log M of each run of counts; 1 where there is a single answer."""
    m = np.diff(starts, append=len(counts))
    p = counts / np.repeat(sums(counts, starts), m)
    entropy = -sums(p * np.log(p), starts)  # Eq. 7
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(m > 1, entropy / np.log(m), 1.0)


def _imbalanced(groups: pl.DataFrame, cut: Cut) -> pl.DataFrame:
    if cut.threshold is not None:
        return groups.with_columns(
            pl.lit(cut.threshold).alias("threshold"), (pl.col("entropy") < cut.threshold).alias("imbalanced")
        )
    # Groups come sorted, so that the mean does not depend on the order of the examples.
    edge = (pl.col("entropy").mean() - pl.col("entropy").std(ddof=0)).over("part").alias("threshold")
    own = groups.with_columns(edge)
    even = pl.col("entropy") >= EVEN  # nothing is rare in it, even where all groups are like that
    return own.with_columns(((pl.col("entropy") <= pl.col("threshold")) & ~even).alias("imbalanced"))


def sides(examples: pl.DataFrame, grouped: Grouped) -> pl.Series:
    """Mark each example tail (true), head (false), or neither (null); rows without a group are neither."""
    known = grouped.answers.select(*KEY, "answer", "tail")
    found = examples.join(known, on=[*KEY, "answer"], how="left", validate="m:1", maintain_order="left")
    return found["tail"]


def imbalance(groups: pl.DataFrame) -> float | None:
    """Average the entropies of groups by their sizes: E of Eq. 8; low is imbalanced."""
    n = groups["n"].to_numpy()
    return float(np.sum(groups["entropy"].to_numpy() * n) / n.sum()) if n.sum() else None  # Eq. 8
