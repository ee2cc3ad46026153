"""A model on Ray is opened once a process; a batch that breaks it, or kills its process, is lost alone."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits.accuracy import Accuracy
from eyechart.base.errors import EngineError, ModelError
from eyechart.data.dataset import Dataset
from eyechart.data.protocols import Engine
from eyechart.data.store import Store
from eyechart.engines import Local
from eyechart.engines.ray import Ray
from eyechart.formats import read
from eyechart.models import load
from eyechart.runs.interview import Asking
from eyechart.runs.run import Run

MODELS = '''
import os
from pathlib import Path

import polars as pl


class Opened:
    """Note each opening in a folder, and answer with the number of letters."""

    name = "opened"

    def __init__(self):
        self.weights = None

    def answer(self, probes, images):
        if self.weights is None:
            self.weights = os.getpid()
            (Path(__file__).parent / f"opened-{os.getpid()}-{id(self)}").touch()
        letters = pl.col("question").str.len_chars().cast(pl.String)
        return probes.select("id", letters.alias("answer"))


def touchy(rows):
    if any(row["id"] == POISON for row in rows):
        raise ValueError("poison")
    return ["red" for _ in rows]


def deadly(rows):
    if any(row["id"] == POISON for row in rows):
        os._exit(7)
    return ["red" for _ in rows]


def hopeless(rows):
    raise ValueError("always")
'''


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=21, images=60)


@pytest.fixture
def run(world: Dataset, tmp_path: Path) -> Run:
    started = Run(Store(tmp_path / "run"), asking=Asking(batch=8, allow_partial=True)).start(world)
    started.study([Accuracy()])
    started.probe()
    return started


@pytest.fixture
def models(run: Run, tmp_path: Path) -> Path:
    """Write models into a file; the poison is a probe in the middle."""
    ids = run.store.probes("plain")["id"]
    path = tmp_path / "models.py"
    path.write_text(MODELS + f"\n\nPOISON = {ids[len(ids) // 2]!r}\n", encoding="utf-8")
    return path


def poisoned(run: Run) -> list[str]:
    """List the ids of the batch with the poison."""
    ids = run.store.probes("plain")["id"]
    at = len(ids) // 2 // 8 * 8
    return ids[at : at + 8].to_list()


def test_a_model_is_opened_once_a_process_and_answers_as_here(run: Run, models: Path, engine: Ray) -> None:
    replace(run, engine=engine).predict(load(f"python:{models}:Opened"))
    there = run.store.answers("opened").answers
    opened = list(models.parent.glob("opened-*"))
    replace(run, asking=Asking(fresh=True)).predict(load(f"python:{models}:Opened"))
    here = run.store.answers("opened").answers

    assert 1 <= len(opened) <= 2
    assert here.height > 8 * len(opened)
    assert there.equals(here)


@pytest.mark.parametrize("place", ["here", "ray"])
def test_a_batch_that_breaks_the_model_is_lost_alone(
    place: str, run: Run, models: Path, engine: Ray, caplog: pytest.LogCaptureFixture
) -> None:
    where: Engine = engine if place == "ray" else Local()
    results = replace(run, engine=where).audit(load(f"python:{models}:touchy"))
    answers = run.store.answers("touchy").answers
    failed = answers.filter(pl.col("status") == "failed")

    assert failed["id"].to_list() == poisoned(run)
    line = models.read_text(encoding="utf-8").partition('ValueError("poison")')[0].count("\n") + 1
    assert set(failed["raw"]) == {f"the batch was lost: ValueError: poison (models.py, line {line})"}
    assert dict(results["accuracy"].tables["counts"].select("status", "n").rows())["failed"] == 8
    assert f"touchy: 8 probes failed, ids {poisoned(run)[0]!r} to {poisoned(run)[-1]!r}" in caplog.text


def test_a_batch_that_kills_its_process_is_lost_alone(run: Run, models: Path, engine: Ray) -> None:
    replace(run, engine=engine).audit(load(f"python:{models}:deadly"))
    answers = run.store.answers("deadly").answers
    failed = answers.filter(pl.col("status") == "failed")

    assert failed["id"].to_list() == poisoned(run)
    assert answers.height == run.store.probes("plain").height
    assert failed["raw"][0].startswith("the batch was lost: 3 processes that died on it")


@pytest.mark.parametrize("place", ["here", "ray"])
def test_a_model_that_every_batch_breaks_is_one_clear_error(place: str, run: Run, models: Path, engine: Ray) -> None:
    where: Engine = engine if place == "ray" else Local()

    with pytest.raises(
        ModelError, match=r"3 batches that all broke the model, the last with ValueError: always \(models.py"
    ):
        replace(run, engine=where).predict(load(f"python:{models}:hopeless"))


def keep(batch: pl.DataFrame) -> pl.DataFrame:
    """Stand for a step of a study that breaks at one key."""
    import os

    if 13 in batch["key"]:
        raise ZeroDivisionError("thirteen")
    if 23 in batch["key"]:
        os._exit(7)
    return batch


def batches(first: int, last: int) -> list[pl.DataFrame]:
    return [pl.DataFrame({"key": [at, at + 1]}) for at in range(first, last, 2)]


@pytest.fixture
def _by_value() -> None:
    """Let the processes have this module, which they cannot import."""
    import sys

    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.mark.usefixtures("_by_value")
def test_a_step_that_breaks_names_its_partition(engine: Ray) -> None:
    with pytest.raises(EngineError, match="batch of 2 rows with key 12 to 13; found ZeroDivisionError: thirteen"):
        list(engine.map(keep, batches(0, 20)))


@pytest.mark.usefixtures("_by_value")
def test_a_partition_that_kills_its_processes_is_named(engine: Ray) -> None:
    with pytest.raises(EngineError, match="batch of 2 rows with key 22 to 23; found 3 processes that died on it"):
        list(engine.map(keep, batches(16, 30)))


@pytest.mark.usefixtures("_by_value")
def test_the_engine_goes_on_after_a_fault_and_takes_batches_as_they_are_needed(engine: Ray) -> None:
    """Of a long row of batches only some are taken from their source before results come."""
    taken = 0

    def source() -> pl.DataFrame:
        nonlocal taken
        for batch in batches(100, 300):
            taken += 1
            yield batch

    results = engine.map(keep, source())
    next(results)
    ahead = taken
    rest = pl.concat(results)

    assert ahead <= 6
    assert taken == 100
    assert rest.height == 198


def test_a_model_that_only_waits_is_asked_from_this_process() -> None:
    assert load("openai:some,base_url=http://127.0.0.1:9/v1,cache=off").place == "here"  # type: ignore[attr-defined]
