"""Results and a run folder made by hand, full of characters that HTML must not take at their word."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eyechart.base.files import write_record, write_table
from eyechart.data.dataset import Dataset
from eyechart.data.furniture import Look
from eyechart.data.images import Images
from eyechart.data.records import DivisionRecord, RunManifest, StudyPlan
from eyechart.data.result import Key, Measure, Result, Verdict, View, measures_table
from eyechart.data.store import Store, fingerprint
from eyechart.data.tables import ANSWERS, COUNTS, PROBES, empty
from eyechart.reporting import Page, collect

NASTY = "<script>alert(1)</script>"
STRANGE = Look(r"strange(#\d+)?", f"a condition of a stranger's audit {NASTY}", "#12ab9f")
THREE = {"b/two": 0.5, "a:one": 0.7, f"c {NASTY}": 0.1}  # models, and a value of each
BY_TYPE = {"x": "value", "y": "group", "low": "low", "high": "high", "n": "n"}


def counted(*rows: tuple[str | None, str, str | None, int]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row")


def make_result(subject: str, *, audit: str = "accuracy", value: float = 0.61, groups: int = 3) -> Result:
    names = [NASTY, *(f"type {n}" for n in range(1, groups))]
    measures = [
        Measure(
            "gain",
            value,
            value - 0.0321,
            value + 0.0321,
            1234,
            321,
            None,
            "plain",
            score="vqa",
            better="higher",
            p=0.00004,
            q=0.03,
        ),
        Measure("ratio", 1.5, float("nan"), float("nan"), 99, unit="ratio", note="too few clusters"),
        *(
            Measure("accuracy", k / groups, k / groups - 0.01, k / groups + 0.01, 40 + k, 7, by="type", group=name)
            for k, name in enumerate(names)
        ),
    ]
    return Result(
        audit,
        subject,
        {"by": ("type",), "margin": 0.01, "said": NASTY},
        measures_table(measures),
        pl.DataFrame({"id": ["1"]}),
        {"counts": counted(("plain", "ok", None, 1200), ("plain", "failed", f"lost {NASTY}", 34))},
        (View("bars", "measures", f"By type {NASTY}", f"How to read {NASTY}.", BY_TYPE, {"by": "type"}),),
        Verdict(
            "no",
            "Better than guessing?",
            "no better than guessing",
            f"{subject} does not beat the floor.",
            Key("gain", "plain"),
            0.01,
        ),
    )


def make_kinds() -> Result:
    """Make a result with a view of every kind."""
    rng = np.random.default_rng(5)
    rows = pl.DataFrame(
        {
            "id": [str(n) for n in range(60)],
            "sure": rng.beta(3, 2, 60),
            "length": rng.integers(1, 9, 60),
            "kind": rng.choice([NASTY, "seen"], 60),
            "far": rng.normal(0, 30, 60),
        }
    )
    curve = pl.DataFrame({"keep": [0, 50, 100] * 2, "right": [0.1, 0.3, 0.6] * 2, "order": ["a"] * 3 + [NASTY] * 3})
    curve = curve.with_columns(low=pl.col("right") - 0.05, high=pl.col("right") + 0.05)
    cells = pl.DataFrame(
        {"train": [NASTY, NASTY, "no", "no"], "test": ["yes", "no"] * 2, "lift": [0.1, -0.2, 0.3, None]}
    )
    rules = pl.DataFrame({"words": [["what", NASTY], ["sport"]], "answer": ["red", NASTY], "support": [12345, 7]})
    views = (
        View("bars", "cells", "bars", "", {"x": "lift", "y": "test", "color": "train"}, units={"lift": "points"}),
        View("histogram", "rows", "share histogram", "", {"x": "sure"}, units={"sure": "points"}),
        View("histogram", "rows", "number histogram", "", {"x": "length", "color": "kind"}),
        View("histogram", "rows", "word histogram", "", {"x": "kind"}),
        View(
            "lines",
            "curve",
            "lines",
            "",
            {"x": "keep", "y": "right", "low": "low", "high": "high", "color": "order"},
            units={"right": "points", "low": "points", "high": "points"},
        ),
        View("lines", "curve", "word lines", "", {"x": "order", "y": "right"}, units={"right": "points"}),
        View("matrix", "cells", "matrix", "", {"x": "test", "y": "train", "color": "lift"}, units={"lift": "points"}),
        View("scatter", "rows", "scatter", "", {"x": "sure", "y": "far", "color": "kind"}, units={"sure": "points"}),
        View("scatter", "rules", "named scatter", "", {"x": "support", "y": "support", "label": "answer"}),
        View("table", "rules", "table", ""),
        View("gallery", "rules", "gallery", "", {"label": "answer", "n": "support"}),
        View("bars", "nothing", "empty bars", "", {"x": "support", "y": "answer"}),
    )
    counts = counted((None, "judged", None, 60))
    tables = {"counts": counts, "curve": curve, "cells": cells, "rules": rules, "nothing": rules.clear()}
    verdict = Verdict("not tested", "Any question?", "describes", "It describes.")
    return Result("kinds", "all", {}, measures_table([]), rows, tables, views, verdict)


def make_folder(folder: Path, models: dict[str, float], *, limit: int | None = None) -> Store:
    """Lay out a run folder: four examples, of which each model answers two usably, fails one and misses one."""
    run = Store(folder)
    examples = pl.DataFrame(
        {
            "id": ["01", "02", "03", "04"],
            "image": ["a", "a", "b", None],
            "question": ["q"] * 4,
            "answer": ["yes"] * 4,
            "split": ["train", "test", "test", None],
        }
    )
    counts = counted((None, "read", None, 4), (None, "dropped", f"no picture {NASTY}", 17))
    data = Dataset(f"data {NASTY}", examples, Images.named(examples["image"]), counts=counts).decide(seed=7)
    data.save(folder / "data")
    manifest = RunManifest("run", f"eyechart audit --seed 7 {NASTY}", 7, limit, fingerprint(folder / "data"))
    write_record(manifest, folder / "manifest.json")
    assert data.division is not None
    write_record(DivisionRecord("divided", data.division, data.sizes()), run.division_file)
    make_result("the data", value=0.2).save(run.study_folder("accuracy"))
    write_record(StudyPlan("accuracy", {}, division=data.division, looks=(STRANGE,)), run.plan_file("accuracy"))
    probes = examples.select("id", pl.lit("plain").alias("condition"), pl.lit("p").alias("probe"))
    write_table(pl.concat([empty(PROBES), probes], how="diagonal"), run.probe_file("plain"))
    for model, value in models.items():
        make_result(model, value=value).save(run.result_folder(model, "accuracy"))
        answers = probes.head(3).with_columns(draw=0, status=pl.Series(["ok", "refused", "failed"]))
        write_table(pl.concat([empty(ANSWERS), answers], how="diagonal_relaxed"), run.answer_file(model, "plain"))
        write_table(counted(("plain", "extra", "nobody asked", 12)), run.stock_file(model))
    return run


@pytest.fixture
def nasty() -> str:
    return NASTY


@pytest.fixture
def result() -> Result:
    return make_result(f"model {NASTY}")


@pytest.fixture
def kinds() -> Result:
    return make_kinds()


@pytest.fixture
def run(tmp_path: Path) -> Store:
    """Lay out a run with three models, which a test may change."""
    return make_folder(tmp_path / "run", THREE, limit=4)


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """Collect a run with three models."""
    return collect(make_folder(tmp_path_factory.mktemp("reporting") / "run", THREE, limit=4))


@pytest.fixture
def data_only(tmp_path: Path) -> Store:
    """Lay out a run with a study and no model."""
    return make_folder(tmp_path / "studied", {})
