"""A real server of a real (tiny) model: asked over the network it says what it says in this process."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eyechart.data.dataset import Dataset
from eyechart.data.pictures import Picture
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.language.prompts import PromptBatch
from eyechart.models import load
from eyechart.models.endpoint import Endpoint
from eyechart.models.huggingface import HuggingFace
from eyechart.runs.verbs import audit

pytest.importorskip("openai")
pytest.importorskip("transformers.cli.serve", reason="transformers is installed without its extra `serving`")


@pytest.fixture
def world(tmp_path: Path) -> Dataset:
    data = read("world", tmp_path / "pictures", images=20, seed=3, render=True)
    data.save(tmp_path / "data")
    return Dataset.load(tmp_path / "data").sample(16, seed=1)


def test_a_served_model_says_what_it_says_in_this_process(tiny_llava: Path, url: str) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (6, 50, 70, 3), np.uint8)
    pictures = [Picture.of(each) for each in pixels]
    shown = PromptBatch([f"what color is it? {n}" for n in range(6)], [*pictures[:5], None], [None] * 6)
    here = HuggingFace(str(tiny_llava), device="cpu", dtype="float32", max_new_tokens=8).respond(shown)
    there = Endpoint(str(tiny_llava), url, max_new_tokens=8).respond(shown)

    assert [one.raw for one in there] == [one.raw for one in here]
    assert len({one.raw for one in here}) > 1  # it does look


@pytest.fixture(params=["hf", "openai"])
def spec(request: pytest.FixtureRequest, tiny_llava: Path, url: str, tmp_path: Path) -> str:
    """Name the model in this process, and as it is served."""
    where = f"base_url={url}" if request.param == "openai" else "device=cpu"
    return f"{request.param}:{tiny_llava},max_new_tokens=4,cache={tmp_path / 'cache.sqlite'},{where}"


def test_a_second_run_asks_nothing(spec: str, world: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line runs all audits of a model of either kind, in `test_all_audits_from_the_command_line`."""
    model = load(spec)
    results = audit(world, model, ["accuracy", "perception"], to=tmp_path / "run")
    answers = Store(tmp_path / "run").answers(model.name).answers
    for responder in (HuggingFace, Endpoint):
        monkeypatch.setattr(responder, "respond", None)
    again = audit(world, load(spec), ["accuracy", "perception"], to=tmp_path / "again")

    assert "failed" not in answers["status"].unique()
    for name, result in results.items():
        assert result.tables["parsing"].height > 0
        assert result.measures.equals(again[name].measures), name
    plain = results["accuracy"].tables["counts"].filter(pl.col("condition") == "plain")["n"].sum()
    assert plain == Store(tmp_path / "run").probes("plain").height
