"""GQA's published test-dev and GQA-OOD's head and tail are read row by row as the standard library sees them."""

import gzip
import json
import tarfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eyechart.formats.gqa import read_gqa

Entries = dict[str, dict[str, Any]]
FILES = {
    "testdev_balanced_questions.tar.gz": 12_578,
    "ood_testdev_head.json.gz": 1_733,
    "ood_testdev_tail.json.gz": 1_063,
}


def load(path: Path) -> Entries:
    """Read a published file with nothing of ours."""
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as archive:
            member = archive.extractfile(path.name.replace(".tar.gz", ".json"))
            assert member is not None
            return dict(json.load(member))
    with gzip.open(path) as file:
        return dict(json.load(file))


@pytest.mark.parametrize("name", FILES)
def test_every_question_is_read_as_it_was_published(name: str, real_data: Path) -> None:
    """Nothing is dropped, and that the annotations give no evidence without scene graphs is said."""
    published = load(real_data / "gqa" / name)

    data = read_gqa(real_data / "gqa" / name)

    assert data.examples.height == len(published) == FILES[name]
    assert data.examples["id"].dtype == pl.String
    assert data.splits() == ("testdev",)
    for row in data.examples.iter_rows(named=True):
        one = published[row["id"]]
        assert row == {
            "id": row["id"],
            "image": one["imageId"],
            "question": one["question"],
            "answer": one["answer"],
            "question_type": one["types"]["structural"],
            "semantic_type": one["types"]["semantic"],
            "detailed_type": one["types"]["detailed"],
            "group_local": one["groups"]["local"],
            "group_global": one["groups"]["global"],
            "full_answer": one["fullAnswer"],
            "balanced": one["isBalanced"],
            "entailed": one["entailed"],
            "split": "testdev",
        }
    annotated = sum(any(part for part in one["annotations"].values()) for one in published.values())
    assert data.counts.select("status", "reason", "n").rows() == [
        ("read", None, FILES[name]),
        ("noted", "annotated row, but no scene graphs: no evidence", annotated),
    ]


def test_evidence_on_real_annotations_agrees_with_plain_dictionaries(real_data: Path, tmp_path: Path) -> None:
    """Test-dev's scene graphs are not published: planted ones hold every second annotated object of real questions."""
    published = load(real_data / "gqa" / "ood_testdev_tail.json.gz")
    named: dict[str, set[str]] = {}
    for one in published.values():
        objects = {name for part in one["annotations"].values() for name in part.values()}
        named.setdefault(one["imageId"], set()).update(objects)
    graphs = {
        image: {
            "width": 640,
            "height": 480,
            "objects": {
                name: {"name": f"thing {name}", "x": int(name), "y": 1, "w": 10, "h": 20}
                for name in objects
                if int(name) % 2
            },
        }
        for image, objects in named.items()
    }
    (tmp_path / "sceneGraphs.json").write_text(json.dumps(graphs))

    data = read_gqa(real_data / "gqa" / "ood_testdev_tail.json.gz", scene_graphs=tmp_path / "sceneGraphs.json")

    missing = 0
    for name, evidence in data.examples.select("id", "evidence").iter_rows():
        wanted = {thing for part in published[name]["annotations"].values() for thing in part.values()}
        found = {one["label"]: one["box"] for one in evidence}
        assert len(found) == len(evidence)
        assert found == {f"thing {one}": [int(one), 1, int(one) + 10, 21] for one in wanted if int(one) % 2}
        missing += sum(int(one) % 2 == 0 for one in wanted)
    assert ("noted", "annotated object that is not in the scene graph", missing) in data.counts.drop("condition").rows()
