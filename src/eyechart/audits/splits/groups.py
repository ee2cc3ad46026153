"""Groups of one concept: how balanced their answers are, and which answers are head or tail (Sec. 3.4)."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from eyechart.data.protocols import Engine
from eyechart.engines.local import Local
from eyechart.statistics.rows import Floats, Ints, begins, sums

KEY = ("part", "group")
BLOCK = 65_536  # examples of a batch
EVEN = 1 - 1e-9  # the entropy of equal counts, but for rounding


@dataclass(frozen=True)
class CountAnswers:
    """Count the examples of a batch (part, answer, and one column per concept) by part, group and answer."""

    concepts: tuple[str, ...]

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Count for each concept, named in a column, the examples that have a group of it."""
        return pl.concat(
            batch.select("part", pl.col(concept).alias("group"), "answer")
            .drop_nulls()
            .group_by(*KEY, "answer")
            .agg(pl.len().cast(pl.Int64).alias("n"))
            .select(pl.lit(concept).alias("concept"), pl.all())
            for concept in self.concepts
        )


def count_answers(examples: pl.DataFrame, concepts: tuple[str, ...], engine: Engine) -> dict[str, pl.DataFrame]:
    """Count each answer of each group of every concept, in batches that any engine can run, sorted by key."""
    single = isinstance(engine, Local) or not examples.height
    batches = [examples] if single else examples.iter_slices(BLOCK)
    counts = pl.concat(engine.map(CountAnswers(concepts), batches))
    if not single:
        counts = counts.group_by("concept", *KEY, "answer").agg(pl.col("n").sum())
    parts = counts.partition_by("concept", as_dict=True, include_key=False)
    return {concept: parts.get((concept,), counts.clear().drop("concept")).sort(*KEY, "answer") for concept in concepts}


@dataclass(frozen=True)
class GroupedAnswers:
    """The groups of one concept in every part, and their answers.

    groups: part, group, n, answers, entropy, threshold, imbalanced. answers: part, group, answer, n, cut, tail (null
    in a balanced group).
    """

    groups: pl.DataFrame
    answers: pl.DataFrame

    @classmethod
    def of(cls, answers: pl.DataFrame, threshold: float | None, alpha: float) -> Self:
        """Group counts of (part, group, answer, n), sorted, and mark imbalanced groups and rare answers.

        Without a threshold, use that of GQA-OOD: the mean minus the standard deviation over the groups of a part.
        """
        starts = np.flatnonzero(begins(answers, *KEY))
        counts = answers["n"].to_numpy().astype(np.float64)
        n, m = sums(counts, starts).astype(np.int64), np.diff(starts, append=len(counts))
        entropies = pl.Series("entropy", normalized_entropies(counts, starts))
        groups = answers[starts].select(KEY).with_columns(pl.Series("n", n), pl.Series("answers", m), entropies)
        groups = _mark_imbalanced(groups, threshold)
        each = np.repeat(np.arange(len(starts)), m)
        rare = counts * m[each] < alpha * n[each]  # strictly, in whole numbers on the left
        tail = pl.when(groups["imbalanced"].gather(each)).then(pl.Series(rare)).alias("tail")
        return cls(groups, answers.with_columns(pl.Series("cut", alpha * n[each] / m[each]), tail))

    def sides(self, examples: pl.DataFrame) -> pl.Series:
        """Mark each example as tail (true), head (false) or neither (null); rows without a group are neither."""
        tails = self.answers.select(*KEY, "answer", "tail")
        joined = examples.join(tails, on=[*KEY, "answer"], how="left", validate="m:1", maintain_order="left")
        return joined["tail"]

    def size(self, part: str, *, tail: bool) -> int:
        """Count the tail or head examples of a part."""
        return int(self.answers.filter((pl.col("part") == part) & (pl.col("tail") == tail))["n"].sum())


def normalized_entropies(counts: Floats, starts: Ints) -> Floats:
    """Compute -sum p log p / log M of each run of counts; 1 where there is a single answer."""
    m = np.diff(starts, append=len(counts))
    p = counts / np.repeat(sums(counts, starts), m)
    entropy = -sums(p * np.log(p), starts)  # Eq. 7
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(m > 1, entropy / np.log(m), 1.0)


def _mark_imbalanced(groups: pl.DataFrame, threshold: float | None) -> pl.DataFrame:
    if threshold is not None:
        return groups.with_columns(
            pl.lit(threshold).alias("threshold"), (pl.col("entropy") < threshold).alias("imbalanced")
        )
    # Groups come sorted, so that the mean does not depend on the order of the examples.
    edge = (pl.col("entropy").mean() - pl.col("entropy").std(ddof=0)).over("part").alias("threshold")
    own = groups.with_columns(edge)
    even = pl.col("entropy") >= EVEN  # nothing is rare in it, even where all groups are like that
    return own.with_columns(((pl.col("entropy") <= pl.col("threshold")) & ~even).alias("imbalanced"))


def imbalance(groups: pl.DataFrame) -> float | None:
    """Average the entropies of groups by their sizes: E of Eq. 8; low is imbalanced."""
    n = groups["n"].to_numpy()
    return float(np.sum(groups["entropy"].to_numpy() * n) / n.sum()) if n.sum() else None  # Eq. 8
