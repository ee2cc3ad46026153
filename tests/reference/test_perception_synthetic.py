"""Synthetic data of the Perceptual Score (4.5): an oracle has the known scores, a linear model none for a and b."""

import numpy as np
import polars as pl
import pytest

from eyechart.audits.perception import PerceptionAudit
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.runs.verbs import audit

# sd of c: P_a = P_b, P_c of one who knows the rule, by simulation of a million examples.
ORACLE = {0.3: (39.8, 14.3), 0.5: (32.6, 24.6), 0.7: (27.5, 31.1), 1.0: (21.9, 37.0)}
N = 6000


def make_synthetic(spread: float) -> Dataset:
    """Label by a*b + c > 0, rejecting what is within 0.25 of the boundary."""
    drawn = np.random.default_rng(round(10 * spread)).normal(size=(5 * N, 3)) * [1, 1, spread]
    value = drawn[:, 0] * drawn[:, 1] + drawn[:, 2]
    kept = np.flatnonzero(np.abs(value) > 0.25)[:N]
    nothing = pl.Series([None] * N, dtype=pl.String)
    examples = pl.DataFrame(
        {
            "id": [f"{at:05}" for at in range(N)],
            "image": nothing,
            "question": nothing,
            "answer": np.where(value[kept] > 0, "1", "0"),
            "split": ["train", "test"] * (N // 2),
            **{name: pl.Series(drawn[kept, at]).cast(pl.String) for at, name in enumerate("abc")},
        }
    )
    return Dataset("synthetic", examples, Images.named(examples["image"]), ("a", "b", "c"), "id")


class Oracle:
    """Know the rule."""

    name = "oracle"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        a, b, c = (probes[name].cast(pl.Float64) for name in "abc")
        return probes.select("id", answer=(a * b + c > 0).cast(pl.Int8).cast(pl.String))


class Linear:
    """Weigh the three, as a logistic regression learned to."""

    name = "linear"

    def __init__(self, data: Dataset) -> None:
        from sklearn.linear_model import LogisticRegression

        train = data.examples.filter(pl.col("split") == "train")
        self.fitted = LogisticRegression().fit(self.numbers(train), train["answer"].to_list())

    def numbers(self, table: pl.DataFrame) -> np.ndarray:
        return table.select(pl.col("a", "b", "c").cast(pl.Float64)).to_numpy()

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        said = self.fitted.predict(self.numbers(probes))
        return pl.DataFrame({"id": probes["id"], "answer": pl.Series(said, dtype=pl.String)})


@pytest.mark.parametrize("spread", ORACLE)
def test_the_oracle_has_the_known_scores(spread: float) -> None:
    data = make_synthetic(spread)
    result = audit(data, Oracle(), [PerceptionAudit(donors="uniform", draws=8, score="exact")])["perception"]

    for name, truth in zip("abc", (ORACLE[spread][0], *ORACLE[spread]), strict=True):
        found = result.measure("perception", name)
        # Three times the half-width: twelve intervals of fixed seeds, and truths rounded to a tenth.
        assert abs(100 * found.value - truth) < 150 * (found.high - found.low), (name, found)


def test_a_linear_model_perceives_c_alone() -> None:
    data = make_synthetic(1.0)
    result = audit(data, Linear(data), [PerceptionAudit(donors="uniform", score="exact")])["perception"]

    assert abs(result.measure("perception", "a").value) < 0.03
    assert abs(result.measure("perception", "b").value) < 0.03
    assert 0.3 < result.measure("perception", "c").value < 0.38
