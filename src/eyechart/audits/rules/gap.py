"""The gap between easy examples and counterexamples, and how much of it is there without following any rule.

gap           accuracy on easy examples - accuracy on counterexamples
expected gap  the same for a model that is equally right on both within every stratum of answer type and answer
              frequency (powers of two of the train count): sum_s A_s (share of s among easy - among
              counterexamples), with A_s this model's accuracy in stratum s
matched gap   gap - expected gap = mean of (x_i - A_s(i)) on easy - the same on counterexamples

With w_i one over the number of easy examples, or minus one over that of counterexamples, the expected gap is
sum_i w_i A_s(i). Both the strata drawn and the accuracies in them are uncertain: of N examples, each contributes

    value + N (w_i (A_s(i) - mean of A on its side) + (x_i - A_s(i)) mean of w in s)

whose mean is the value and whose clustered spread is that of the value (its influence function).
"""

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from eyechart.audits.measuring import measured
from eyechart.audits.rules.study import COUNTEREXAMPLE, EASY
from eyechart.dataset import Dataset
from eyechart.probes import OWN
from eyechart.result import Measure, Result
from eyechart.statistics import difference, mean

NOTE = "what a model equally right within strata would show"
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
    yield measured("gap", gap, of=None, condition=OWN, score=how, better="lower")
    expected = mean(expected_contributions(both), both["cluster"], kind="differences")
    found = measured("expected gap", expected, of=None, condition=OWN, score=how, better="neither")
    yield replace(found, note=f"{found.note}; {NOTE}")
    left = [(part["accuracy"] - part["expected"]) for part in (easy, counter)]
    matched = difference(left[0], left[1], easy["cluster"], counter["cluster"])
    yield measured("matched gap", matched, of=None, condition=OWN, score=how, better="lower")


def expected_contributions(both: pl.DataFrame) -> pl.Series:
    """Give each example its contribution to the expected gap."""
    of_easy, of_counter = (1 / (pl.col("kind") == kind).sum() for kind in (EASY, COUNTEREXAMPLE))
    weighted = both.with_columns(pl.when(pl.col("kind") == EASY).then(of_easy).otherwise(-of_counter).alias("weight"))
    among_its_side = pl.col("weight") * (pl.col("expected") - pl.col("expected").mean().over("kind"))
    within_stratum = (pl.col("accuracy") - pl.col("expected")) * pl.col("weight").mean().over(STRATUM)
    value = (pl.col("weight") * pl.col("expected")).sum()
    return weighted.select(value + pl.len() * (among_its_side + within_stratum)).to_series()
