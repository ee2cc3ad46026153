"""A-OKVQA: the answer is the right choice, the answers are the direct ones, and the images are COCO's."""

import gzip
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats.aokvqa import read_aokvqa

Record = dict[str, Any]
DIRECT = ["cigarette"] * 6 + ["smoke"] * 4


def question(name: str = "22jb", **more: object) -> Record:
    return {
        "split": "val",
        "image_id": 461751,
        "question_id": name,
        "question": "What is in his mouth?",
        "choices": ["toothpick", "food", "popsicle stick", "cigarette"],
        "correct_choice_idx": 3,
        "direct_answers": DIRECT,
        "difficult_direct_answer": False,
        "rationales": ["He smokes.", "It is lit."],
    } | more


def write(folder: Path, content: object, name: str = "aokvqa_v1p0_val") -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(content))
    return path


def fates(data: Dataset) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for status, reason, n in data.counts.select("status", "reason", "n").iter_rows()}


def test_the_answer_is_the_right_choice_and_the_rest_is_kept(tmp_path: Path) -> None:
    data = read_aokvqa(write(tmp_path, [question("007")]))

    assert data.examples.to_dicts() == [
        {
            "id": "007",
            "image": "461751",
            "question": "What is in his mouth?",
            "answer": "cigarette",
            "answers": DIRECT,
            "choices": ["toothpick", "food", "popsicle stick", "cigarette"],
            "split": "val",
            "difficult_direct_answer": False,
            "rationales": ["He smokes.", "It is lit."],
        }
    ]
    assert fates(data) == {("read", None): 1}


def test_the_test_split_has_choices_but_no_answers(tmp_path: Path) -> None:
    hidden = ("correct_choice_idx", "direct_answers", "rationales", "difficult_direct_answer", "split")
    bare = {name: value for name, value in question().items() if name not in hidden}

    data = read_aokvqa(write(tmp_path, [bare], "aokvqa_v1p0_test"))

    assert data.examples.columns == ["id", "image", "question", "answer", "choices", "split"]
    assert data.splits() == ("test",)
    assert fates(data) == {("read", None): 1, ("noted", "row without an answer"): 1}


def test_without_a_right_choice_the_direct_answers_vote(tmp_path: Path) -> None:
    entries = [
        question("among", correct_choice_idx=None),
        question("other", correct_choice_idx=None, direct_answers=["pipe"]),
        question("bare", choices=None),
    ]

    data = read_aokvqa(write(tmp_path, entries))

    assert data.examples["answer"].to_list() == ["cigarette", "pipe", "cigarette"]
    assert data.examples["choices"].is_not_null().to_list() == [True, False, False]
    assert fates(data) == {
        ("read", None): 3,
        ("noted", "answer given as an index, but no choices: left out"): 1,
        ("noted", "choices left out: the answer is not among them"): 1,
    }


def test_damaged_entries_are_counted_and_the_others_read(tmp_path: Path) -> None:
    entries = [
        question("a"),
        5,
        question("a", question="again?"),
        question("b", correct_choice_idx=4),
        {"question": "no id?"},
        question("c", question=None),
        question("d", choices=["x", "x", "y", "z"], correct_choice_idx=0, direct_answers=["x", None, 5, []]),
    ]

    data = read_aokvqa(write(tmp_path, entries))

    assert data.examples.select("id", "answers").rows() == [("a", DIRECT), ("d", ["x", "5"])]
    assert fates(data) == {
        ("read", None): 2,
        ("dropped", "entry that is not a record"): 1,
        ("dropped", "row without an id"): 1,
        ("dropped", "row without a question"): 1,
        ("dropped", "row whose answer is not among its choices (read as index)"): 1,
        ("dropped", "row with an id seen before"): 1,
        ("noted", "row with the same option twice"): 1,
    }


def test_the_published_archive_is_read_whole_and_its_other_files_passed_over(tmp_path: Path) -> None:
    write(tmp_path, [question("a", split="train")], "aokvqa_v1p0_train")
    write(tmp_path, [question("b")])
    write(tmp_path, {"a": 1}, "predictions")
    (tmp_path / "large_vocab_train.csv").write_text("cigarette\n")
    with tarfile.open(tmp_path / "aokvqa_v1p0.tar.gz", "w:gz") as archive:
        for file in sorted(tmp_path.glob("*.[cj]s*")):
            archive.add(file, file.name)

    data = read_aokvqa(tmp_path / "aokvqa_v1p0.tar.gz")

    assert dict(data.examples.select("id", "split").iter_rows()) == {"a": "train", "b": "val"}
    assert fates(data)["noted", "file without questions, skipped"] == 1
    assert read_aokvqa(tmp_path / "aokvqa_v1p0.tar.gz", split="mine").splits() == ("mine",)


def test_objects_and_pictures_are_those_of_coco(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "000000461751.jpg").touch()
    (tmp_path / "objects.json.gz").write_bytes(gzip.compress(json.dumps({"461751": ["person"]}).encode()))

    data = read_aokvqa(
        write(tmp_path, [question()]), detections=tmp_path / "objects.json.gz", images=tmp_path / "pictures"
    )

    person = {"label": "person", "box": None, "score": None}
    assert data.images.table.to_dicts() == [{"image": "461751", "objects": [person], "path": "000000461751.jpg"}]


@pytest.mark.parametrize("content", [{}, [], 3, [5], [{"question_id": 1, "question": "a?"}], {"a": question()}])
def test_a_file_without_questions_is_one_clear_error(content: object, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="expected a list of questions with question_id and choices"):
        read_aokvqa(write(tmp_path, content))
