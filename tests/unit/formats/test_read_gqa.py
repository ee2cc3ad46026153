"""GQA: ids stay text, every entry has a fate, and evidence is what the annotations name in the scene graph."""

import gzip
import io
import json
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats.gqa import EvidenceKind, read_gqa

Record = dict[str, Any]
GRAPHS = {
    "n1": {
        "width": 500,
        "height": 400,
        "objects": {
            "10": {"name": "cat", "x": 1, "y": 2, "w": 30, "h": 40, "attributes": [], "relations": []},
            "11": {"name": "mat", "x": 5, "y": 6, "w": 7, "h": 8},
            "12": {"name": "line", "x": 5, "y": 6, "w": 0, "h": 8},
            "13": {"name": "hole", "x": 5, "y": 6, "w": -1, "h": 8},
            "14": {"x": 5, "y": 6, "w": 1, "h": 8},
        },
    },
    "n2": {"width": 50, "height": 40, "objects": {}},
    "n9": {"width": 1, "height": 1, "objects": {"10": {"name": "dog", "x": 0, "y": 0, "w": 1, "h": 1}}},
}


def record(image: str = "n1", **more: object) -> Record:
    return {
        "question": "What is on the mat?",
        "answer": "cat",
        "fullAnswer": "The cat is on the mat.",
        "imageId": image,
        "isBalanced": True,
        "groups": {"global": "animal", "local": "13-mat_on,s"},
        "types": {"structural": "query", "semantic": "rel", "detailed": "relS"},
        "annotations": {"answer": {"0": "10"}, "question": {"4": "11"}, "fullAnswer": {"1": "10", "5": "11"}},
        "semantic": [{"operation": "select", "dependencies": [], "argument": "mat (11)"}],
        "entailed": ["02", "3"],
        "equivalent": ["1"],
    } | more


def write(folder: Path, content: object, name: str = "val_balanced_questions") -> Path:
    path = folder / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def annotated(**parts: dict[str, str]) -> Record:
    return record(annotations=parts)


def fates(data: Dataset) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for status, reason, n in data.counts.select("status", "reason", "n").iter_rows()}


def test_a_full_record_becomes_flat_columns_and_its_id_keeps_its_zeros(tmp_path: Path) -> None:
    data = read_gqa(write(tmp_path, {"0012": record()}))

    assert data.examples.to_dicts() == [
        {
            "id": "0012",
            "image": "n1",
            "question": "What is on the mat?",
            "answer": "cat",
            "question_type": "query",
            "semantic_type": "rel",
            "detailed_type": "relS",
            "group_local": "13-mat_on,s",
            "group_global": "animal",
            "full_answer": "The cat is on the mat.",
            "balanced": True,
            "entailed": ["02", "3"],
            "split": "val",
        }
    ]
    assert fates(data) == {("read", None): 1, ("noted", "annotated row, but no scene graphs: no evidence"): 1}


def test_test_files_have_no_answers_and_no_columns_that_say_nothing(tmp_path: Path) -> None:
    bare = {"1": {"question": "Is it red?", "imageId": "n1", "isBalanced": False}}

    data = read_gqa(write(tmp_path, bare, "test_all_questions"))

    assert data.examples.to_dicts() == [
        {"id": "1", "image": "n1", "question": "Is it red?", "answer": None, "balanced": False, "split": "test"}
    ]
    assert fates(data) == {("read", None): 1, ("noted", "row without an answer"): 1}


def pack(kind: str, folder: Path, parts: list[dict[str, Record]]) -> Path:
    """Put the parts of one split into a container."""
    names = [f"train_all_questions/train_all_questions_{at}.json" for at in range(len(parts))]
    files = dict(zip(names, (json.dumps(part).encode() for part in parts), strict=True))
    path = folder / f"gqa{kind}"
    if kind == "":
        for name, data in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(data)
    elif kind == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
    else:
        with tarfile.open(path, "w:gz") as archive:
            for name, data in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    return path


@pytest.mark.parametrize("kind", ["", ".zip", ".tar.gz"])
def test_parts_of_a_split_are_one_dataset_wherever_they_lie(kind: str, tmp_path: Path) -> None:
    parts = [{f"0{n}": record(question=f"{n}?")} for n in range(3)]

    data = read_gqa(pack(kind, tmp_path, parts))

    rows = data.examples.select("id", "question", "split").rows()
    assert rows == [("00", "0?", "train"), ("01", "1?", "train"), ("02", "2?", "train")]


def test_a_packed_file_is_read_as_the_plain_one(tmp_path: Path) -> None:
    plain = write(tmp_path, {"1": record()})
    packed = tmp_path / "val_balanced_questions.json.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))

    assert read_gqa(packed).examples.equals(read_gqa(plain).examples)


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train_balanced_questions", "train"),
        ("val_all_questions", "val"),
        ("testdev_balanced_questions", "testdev"),
        ("ood_testdev_head", "testdev"),
        ("test_all_questions", "test"),
        ("questions", None),
    ],
)
def test_the_split_is_told_by_the_name_of_the_file(name: str, split: str | None, tmp_path: Path) -> None:
    path = write(tmp_path, {"1": record()}, name)

    assert read_gqa(path).splits() == (() if split is None else (split,))
    assert read_gqa(path, split="mine").splits() == ("mine",)


def test_a_question_in_several_files_is_read_once_and_other_files_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, {"1": record(), "2": record()}, "train_all_questions")
    write(tmp_path, {"2": record()}, "train_balanced_questions")
    write(tmp_path, GRAPHS, "train_sceneGraphs")
    write(tmp_path, [{"questionId": "1", "prediction": "cat"}], "predictions")

    data = read_gqa(tmp_path)

    assert data.examples["id"].to_list() == ["1", "2"]
    assert fates(data)["dropped", "row with an id seen before"] == 1
    assert fates(data)["noted", "file without questions, skipped"] == 2


def test_damaged_entries_are_counted_and_the_others_read(tmp_path: Path) -> None:
    entries = {
        "1": record(),
        "2": 5,
        "3": record(question=None),
        "4": record(question=" "),
        "5": {},
        "6": record(groups=None, types=[], entailed="x", isBalanced="yes", imageId=7),
        "7": record(question=["a"]),
    }

    data = read_gqa(write(tmp_path, entries))

    assert data.examples["id"].to_list() == ["1", "6"]
    assert data.examples.row(1, named=True)["image"] == "7"
    assert fates(data) == {
        ("read", None): 2,
        ("dropped", "entry that is not a record"): 1,
        ("dropped", "row without a question"): 4,
        ("noted", "value of 'question' that cannot be read, left out"): 1,
        ("noted", "value of 'balanced' that cannot be read, left out"): 1,
        ("noted", "value of 'entailed' that cannot be read, left out"): 1,
        ("noted", "annotated row, but no scene graphs: no evidence"): 2,
    }


@pytest.mark.parametrize("content", [{}, [], 3, {"1": 2}, GRAPHS, {"questions": [{"question": "a?"}]}])
def test_a_file_without_questions_is_one_clear_error(content: object, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="expected questions as"):
        read_gqa(write(tmp_path, content))


def test_images_get_the_size_and_objects_of_their_scene_graph(tmp_path: Path) -> None:
    questions = write(tmp_path, {"1": record(), "2": record("n2"), "3": record("n3")})

    data = read_gqa(questions, scene_graphs=write(tmp_path, GRAPHS, "val_sceneGraphs"))

    cat, mat, line, hole = (
        {"label": label, "box": box, "score": None}
        for label, box in [("cat", [1, 2, 31, 42]), ("mat", [5, 6, 12, 14]), ("line", [5, 6, 5, 14]), ("hole", None)]
    )
    assert data.images.table.to_dicts() == [
        {"image": "n1", "width": 500, "height": 400, "objects": [cat, mat, line, hole]},
        {"image": "n2", "width": 50, "height": 40, "objects": []},
        {"image": "n3", "width": None, "height": None, "objects": None},
    ]
    assert fates(data) == {
        ("read", None): 3,
        ("noted", "object without a name, left out"): 1,
        ("noted", "object whose box was not a box, kept without it"): 1,
        ("noted", "object whose box has no area"): 1,
        ("noted", "row whose image has no scene graph"): 1,
        ("noted", "annotated object that is not in the scene graph"): 2,  # both of question 2
    }


def test_evidence_is_the_boxes_of_all_annotated_objects_or_of_the_answer_alone(tmp_path: Path) -> None:
    entries = {
        "both": record(),
        "question only": annotated(question={"1": "11"}, answer={}, fullAnswer={}),
        "nothing": annotated(question={}, answer={}, fullAnswer={}),
        "unsaid": record(annotations=None),
        "no graph": record("n3"),
    }
    paths = write(tmp_path, entries), write(tmp_path, GRAPHS, "val_sceneGraphs")

    every, final = (read_gqa(paths[0], scene_graphs=paths[1], evidence=kind) for kind in ("path", "final"))

    cat, mat = {"label": "cat", "box": [1, 2, 31, 42]}, {"label": "mat", "box": [5, 6, 12, 14]}
    assert every.examples["evidence"].to_list() == [[mat, cat], [mat], [], None, None]
    assert final.examples["evidence"].to_list() == [[cat], [], [], None, None]


def test_objects_that_are_not_in_the_graph_or_have_no_box_are_counted_not_guessed(tmp_path: Path) -> None:
    entries = {"1": annotated(question={"1": "99", "2": "11", "3": "98"}, answer={"0": "13"}, fullAnswer={"0": "99"})}

    data = read_gqa(write(tmp_path, entries), scene_graphs=write(tmp_path, GRAPHS, "val_sceneGraphs"))

    assert [[one["label"] for one in row] for row in data.examples["evidence"]] == [["mat"]]
    assert fates(data)["noted", "annotated object that is not in the scene graph"] == 2
    assert fates(data)["noted", "annotated object without a box, left out"] == 1


IDS = st.sampled_from(["1", "2", "3", "4"])
SPANS = st.none() | st.dictionaries(st.sampled_from(["0", "1:3", "4"]), IDS, max_size=3)
ANNOTATIONS = st.none() | st.fixed_dictionaries({}, optional=dict.fromkeys(("question", "answer", "fullAnswer"), SPANS))
QUESTIONS = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), ANNOTATIONS), max_size=6)
SIDES = st.integers(0, 3)
THING = st.fixed_dictionaries({"name": st.sampled_from(["cat", "dog"]), **dict.fromkeys("xywh", SIDES)})
PICTURES = st.dictionaries(st.sampled_from(["a", "b"]), st.dictionaries(IDS, THING, max_size=4), max_size=2)


def look_up(image: str, said: Record | None, graphs: Record, parts: tuple[str, ...]) -> list[Record] | None:
    """Collect evidence the slow way."""
    spans = [(said or {}).get(part) for part in parts]
    if image not in graphs or all(one is None for one in spans):
        return None
    named = dict.fromkeys(name for one in spans for name in (one or {}).values())
    things = [graphs[image][name] for name in named if name in graphs[image]]
    return [
        {"label": one["name"], "box": [one["x"], one["y"], one["x"] + one["w"], one["y"] + one["h"]]} for one in things
    ]


@given(QUESTIONS, PICTURES, st.sampled_from(["path", "final"]))
@settings(deadline=None, max_examples=50)
def test_evidence_agrees_with_looking_it_up_by_hand(
    asked: list[tuple[str, Record | None]], graphs: Record, kind: EvidenceKind
) -> None:
    asked = [*asked, ("sure", {"answer": {"0": "1"}})]
    graphs = graphs | {"sure": {"1": {"name": "cat", "x": 0, "y": 0, "w": 1, "h": 1}}}
    entries = {str(at): record(image, annotations=said) for at, (image, said) in enumerate(asked)}
    with tempfile.TemporaryDirectory() as folder:
        written = {image: {"width": 9, "height": 9, "objects": things} for image, things in graphs.items()}
        data = read_gqa(
            write(Path(folder), entries), scene_graphs=write(Path(folder), written, "graphs"), evidence=kind
        )

    parts = ("question", "answer", "fullAnswer") if kind == "path" else ("answer",)
    expected = {str(at): look_up(image, said, graphs, parts) for at, (image, said) in enumerate(asked)}
    assert dict(data.examples.select("id", "evidence").iter_rows()) == expected


def test_scene_graphs_may_be_zipped_and_in_parts_and_the_first_of_an_image_counts(tmp_path: Path) -> None:
    questions = write(tmp_path, {"1": record(), "2": record("n2")})
    with zipfile.ZipFile(tmp_path / "sceneGraphs.zip", "w") as archive:
        archive.writestr("graphs_0.json", json.dumps({"n1": GRAPHS["n1"]}))
        archive.writestr("graphs_1.json", json.dumps({"n1": {"width": 3, "objects": {}}, "n2": GRAPHS["n2"]}))
        archive.writestr("notes.json", "[1]")

    data = read_gqa(questions, scene_graphs=tmp_path / "sceneGraphs.zip")

    assert data.images.table["width"].to_list() == [500, 50]


def test_damaged_scene_graphs_are_noted_and_never_stop_the_reading(tmp_path: Path) -> None:
    broken = {
        "n1": {"width": "x", "height": 2.5, "objects": {"10": 7, "11": {"name": "mat", "x": "a", "y": 1, "w": 1}}},
        "n2": 5,
        "n4": {"width": 1, "objects": None},
        "n5": {"objects": {"1": {"name": "cat"}}},
    }
    questions = write(tmp_path, {name: record(name) for name in broken})

    data = read_gqa(questions, scene_graphs=write(tmp_path, broken, "graphs"))

    mat, cat = ({"label": label, "box": None, "score": None} for label in ("mat", "cat"))
    assert data.images.table["objects"].to_list() == [[mat], None, None, [cat]]
    assert data.examples["evidence"].to_list() == [[], None, None, []]
    noted = {reason: n for (status, reason), n in fates(data).items() if status == "noted"}
    assert noted == {
        "scene graph that is not a record": 1,
        "value of 'width' that cannot be read, left out": 1,
        "value of 'height' that cannot be read, left out": 1,
        "object that is not a record": 1,
        "value of 'x' that cannot be read, left out": 1,
        "object whose box was not a box, kept without it": 1,
        "row whose image has no scene graph": 2,
        "annotated object that is not in the scene graph": 3,
        "annotated object without a box, left out": 1,
    }


def test_scene_graphs_of_other_images_are_an_error(tmp_path: Path) -> None:
    questions = write(tmp_path, {"1": record("elsewhere")})

    with pytest.raises(FileFormatError, match="3 graphs of other images"):
        read_gqa(questions, scene_graphs=write(tmp_path, GRAPHS, "graphs"))
    with pytest.raises(FileFormatError, match="expected scene graphs with objects"):
        read_gqa(questions, scene_graphs=questions)


def test_detections_replace_the_objects_but_not_the_evidence(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "n1.jpg").touch()

    data = read_gqa(
        write(tmp_path, {"1": record()}),
        scene_graphs=write(tmp_path, GRAPHS, "graphs"),
        detections=write(tmp_path, {"n1": ["dog"]}, "detections"),
        images=tmp_path / "pictures",
    )

    assert data.images.table.to_dicts() == [
        {
            "image": "n1",
            "width": 500,
            "height": 400,
            "objects": [{"label": "dog", "box": None, "score": None}],
            "path": "n1.jpg",
        }
    ]
    assert [one["label"] for one in data.examples["evidence"][0]] == ["mat", "cat"]


def test_a_dataset_with_evidence_can_be_saved_and_comes_back_the_same(tmp_path: Path) -> None:
    data = read_gqa(write(tmp_path, {"01": record()}), scene_graphs=write(tmp_path, GRAPHS, "graphs"))

    data.save(tmp_path / "saved")

    assert Dataset.load(tmp_path / "saved").examples.equals(data.examples)
    assert Dataset.load(tmp_path / "saved").images.table.equals(data.images.table)
