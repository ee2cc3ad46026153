"""A chat model that sees pictures goes the whole way: every audit, on a world that is drawn."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import eyechart
from eyechart.audits import AUDITS, make_audit
from eyechart.base.errors import ModelError
from eyechart.data.dataset import Dataset
from eyechart.data.store import Store
from eyechart.models.weights import find_revision, load_weights
from eyechart.runs.run import Asking

SETTINGS = "decide=scores,prompt=auto,max_new_tokens=2,batch=32,cache=off"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Draw a small world and keep a few of its questions."""
    whole = eyechart.read("world", tmp_path_factory.mktemp("world"), seed=0, images=16, render=True)
    return whole.sample(40)


@pytest.mark.usefixtures("hub_is_off")
def test_all_audits_run_to_the_end_and_some_again_alike(world: Dataset, tiny_llava: Path, tmp_path: Path) -> None:
    model, partly = f"hf:{tiny_llava},{SETTINGS}", Asking(allow_partial=True)
    # Of decoys only the sets that models are asked about, the others having nothing to do with a model.
    settings = {"decoys": {"sets": ("orig", "iou+qou"), "folds": 2}}
    audits = [make_audit(name, settings.get(name)) for name in AUDITS.names()]
    first = eyechart.audit(world, model, audits, to=tmp_path / "one", asking=partly)
    again = eyechart.audit(world, model, ["accuracy", "grounding"], to=tmp_path / "two", asking=partly)

    assert set(first) == set(AUDITS.names())
    assert all(result.measures.height for result in first.values())
    for name, result in again.items():
        assert_frame_equal(first[name].measures, result.measures)
        assert_frame_equal(first[name].rows, result.rows)
    answers = Store(tmp_path / "one").answers("llava,decide=scores,prompt=auto,max_new_tokens=2").answers
    assert "failed" not in set(answers["status"])
    assert (answers.filter(pl.col("scores").is_not_null())["status"] == "ok").all()


@pytest.mark.usefixtures("hub_is_off")
def test_other_weights_cannot_go_on_with_the_answers_of_a_run(world: Dataset, tiny_llama: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_llama, tmp_path / "model")
    model = f"hf:{folder},max_new_tokens=1,cache=off"
    partly = Asking(allow_partial=True)
    eyechart.audit(world, model, ["accuracy"], to=tmp_path / "run", asking=partly)
    told = json.loads(Store(tmp_path / "run").asked_file("model,max_new_tokens=1").read_text())["identity"]

    assert told["revision"] == find_revision(str(folder), None)
    assert told["prompt"] == "auto@1"
    eyechart.audit(world, model, ["accuracy"], to=tmp_path / "run", asking=partly)

    (folder / "generation_config.json").write_text('{"eos_token_id": 2}')
    find_revision.cache_clear()
    load_weights.cache_clear()
    with pytest.raises(ModelError, match="found another revision; ask it again with --fresh"):
        eyechart.audit(world, model, ["accuracy"], to=tmp_path / "run", asking=partly)
    eyechart.audit(world, model, ["accuracy"], to=tmp_path / "run", asking=Asking(fresh=True, allow_partial=True))


@pytest.fixture
def hub_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make sure that nothing is looked up anywhere else."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
