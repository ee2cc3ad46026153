"""The search over support and confidence against mining anew at every point."""

import polars as pl
import pytest

from eyechart.audits.rules import RulesAudit
from eyechart.audits.rules.classifier import best_thresholds
from eyechart.audits.rules.settings import RulesSettings
from eyechart.data.dataset import Dataset
from eyechart.engines import Local
from eyechart.formats import read


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=8, images=150)


@pytest.mark.parametrize("superset", ["immediate", "any-subset", "two-sided", "none"])
def test_every_point_is_what_a_study_with_these_thresholds_finds(world: Dataset, superset: str) -> None:
    swept = RulesAudit(select=True, min_support=4, max_items=2, superset=superset).study(world, Local())
    surface = swept.tables["surface"]

    assert surface.height == 20
    for row in surface.gather_every(3).iter_rows(named=True):
        own = RulesAudit(
            min_support=row["min_support"], min_confidence=row["min_confidence"], max_items=2, superset=superset
        ).study(world, Local())
        assert row["rules"] == own.tables["rules"].height - 1
        assert row["kept"] == own.tables["rules"]["kept"].sum()
        for form in ("vote", "best"):
            assert row[form] == pytest.approx(own.measure(f"classifier, {form}", "plain").value)


def test_the_study_is_that_of_the_best_point(world: Dataset) -> None:
    swept = RulesAudit(select=True, min_support=4, max_items=2).study(world, Local())
    best = swept.tables["surface"].filter(pl.col("vote") == pl.col("vote").max()).row(0, named=True)

    assert swept.measure("classifier, vote", "plain").value == pytest.approx(best["vote"])
    assert swept.tables["rules"].height == best["rules"] + 1
    assert swept.settings["min_support"] == 4  # what was asked for, so that the study can be made again


def test_the_best_point_is_the_highest_and_of_equal_ones_the_lowest() -> None:
    """A point at which nothing could be scored is never the best."""
    points = [(8, 0.3, None), (16, 0.5, 0.4), (16, 0.3, 0.4), (8, 0.5, 0.4), (32, 0.3, 0.1)]
    surface = pl.DataFrame(points, schema=["min_support", "min_confidence", "vote"], orient="row")

    best = best_thresholds(RulesSettings(), surface)

    assert (best.min_support, best.min_confidence) == (8, 0.5)
