"""Harnesses of other people ask what we export; `make harnesses` builds an environment for each and runs the tests."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits.accuracy import Accuracy
from eyechart.audits.decoys import DecoysAudit
from eyechart.base.files import write_table
from eyechart.base.registry import import_object
from eyechart.data.dataset import Dataset
from eyechart.data.probes import Prober
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.runs.run import NamedSplits, Run
from eyechart.runs.verbs import audit

EVERYTHING = NamedSplits(learn=["none"], judge=["none"])  # is judged
CONDITIONS = ("image=blank", "image=none", "plain")
AWAY = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


def needs(variable: str) -> pytest.MarkDecorator:
    """Skip tests where a variable names no Python that has the harness."""
    reason = f"{variable} names no Python with that harness; `make harnesses` builds one"
    return pytest.mark.skipif(not os.environ.get(variable), reason=reason)


@pytest.fixture
def harness(tmp_path: Path) -> Callable[..., str]:
    """Run words with the Python that a variable names, in a folder, and return what it prints."""

    def call(variable: str, folder: Path, *words: object, **variables: str) -> str:
        home = {"HF_HOME": str(tmp_path / "hub"), "HOME": str(tmp_path)}
        env = os.environ | AWAY | home | variables
        command = [os.environ[variable], *map(str, words)]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout + done.stderr

    return call


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Draw a small world whose ids are numbers with leading zeros."""
    data = read("world", tmp_path_factory.mktemp("pictures"), images=8, seed=2, render=True)
    numbers = pl.int_range(pl.len()).cast(pl.String).str.zfill(5)
    return Dataset("quiz", data.examples.with_columns(numbers.alias("id")), data.images)


@pytest.fixture(scope="session")
def run(world: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Make a run with three conditions, one of them without pictures."""
    made = Run(Store(tmp_path_factory.mktemp("asked") / "run")).start(world.sample(6), parts=EVERYTHING)
    made.study([Accuracy()])
    made.probe()
    ids = made.store.probes("plain").select("id")
    for condition in CONDITIONS[:2]:
        probes = Prober(made.store.data).complete(ids.with_columns(removal=pl.lit(condition)), condition)
        write_table(probes, made.store.probe_file(condition))
    return made.store


@pytest.fixture(scope="session")
def repaired(world: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Make a run whose study has repaired options."""
    made = Run(Store(tmp_path_factory.mktemp("decoys") / "run")).start(world)
    made.study([DecoysAudit(sets=("orig", "iou+qou"), folds=2, most=20)])
    return made.store


@pytest.fixture
def export_repaired(repaired: Store) -> Callable[[str, Path], None]:
    """Write repaired options in one of the forms that the audit brings along."""

    def export(form: str, folder: Path) -> None:
        import_object(DecoysAudit.furniture.exports[form])(repaired, folder)

    return export


@pytest.fixture
def judged() -> Callable[[Dataset, Path], float]:
    """Judge logs on the data they answer, and give the accuracy."""
    return _judge


def _judge(data: Dataset, logs: Path) -> float:
    found = audit(data, f"predictions:{logs},extract=yes", [Accuracy()], **EVERYTHING._asdict())
    return found["accuracy"].measure("accuracy", "plain").value
