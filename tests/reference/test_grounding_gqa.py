"""GQA: the real records carry no boxes, a hand-made scene graph does, and three files of answers are judged alone."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eyechart.audits.grounding import GroundingAudit
from eyechart.base.errors import DataError, ModelError
from eyechart.data.dataset import Dataset
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.runs.verbs import audit, study

# Two things on each of two pictures of 200 x 100; question 3 names an object that is not in the scene.
GRAPHS = {
    image: {
        "width": 200,
        "height": 100,
        "objects": {
            "11": {"name": "cat", "x": 10, "y": 10, "w": 40, "h": 40},
            "12": {"name": "cup", "x": 120, "y": 30, "w": 50, "h": 60},
            "13": {"name": "dust", "x": 5, "y": 5, "w": 0, "h": 4},
        },
    }
    for image in ("n1", "n2")
}
QUESTIONS: dict[str, Any] = {
    "0001": (
        "n1",
        "What animal is left of the cup?",
        "cat",
        {"answer": {"0": "11"}, "question": {"4": "12"}, "fullAnswer": {}},
    ),
    "0002": ("n1", "Is there a cat?", "yes", {"answer": {}, "question": {"3": "11"}, "fullAnswer": {"1": "11"}}),
    "0003": ("n2", "What is red?", "cup", {"answer": {"0": "99"}, "question": {}, "fullAnswer": {}}),
    "0004": ("n2", "What is on the table?", "cup", {"answer": {"0": "12"}, "question": {}, "fullAnswer": {}}),
    "0005": ("n2", "What lies there?", "dust", {"answer": {"0": "13"}, "question": {}, "fullAnswer": {}}),
}


@pytest.fixture
def graphs(tmp_path: Path) -> Dataset:
    records = {
        name: {"imageId": image, "question": question, "answer": answer, "annotations": marks, "isBalanced": True}
        for name, (image, question, answer, marks) in QUESTIONS.items()
    }
    (tmp_path / "val_balanced_questions.json").write_text(json.dumps(records), encoding="utf-8")
    (tmp_path / "val_sceneGraphs.json").write_text(json.dumps(GRAPHS), encoding="utf-8")
    return read("gqa", tmp_path / "val_balanced_questions.json", scene_graphs=tmp_path / "val_sceneGraphs.json")


def write(folder: Path, name: str, answers: dict[str, str]) -> Path:
    rows = [{"questionId": key, "prediction": said} for key, said in answers.items()]
    (folder / name).write_text(json.dumps(rows), encoding="utf-8")
    return folder / name


def test_the_real_records_have_no_evidence_and_that_is_one_line(real_data: Path) -> None:
    data = read("gqa", real_data / "gqa" / "ood_testdev_tail.json.gz")
    with pytest.raises(DataError, match="audit 'grounding' needs; found no evidence") as caught:
        study(data, ["grounding"])

    assert "\n" not in str(caught.value)
    assert "annotated row, but no scene graphs: no evidence" in data.counts["reason"].to_list()


def test_a_scene_graph_gives_evidence_and_objects(graphs: Dataset) -> None:
    found = GroundingAudit().study(graphs, Local())
    lost = {row["reason"]: row["n"] for row in found.tables["counts"].to_dicts() if row["reason"]}

    # All of 0001's objects but the dust are relevant; the dust has no area and shows nothing.
    assert found.rows.select("id", "relevant", "irrelevant").rows() == [("0002", 1, 1), ("0004", 1, 1)]
    assert lost == {
        "no object away from the evidence": 1,
        "the evidence is an empty list": 1,
        "no box of the evidence has an area": 1,
    }
    assert "annotated object that is not in the scene graph" in graphs.counts["reason"].to_list()


def test_three_files_of_answers_are_judged_without_a_model(graphs: Dataset, tmp_path: Path) -> None:
    """0002 keeps its answer with the evidence and changes it without; 0004 never changes it."""
    everything = write(tmp_path, "all.json", dict.fromkeys(QUESTIONS, "cup") | {"0002": "yes"})
    relevant = write(tmp_path, "rel.json", dict.fromkeys(QUESTIONS, "cup") | {"0002": "Yes."})
    irrelevant = write(tmp_path, "irrel.json", dict.fromkeys(QUESTIONS, "cup") | {"0002": "no"})
    model = f"predictions:plain={everything},evidence={relevant},rest={irrelevant},extract=no"  # as GQA's own script
    found = audit(graphs, model, ["grounding"])["grounding"]
    raw = audit(graphs, model, [GroundingAudit(same="raw")])["grounding"]

    assert found.rows.select("id", "grounded", "acc_all", "acc_rel", "acc_irrel").rows() == [
        ("0002", 1.0, 1.0, 0.0, 0.0),
        ("0004", 0.0, 1.0, 1.0, 1.0),
    ]
    assert raw.rows["grounded"].to_list() == [0, 0]


def test_two_of_three_files_are_not_enough(graphs: Dataset, tmp_path: Path) -> None:
    one = write(tmp_path, "all.json", dict.fromkeys(QUESTIONS, "cup"))
    with pytest.raises(ModelError, match=r"condition 'rest'; found plain, evidence; add it: .*rest=FILE"):
        audit(graphs, f"predictions:plain={one},evidence={one}", ["grounding"])


def test_detections_are_matched_with_the_evidence(graphs: Dataset, tmp_path: Path) -> None:
    """Boxes of a detector in COCO's form: two find the cat, one the background, one half of everything."""
    boxes = [[12, 8, 40, 41], [9, 9, 42, 44], [150, 5, 40, 15], [0, 0, 200, 60]]
    coco = {
        "images": [{"id": "n1", "file_name": "n1.jpg", "width": 200, "height": 100}],
        "annotations": [{"image_id": "n1", "category_id": "1", "bbox": box} for box in boxes],
        "categories": [{"id": "1", "name": "thing"}],
    }
    (tmp_path / "instances.json").write_text(json.dumps(coco), encoding="utf-8")
    data = read(
        "gqa",
        tmp_path / "val_balanced_questions.json",
        scene_graphs=tmp_path / "val_sceneGraphs.json",
        detections=tmp_path / "instances.json",
    )
    probed = {}
    for published in ("none", "fpvg"):
        chosen = GroundingAudit(published=published, sees="objects")
        cat = data.take(pl.col("id") == "0002")
        probes = dict(chosen.probe(cat, chosen.study(cat, Local())))
        probed[published] = [probes[name]["visible"].to_list() for name in ("evidence", "rest")]

    # The wide box holds all of the cat, which is an eighth of it: irrelevant only by the release's measure.
    assert probed == {"none": [[[0, 1]], [[2]]], "fpvg": [[[0, 1]], [[2, 3]]]}
