"""The gap between easy examples and counterexamples, and how much of it is there without following any rule.

gap           accuracy on easy examples - accuracy on counterexamples
expected gap  the same for a model that is equally right on both within every stratum of answer type and answer
frequency (powers of two of the train count): sum_s A_s (share of s among easy - among
counterexamples), with A_s this model's accuracy in stratum s
matched gap   gap - expected gap = mean of (x_i - A_s(i)) on easy - the same on counterexamples
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from eyechart.audits.measuring import measured
from eyechart.audits.rules.study import COUNTEREXAMPLE, EASY
from eyechart.dataset import Dataset
from eyechart.probes import OWN
from eyechart.result import Measure, Result
from eyechart.statistics import difference

NOTE = "what a model equally right within strata would show; the matched gap has the interval"
STRATUM = ("answer_type", "frequency")


def with_strata(rows: pl.DataFrame, data: Dataset, study: Result) -> pl.DataFrame:
    """Give each easy example and counterexample the model's accuracy in its stratum."""
    known = data.examples.select("id", "answer", _answer_type(data)).join(
        _train_counts(data, study), on="answer", how="left", validate="m:1"
    )
    strata = known.with_columns((pl.col("n").fill_null(0) + 1).log(2).floor().alias("frequency"))
    both = rows.filter(pl.col("kind").is_in([EASY, COUNTEREXAMPLE])).join(strata, on="id", how="left", validate="1:1")
    # Summed in the order of the ids, so that it does not depend on threads.
    means = both.sort("id").group_by(STRATUM, maintain_order=True).agg(pl.col("accuracy").mean().alias("expected"))
    return both.join(means, on=STRATUM, how="left", validate="m:1").sort("id")


def _answer_type(data: Dataset) -> pl.Expr:
    typed = "answer_type" in data.examples.columns
    return (pl.col("answer_type").fill_null("(none)") if typed else pl.lit("(none)")).alias("answer_type")


def _train_counts(data: Dataset, study: Result) -> pl.DataFrame:
    """Count answers in what was not judged."""
    train = data.examples.join(study.rows, on="id", how="anti")
    return train["answer"].drop_nulls().value_counts(name="n")


def measure_gap(both: pl.DataFrame, how: str) -> Iterator[Measure]:
    """Measure the gap, and what is left of it within strata."""
    easy, counter = (both.filter(pl.col("kind") == kind) for kind in (EASY, COUNTEREXAMPLE))
    if not easy.height or not counter.height:
        return
    gap = difference(easy["accuracy"], counter["accuracy"], easy["cluster"], counter["cluster"])
    yield measured("gap", gap, of=None, condition=OWN, score=how)
    expected = float(np.mean(easy["expected"].to_numpy()) - np.mean(counter["expected"].to_numpy()))
    yield Measure("expected gap", expected, np.nan, np.nan, gap.n, gap.clusters, condition=OWN, score=how, note=NOTE)
    left = [(part["accuracy"] - part["expected"]) for part in (easy, counter)]
    matched = difference(left[0], left[1], easy["cluster"], counter["cluster"])
    yield measured("matched gap", matched, of=None, condition=OWN, score=how)
