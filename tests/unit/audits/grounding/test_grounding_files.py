"""Scores and attention that stand in a file of answers reach the measures."""

import json
from pathlib import Path

import pytest

from eyechart.audits.grounding import GroundingAudit
from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.formats.predictions import read_predictions
from eyechart.runs.verbs import audit


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=24, images=30)


def write(path: Path, world: Dataset, sure: float) -> Path:
    """Say "red" of everything, look at the last object alone, and be as sure as told."""
    study = GroundingAudit().study(world, Local())
    rows = [
        {
            "question_id": name,
            "answer": "red",
            "scores": [{"answer": "red", "score": sure}],
            "score_kind": "prob",
            "attention": [0.0] * (n - 1) + [1.0],
        }
        for name, n in study.rows.select("id", "objects").rows()
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_scores_and_attention_of_files_are_used(world: Dataset, tmp_path: Path) -> None:
    files = {
        name: write(tmp_path / f"{name}.jsonl", world, sure)
        for name, sure in (("plain", 0.9), ("evidence", 0.8), ("rest", 0.3))
    }
    model = "predictions:" + ",".join(f"{name}={path}" for name, path in files.items())
    found = audit(world, model, ["grounding"])["grounding"]

    assert found.rows["sufficiency"].to_list() == pytest.approx([0.1] * found.rows.height)
    assert found.rows["comprehensiveness"].to_list() == pytest.approx([0.6] * found.rows.height)
    assert found.rows["attention_relevant"].null_count() == 0
    assert found.verdict.state == "not tested"


def test_attention_that_is_no_list_of_numbers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "it.jsonl").write_text('{"id": "1", "answer": "a", "attention": "high"}', encoding="utf-8")

    with pytest.raises(FileFormatError, match="one number for each object"):
        read_predictions(tmp_path / "it.jsonl")


def test_attention_of_another_length_says_nothing(world: Dataset, tmp_path: Path) -> None:
    ids = GroundingAudit().study(world, Local()).rows["id"]
    path = tmp_path / "it.jsonl"
    path.write_text(
        "\n".join(json.dumps({"id": name, "answer": "red", "attention": [1.0]}) for name in ids), encoding="utf-8"
    )
    found = audit(world, f"predictions:plain={path},evidence={path},rest={path}", ["grounding"])["grounding"]

    assert "attention_relevant" not in found.rows.columns
