"""Every audit judges the set that the run stored for its kind, in every form of data; train is never judged."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits import AUDITS, learns, make_audit
from eyechart.data.dataset import Dataset
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.models import load
from eyechart.runs.run import NamedSplits, Run

SETTINGS = {"rules": {"min_support": "3"}, "perception": {"draws": "1"}, "splits": {"concepts": "QT"}}
SETTINGS["decoys"] = {"sets": "orig,iou+qou", "folds": "2"}  # every set is made of the same examples
SPLIT = pl.col("split")


def renamed(**names: str) -> Callable[[Dataset], Dataset]:
    return lambda data: replace(data, examples=data.examples.with_columns(SPLIT.replace(names)))


def without_splits(data: Dataset) -> Dataset:
    return replace(data, examples=data.examples.drop("split"))


FORMS: dict[str, tuple[Callable[[Dataset], Dataset], NamedSplits]] = {
    "train, val and test": (lambda data: data, NamedSplits()),
    "no split column": (without_splits, NamedSplits()),
    "train and dev": (renamed(test="dev", val="dev"), NamedSplits()),
    "test alone": (lambda data: data.take(SPLIT == "test"), NamedSplits()),
    "another name alone": (renamed(train="testdev", val="testdev", test="testdev"), NamedSplits()),
    "train and val": (lambda data: data.take(SPLIT != "test"), NamedSplits()),
    "train, test and rows of none": (
        lambda data: replace(
            data, examples=data.examples.with_columns(pl.when(SPLIT != "val").then(SPLIT).alias("split"))
        ),
        NamedSplits(),
    ),
    "val named": (lambda data: data, NamedSplits(judge=["val"])),
    "nothing to learn from": (lambda data: data, NamedSplits(learn=["none"])),
    "two judged": (lambda data: data, NamedSplits(judge=["val", "test"])),
}


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=11, images=60)


@pytest.mark.parametrize("form", FORMS)
def test_each_audit_judges_the_stored_set_of_its_kind(world: Dataset, tmp_path: Path, form: str) -> None:
    make, parts = FORMS[form]
    data = make(world)
    run = Run(Store(tmp_path / "run")).start(data, parts=parts)
    audits = [make_audit(name, SETTINGS.get(name)) for name in AUDITS.names()]
    run.study(audits)
    run.audit(load("world:guesser"))

    stored = Store(tmp_path / "run")
    assert stored.divided is not None
    for audit in audits:
        wanted = stored.data.divided(learns=learns(audit)).judge.examples.drop_nulls("answer")
        study, result = stored.studies()[audit.name], stored.results()["guesser"][audit.name]
        judged = result.rows
        for one in (study, result):
            assert set(one.rows["id"]) <= set(wanted["id"]), audit.name
            assert one.measures.filter(pl.col("unit") == "points").filter(pl.col("n") > wanted.height).is_empty()
        # Of what may be judged an audit leaves out only what lacks something it needs, and counts it.
        counts = study.tables["counts"].filter(pl.col("status") == "left out", pl.col("condition").is_null())
        left_out = counts.filter(pl.col("reason") != "in another split")["n"].sum()
        assert judged.height + left_out == wanted.height, audit.name
        if "split" in data.columns:
            assert "train" not in set(data.examples.join(judged, on="id", how="semi")["split"]), audit.name


@pytest.mark.parametrize("form", FORMS)
def test_audits_judge_what_others_of_their_kind_judge(world: Dataset, tmp_path: Path, form: str) -> None:
    """Sizes on the page are those of the sets: both where they differ."""
    make, parts = FORMS[form]
    run = Run(Store(tmp_path / "run")).start(make(world), parts=parts)
    run.study([make_audit(name, SETTINGS.get(name)) for name in ("accuracy", "rules")])
    divided = Store(tmp_path / "run").divided
    rows = {name: study.rows.height for name, study in run.store.studies().items()}

    assert divided is not None
    assert rows == {"accuracy": divided.sizes.judged, "rules": divided.sizes.held_out}
    assert divided.sizes.learned + divided.sizes.judged + divided.sizes.neither == run.store.data.height


@pytest.mark.parametrize("column", ["kind", "rule", "matches"])
def test_comparisons_across_audits_use_what_both_judged(world: Dataset, tmp_path: Path, column: str) -> None:
    """Accuracy judges everything where there are no splits, rules what is held out: by a column of rules, only that."""
    run = Run(Store(tmp_path / "run")).start(without_splits(world))
    run.study([make_audit("accuracy", {"by": f"rules.{column}"}), make_audit("rules", SETTINGS["rules"])])
    accuracy = run.audit(load("world:guesser"))["accuracy"]
    groups = accuracy.measures.filter(pl.col("by") == f"rules.{column}")
    lent = run.store.studies()["rules"].rows.select(pl.col(column).cast(pl.String).fill_null("(none)").value_counts())

    assert accuracy.measure("accuracy", "plain").n == world.height
    assert dict(groups.select("group", "n").iter_rows()) == dict(lent.unnest(column).iter_rows())
