"""Who gave what: the donors of every draw, found again by their hash.

Whether another answer would be right with what was given is known of two kinds of draws: those whose donor has another
reference answer, and those for which some judged example has the same question and all else that this one would have
with what was given, and another reference answer.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from eyechart.audits.perception.donors import DonorPool, as_text, draw
from eyechart.audits.perception.draws import UNIT, Gifts
from eyechart.audits.perception.settings import PerceptionSettings
from eyechart.audits.perception.study import judged_part, make_pools
from eyechart.data.dataset import Dataset
from eyechart.data.probes import PERMUTE, Removal
from eyechart.data.result import Result
from eyechart.statistics.rows import cluster_begins


def number_clusters(study: Result) -> pl.DataFrame:
    """Give a number to each cluster of the judged examples; one without a cluster is its own."""
    rows = study.rows.select("id", "cluster").sort("cluster", "id", nulls_last=True)
    return rows.select("id", "cluster", pl.Series(UNIT, np.cumsum(cluster_begins(rows)) - 1, dtype=pl.Int64))


def trace_gifts(
    settings: PerceptionSettings, data: Dataset, study: Result, draws: Mapping[Removal, Sequence[int]]
) -> dict[Removal, Gifts]:
    """Find the donors of the draws of every removal that takes something from donors."""
    permuted = [each for each in draws if each.kind == PERMUTE]
    if not permuted:
        return {}
    judged = judged_part(data, study)
    pools = make_pools(settings, judged, tuple(permuted))
    tracer = Tracer(pools, settings.seed, Known.of(judged), number_clusters(study))
    return {each: tracer.trace(each, draws[each]) for each in permuted}


class Known(NamedTuple):
    """The contents of the judged examples as numbers, and the answers that are known for each combination."""

    contents: pl.DataFrame  # id, answer, one column for each modality
    answers: pl.DataFrame  # one column for each modality, answers
    modalities: tuple[str, ...]

    @classmethod
    def of(cls, judged: Dataset) -> Self:
        """List the answers that are known for each combination of contents."""
        numbered = [as_text(judged.examples[name]).rank("dense").alias(name) for name in judged.modalities]
        contents = judged.examples.select("id", "answer").with_columns(numbered)
        answers = contents.group_by(judged.modalities).agg(pl.col("answer").unique().alias("answers"))
        return cls(contents, answers, judged.modalities)

    def judge(self, taken: pl.DataFrame) -> pl.DataFrame:
        """Say of each draw whether a donor's reference is another, and whether the right answer surely is."""
        names = [name for name in self.modalities if name in taken.columns]
        own = self.contents.select("id", "answer", *(name for name in self.modalities if name not in names))
        shown = taken.join(own, on="id", how="left", validate="m:1", maintain_order="left")
        for name in names:
            theirs = self.contents.select(pl.col("id").alias(name), pl.col(name).alias("it"), their=pl.col("answer"))
            shown = shown.join(theirs, on=name, how="left", validate="m:1", maintain_order="left")
            shown = shown.drop(name).rename({"it": name, "their": f"answer of {name}"})
        shown = shown.join(
            self.answers, on=self.modalities, how="left", nulls_equal=True, validate="m:1", maintain_order="left"
        )
        other = pl.any_horizontal(pl.col(f"answer of {name}") != pl.col("answer") for name in names)
        another = pl.col("answers").is_not_null() & ~pl.col("answers").list.contains(pl.col("answer"))
        return shown.select("id", "k", other=other, another=another)


class Tracer(NamedTuple):
    """What is needed to find donors again: the pools and the seed, what is known, and the clusters by number."""

    pools: Mapping[str, DonorPool]
    seed: int
    known: Known
    units: pl.DataFrame

    def trace(self, removal: Removal, draws: Sequence[int]) -> Gifts:
        """Find the donors of some draws of a removal."""
        taken = pl.concat(self._take(removal, k) for k in draws)
        theirs = self.units.select(of="id", donor=UNIT)
        donors = [
            taken.select("id", "k", of=name).join(theirs, on="of", validate="m:1", maintain_order="left").drop("of")
            for name in removal.modalities
        ]
        return Gifts(pl.concat(donors).sort("id", "k", maintain_order=True), self.known.judge(taken))

    def _take(self, removal: Removal, k: int) -> pl.DataFrame:
        """List the donors of a draw: id, k, and a column for each modality."""
        parts = [draw(self.pools[name], self.seed, k).rename({"donor": name}) for name in removal.modalities]
        taken = parts[0]
        for part in parts[1:]:
            taken = taken.join(part, on="id", validate="1:1", maintain_order="left")
        return taken.with_columns(k=pl.lit(k, pl.Int64))
