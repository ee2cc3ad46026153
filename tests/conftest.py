"""Data that many tests share."""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from hypothesis import settings

from eyechart.cli import main
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images

PROJECT = Path(__file__).parent.parent
# `make test` draws the same examples each time; `make fuzz` draws others each time, and many in tests/fuzz.
settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.register_profile("fresh", derandomize=False, max_examples=300, deadline=None)
settings.register_profile("fuzz", derandomize=False, max_examples=10_000, deadline=None)
settings.load_profile("fixed")


def pytest_collection_finish() -> None:
    """Take all that is loaded by now for good: each look for garbage would go through half a million objects again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _never_wait_for_the_disk() -> Iterator[None]:
    """Let files be written when the system likes: no test cuts the power."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session")
def tiny() -> Dataset:
    """Eight questions on four images, half of them train, half test."""
    examples = pl.DataFrame(
        {
            "id": [f"0{n}" for n in range(8)],
            "image": ["a", "a", "b", "b", "c", "c", "d", "d"],
            "question": ["what color is it?", "is it big?"] * 4,
            "answer": ["red", "yes", "red", "no", "red", "yes", "blue", "yes"],
            "question_type": ["what color", "is it"] * 4,
            "split": ["train"] * 4 + ["test"] * 4,
        }
    )
    return Dataset("tiny", examples, Images.named(examples["image"]))


@pytest.fixture
def eyechart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Run a command in an empty folder and return its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["eyechart", *map(str, words)])
        with pytest.raises(SystemExit) as leaving:
            main()
        out, err = capsys.readouterr()
        return int(leaving.value.code or 0), out, err

    return run


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Point to the real data, which are never part of the project."""
    folder = Path(os.environ.get("EYECHART_DATA", PROJECT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the real data are not at {folder}; set EYECHART_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def tiny_llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a chat model that sees pictures, with random weights."""
    return _saved("llava", tmp_path_factory)


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a language model without eyes, with random weights."""
    return _saved("llama", tmp_path_factory)


@pytest.fixture(scope="session")
def tiny_vilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a classic VQA model, with random weights."""
    return _saved("vilt", tmp_path_factory)


def _saved(name: str, folders: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from saved import tiny_models

    save = {"llava": tiny_models.save_llava, "llama": tiny_models.save_llama, "vilt": tiny_models.save_vilt}
    return save[name](folders.mktemp("models") / name)
