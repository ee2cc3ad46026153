"""GQA-OOD's published head and tail come out of GQA's own test-dev, label by label."""

from pathlib import Path

import polars as pl
import pytest

from eyechart.audits.splits import SplitsAudit
from eyechart.audits.splits.published import read_sets
from eyechart.data.dataset import Dataset
from eyechart.data.result import Result
from eyechart.engines import Local
from eyechart.formats import read

AUDIT = SplitsAudit(concepts=("groups.local",), threshold="gqa-ood")


@pytest.fixture(scope="module")
def testdev(real_data: Path) -> Dataset:
    return read("gqa", real_data / "gqa" / "testdev_balanced_questions.tar.gz")


@pytest.fixture(scope="module")
def study(testdev: Dataset) -> Result:
    return AUDIT.study(testdev, Local())


def test_the_published_head_and_tail_are_found_again(study: Result, real_data: Path) -> None:
    """All 2,796 labels, and no other example of the 12,578."""
    published = {
        one.side: set(one.ids)
        for side in ("head", "tail")
        for one in read_sets(real_data / "gqa" / f"ood_testdev_{side}.json.gz")
    }

    found = {side: set(study.rows.filter(pl.col("groups.local") == side)["id"]) for side in ("head", "tail")}

    assert found == published
    assert {side: len(ids) for side, ids in found.items()} == {"head": 1733, "tail": 1063}


def test_the_threshold_is_not_the_papers(study: Result) -> None:
    """471 groups are kept, up to an entropy of 0.9649; the paper says 0.9."""
    groups = study.tables["groups"].filter("imbalanced")

    assert groups.height == 471
    assert round(float(groups["entropy"].max()), 4) == 0.9649  # type: ignore[arg-type]
    assert study.tables["concepts"]["threshold"][0] == pytest.approx(0.9656, abs=1e-4)


def test_the_published_files_can_be_judged_by(testdev: Dataset, study: Result, real_data: Path) -> None:
    """The file of tails alone labels the tails."""
    file = real_data / "gqa" / "ood_testdev_tail.json.gz"

    rows = SplitsAudit(from_folder=str(file)).study(testdev, Local()).rows

    tail = study.rows.filter(pl.col("groups.local") == "tail")["id"]
    assert rows.filter(pl.col("ood_testdev") == "tail")["id"].equals(tail)
