"""The verdict speaks only of concepts with enough rare answers, and says of what share of the examples that is."""

import numpy as np
import polars as pl
import pytest

from eyechart.audits.splits import SplitsAudit
from eyechart.audits.splits.verdict import Reach, decide
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.result import Measure, Result
from eyechart.engines import Local

ANSWERS = ("red", "blue", "green", "black")


def asked(counts: dict[str, dict[str, int]]) -> Dataset:
    """Ask questions of some types, each on an image of its own, with so many of each answer."""
    rows = [(kind, answer) for kind, answers in counts.items() for answer, n in answers.items() for _ in range(n)]
    examples = pl.DataFrame(rows, schema=["question_type", "answer"], orient="row").with_columns(
        pl.format("{} is it?", "question_type").alias("question"),
        pl.int_range(pl.len()).cast(pl.String).str.zfill(5).alias("id"),
        pl.lit("test").alias("split"),
    )
    examples = examples.with_columns(pl.col("id").alias("image"))
    return Dataset("made up", examples, Images.named(examples["image"]))


def judge(data: Dataset, wrong: pl.Expr, **settings: object) -> Result:
    """Judge a model that is wrong where an expression says so."""
    audit = SplitsAudit(concepts=("QT",), **settings)
    study = audit.study(data, Local())
    [(_, probes)] = audit.probe(data, study)
    said = data.examples.select("id", pl.when(wrong).then(pl.lit("nothing")).otherwise("answer").alias("answer"))
    answers = probes.select("id").join(said, on="id", maintain_order="left")
    return audit.judge(data, study, Predictions("model", tidy(answers, probes, "model")), Local())


def by_lot(share: float) -> pl.Expr:
    drawn = np.random.default_rng(1).random(10_000) < share
    return pl.int_range(pl.len()).map_batches(lambda n: pl.Series(drawn[n.to_numpy()]), return_dtype=pl.Boolean)


NEARLY_EVEN = {f"which {n}": dict.fromkeys(ANSWERS, 250) for n in range(3)} | {"whose": {"mine": 73, "yours": 30}}


def test_a_gap_in_a_few_examples_of_nearly_even_data_is_no_finding() -> None:
    """A gap of 103 examples, in a tail of 1 %, while the answers are as even as can be and rare ones easier."""
    data = asked(NEARLY_EVEN)
    rare = pl.col("answer") == "yours"
    judged = judge(data, (by_lot(0.4) & (pl.col("question_type") != "whose")) | rare)
    concept = SplitsAudit(concepts=("QT",)).study(data, Local()).tables["concepts"].row(0, named=True)

    assert (concept["head"], concept["tail"]) == (73, 30)
    assert concept["imbalance"] > 0.99
    assert judged.measure("gap, QT", "plain").low > 0.05
    assert judged.verdict.state == "not tested"
    assert "the most: 30 of 3,103, for QT" in judged.verdict.sentence


def test_the_share_of_which_the_verdict_speaks_is_told() -> None:
    """Three quarters of the examples are in even groups, of which nothing is said."""
    data = asked({"which": dict.fromkeys(ANSWERS, 375), "whose": {"mine": 380, "yours": 120}})

    failing = judge(data, pl.col("answer") == "yours").verdict
    steady = judge(data, pl.lit(value=False)).verdict

    assert (failing.state, steady.state) == ("no", "yes")
    for verdict in (failing, steady):
        assert "This speaks of 25% of the 2,000 judged examples (QT)." in verdict.sentence


@pytest.mark.parametrize(("share", "state"), [(0.2, "cannot tell"), (0.5, "no")])
def test_who_is_right_on_most_rare_answers_does_not_fail(share: float, state: str) -> None:
    """Always right on frequent answers, and wrong on a share of the rare ones: surely worse, but perhaps seldom."""
    data = asked({"whose": {"mine": 1600, "yours": 400}})

    found = judge(data, by_lot(share) & (pl.col("answer") == "yours"))

    assert found.measure("pooled gap", "plain").low > 0.05
    assert (found.verdict.state, "right on most" in found.verdict.sentence) == (state, state != "no")


@pytest.mark.parametrize(("rare", "frequent", "more", "state"), [(99, 401, 0, "not tested"), (100, 400, 0, "no")])
def test_a_tail_needs_a_hundred_examples(rare: int, frequent: int, more: int, state: str) -> None:
    data = asked({"which": dict.fromkeys(ANSWERS, 100 + more), "whose": {"mine": frequent, "yours": rare}})

    assert judge(data, pl.col("answer") == "yours").verdict.state == state


@pytest.mark.parametrize(("even", "state"), [(375, "no"), (376, "not tested")])
def test_a_tail_needs_a_twentieth_of_the_judged_examples(even: int, state: str) -> None:
    data = asked({"which": dict.fromkeys(ANSWERS, even), "whose": {"mine": 400, "yours": 100}})

    assert judge(data, pl.col("answer") == "yours").verdict.state == state


def test_groups_from_nine_tenths_on_do_not_count_whatever_the_threshold() -> None:
    """With `gqa-ood` groups up to 0.97 may be imbalanced; an entropy of 0.94 gives no verdict."""
    data = asked({"which": dict.fromkeys(ANSWERS, 250), "whose": {"mine": 320, "yours": 180}})
    judged = judge(data, pl.col("answer") == "yours", threshold="gqa-ood")

    assert judged.measure("accuracy", "plain", "QT", "tail").n == 180
    assert judged.verdict.state == "not tested"


def named(name: str, value: float, half: float, q: float | None = None) -> Measure:
    return Measure(name, value, value - half, value + half, 500, 500, condition="plain", note="KW; a note", q=q)


def test_a_matched_gap_opens_a_yes_and_never_makes_a_no() -> None:
    reach = Reach(("KW",), 0.5, 1000, ("KW", 200))
    small = [named("largest gap", 0.0, 0.04), named("pooled gap", 0.0, 0.02)]

    assert decide(small, 0.05, reach).state == "yes"
    for matched, state in ((named("matched gap, KW", 0.2, 0.1, 0.001), "cannot tell"), (named("x", 0, 0), "yes")):
        assert decide([*small, matched], 0.05, reach).state == state


def test_all_gaps_together_may_show_what_none_shows_alone() -> None:
    reach = Reach(("KW",), 0.5, 1000, ("KW", 200))
    verdict = decide([named("largest gap", 0.1, 0.08), named("pooled gap", 0.1, 0.03)], 0.05, reach)

    assert verdict.state == "no"
    assert "pooled gap" in str(verdict.measure)
