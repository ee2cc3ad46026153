"""Section 4.2 of the Perceptual Score on Social-IQ 2.0: a model that reads nothing but the candidates is seen to."""

from pathlib import Path

import polars as pl
import pytest

from eyechart.audits.perception import PerceptionAudit
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.formats import read
from eyechart.runs.verbs import audit


@pytest.fixture(scope="module")
def candidates(real_data: Path) -> Dataset:
    return read("socialiq", real_data / "socialiq2", form="binary")


class Feeling:
    """Take what sounds good for true; never look at anything but the candidate."""

    name = "feeling"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        from eyechart.audits.perception.bias import sentiment

        good = sentiment(probes["candidate"]).fill_null(0) > 0
        return probes.select("id", answer=pl.when(good).then(pl.lit("true")).otherwise(pl.lit("false")))


def test_sentiment_goes_with_the_label(candidates: Dataset) -> None:
    """A true candidate sounds positive more often than a false one, and the model of it perceives nothing else."""
    chosen = PerceptionAudit(sentiment="candidate", draws=1, score="exact")
    result = audit(candidates, Feeling(), [chosen])["perception"]
    judged = candidates.examples.filter(pl.col("split") == "val")
    felt = {
        (row["answer"], row["given"]): row["len"]
        for row in judged.join(
            Feeling().answer(judged, candidates.images).rename({"answer": "given"}), on="id", validate="1:1"
        )
        .group_by("answer", "given")
        .len()
        .iter_rows(named=True)
    }
    share = {label: felt[label, "true"] / (felt[label, "true"] + felt[label, "false"]) for label in ("true", "false")}

    assert share["true"] > share["false"] + 0.05
    assert result.measure("changed", "video").value == 0
    assert result.measure("changed", "question").value == 0
    assert result.measure("changed", "candidate").value > 0.3
    assert result.verdict.state == "no"
