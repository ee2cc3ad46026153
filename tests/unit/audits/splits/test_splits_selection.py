"""Checkpoints are chosen by OOD test, OOD val and IID val, as in Table 4 of the paper; val is measured apart."""

import json
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits import make_audit
from eyechart.audits.splits.export import selection_table
from eyechart.base.errors import DataError
from eyechart.data.result import Result
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.models import load
from eyechart.runs.exports import find_exporter
from eyechart.runs.run import Run
from eyechart.runs.verbs import audit

# Two checkpoints: one answers more by habit, which pays under the old distribution; one looks more, but guesses.
CHECKPOINTS = {"habit": "mix:seer=0.2,cheater=0.8", "looks": "mix:seer=0.5,guesser=0.5"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = read("world", seed=5, images=1500, shares=(0.4, 0.3, 0.3), strength=0.95)
    run = Run(Store(tmp_path_factory.mktemp("selection") / "run")).start(data, "test")
    run.study([make_audit("splits", {"validation": True, "by": ("answer_type",)})])
    for spec in CHECKPOINTS.values():
        run.audit(load(f"world:{spec}"))
    return run.store.folder


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[str, Result]:
    found = Store(folder).results()
    return {name: found[spec]["splits"] for name, spec in CHECKPOINTS.items()}


def test_each_strategy_takes_its_own_best(results: dict[str, Result]) -> None:
    table = selection_table(results)

    measures = {"OOD test": "OOD mean", "OOD val": "val OOD mean", "IID val": "val accuracy"}
    for strategy, chosen, by in table.select("strategy", "chosen", "by").iter_rows():
        values = {name: result.measure(measures[strategy], "plain").value for name, result in results.items()}
        assert by == values[chosen] == max(values.values())


def test_selecting_by_habit_costs_accuracy_on_rare_answers(results: dict[str, Result]) -> None:
    """The paper's finding: whoever selects on IID val does no better on the OOD test sets."""
    table = selection_table(results)

    chosen = dict(table.select("strategy", "chosen").iter_rows())
    assert chosen == {"OOD test": "looks", "OOD val": "looks", "IID val": "habit"}
    lost = {row["strategy"]: row for row in table.iter_rows(named=True)}
    difference = (
        results["looks"].measure("OOD mean", "plain").value - results["habit"].measure("OOD mean", "plain").value
    )
    assert all(lost["OOD test"][name] == 0 for name in ("lost", "lost_low", "lost_high"))
    assert lost["IID val"]["lost"] == pytest.approx(difference)
    assert 0 < lost["IID val"]["lost_low"] < difference < lost["IID val"]["lost_high"]


def test_validation_rows_are_measured_apart(results: dict[str, Result]) -> None:
    result = results["habit"]
    rows = result.rows
    judged, val = (rows.filter(pl.col("part") == part) for part in ("judged", "val"))

    assert result.measure("accuracy", "plain").n == judged.height == 2250
    assert result.measure("val accuracy", "plain").n == val.height == 2250
    assert judged["val accuracy"].null_count() == judged.height
    assert val["accuracy"].null_count() == val.height
    tail = val.filter(pl.col("val KO") == "tail")["val accuracy"]
    assert result.measure("val accuracy", "plain", "val KO", "tail").value == pytest.approx(tail.mean())
    assert result.measure("accuracy", "plain", "answer_type", "other").n < judged.height


def test_a_run_of_checkpoints_exports_its_selection(folder: Path, results: dict[str, Result], tmp_path: Path) -> None:
    assert find_exporter("splits-selection")(Store(folder), tmp_path) == {"selection.json": 3, "selection.md": 3}

    written = json.loads((tmp_path / "selection.json").read_text())
    assert [one["chosen"] for one in written] == [CHECKPOINTS[name] for name in selection_table(results)["chosen"]]


def test_models_are_listed_side_by_side(folder: Path, results: dict[str, Result], tmp_path: Path) -> None:
    find_exporter("splits-models")(Store(folder), tmp_path)

    written = {one["model"]: one for one in json.loads((tmp_path / "models.json").read_text())}
    for name, spec in CHECKPOINTS.items():
        line = written[spec]
        assert line["IID"] == results[name].measure("accuracy", "plain").value
        assert line["QT+KW"] == results[name].measure("accuracy", "plain", "QT+KW", "tail").value
        assert line["OOD mean, visual"] == results[name].measure("OOD mean, visual", "plain").value


def test_models_can_be_read_side_by_side_in_points(folder: Path, results: dict[str, Result], tmp_path: Path) -> None:
    find_exporter("splits-models")(Store(folder), tmp_path)

    head, _, *lines = (line.strip("| ").split(" | ") for line in (tmp_path / "models.md").read_text().splitlines())
    written = {line[0]: dict(zip(head, line, strict=True)) for line in lines}
    for name, spec in CHECKPOINTS.items():
        tail = results[name].measure("accuracy", "plain", "QT+KW", "tail").value
        assert float(written[spec]["QT+KW"]) == pytest.approx(100 * tail, abs=0.051)


def test_judgements_without_validation_are_refused() -> None:
    data = read("world", seed=5, images=60)

    with pytest.raises(DataError, match="validation=true"):
        selection_table({"one": audit(data, "world:seer", ["splits"])["splits"]})
