"""No number that is estimated is shown without its interval and the number of examples behind it."""

from pathlib import Path

import polars as pl
import pytest

from eyechart.audits import AUDITS, make_audit
from eyechart.data.dataset import Dataset
from eyechart.data.result import Result, Verdict, View, measures_table
from eyechart.data.store import Store
from eyechart.data.tables import COUNTS as COUNTS_SCHEMA
from eyechart.data.tables import empty
from eyechart.formats import read
from eyechart.models import load
from eyechart.runs.run import Run

SETTINGS: dict[str, dict[str, object]] = {
    "perception": {"draws": 2, "repeats": 2, "sentiment": "question"},
    "rules": {"select": True},
    "grounding": {"extra": ("without", "keep@50")},
}
# What holds of the data or of one example as it is, so that nothing is estimated and the counts say all.
EXACT = {
    ("decoys", "neutrality"): "a property of the options, with a test: beside it the range of redrawn targets",
    ("perception", "errors"): "the standard errors themselves",
    ("perception", "least"): "single examples, with the number of draws",
    ("splits", "concepts"): "groups of the data, with their numbers of examples",
    ("splits", "coincidence"): "two sets: n of `among`",
    ("splits", "jaccard"): "two sets: n of `among`",
}
COUNTS = ("n", "examples", "draws", "among", "n_tail", "wrong", "held_out_support", "judged n", "fewest")
PLAIN = ("histogram", "gallery")  # counts, and pictures


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=13, images=150)


def lacking(result: Result, view: View) -> list[str]:
    """Say what a view shows without an interval or a count, where it shows numbers that are estimated."""
    table = result.table(view.table)
    seen = table.select(view.columns.values()) if view.columns else table
    if view.kind in PLAIN or not any(dtype.is_float() for dtype in seen.schema.values()):
        return []
    lacks = [] if set(COUNTS) & set(seen.columns) else ["n"]
    if (result.audit, view.table) not in EXACT and not any("low" in name for name in seen.columns):
        lacks.append("interval")
    return [f"{result.audit}, {view.title!r} of {view.table}: no {what}" for what in lacks]


@pytest.mark.parametrize("name", AUDITS.names())
def test_every_view_shows_intervals_and_n(name: str, world: Dataset, tmp_path: Path) -> None:
    audit = make_audit(name, SETTINGS.get(name, {}) | {"by": ("question_type",)})
    run = Run(Store(tmp_path)).start(world)
    results = [*run.study([audit]).values(), *run.audit(load("world:mix:seer=0.5,cheater=0.5")).values()]

    assert sum(len(result.views) for result in results) > 0
    assert [said for result in results for view in result.views for said in lacking(result, view)] == []


def test_a_view_without_them_is_found() -> None:
    table = pl.DataFrame({"id": ["a"], "accuracy": [0.5]})
    view = View("table", "bare", "Bare", "Nothing beside the number.")
    result = Result(
        "made up",
        "x",
        {},
        measures_table([]),
        table,
        {"bare": table, "counts": empty(COUNTS_SCHEMA)},
        (view,),
        Verdict("not tested", "", "", ""),
    )

    assert lacking(result, view) == [f"made up, 'Bare' of bare: no {what}" for what in ("n", "interval")]
