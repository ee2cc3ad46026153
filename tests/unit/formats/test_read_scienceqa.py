"""ScienceQA: the hint is a modality, an index becomes the text it stands for, and pictures belong to problems."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats.scienceqa import read_scienceqa

Record = dict[str, Any]


def problem(**more: object) -> Record:
    return {
        "question": "Which is farthest north?",
        "choices": ["West Virginia", "Louisiana", "Oklahoma"],
        "answer": 0,
        "hint": "",
        "image": "image.png",
        "task": "closed choice",
        "grade": "grade2",
        "subject": "social science",
        "topic": "geography",
        "category": "Geography",
        "skill": "Read a map",
        "lecture": "Maps have four directions.",
        "solution": "Look at the compass.",
        "split": "train",
    } | more


def write(folder: Path, content: object) -> Path:
    (folder / "problems.json").write_text(json.dumps(content))
    return folder / "problems.json"


def fates(data: Dataset) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for status, reason, n in data.counts.select("status", "reason", "n").iter_rows()}


def test_a_problem_keeps_what_is_said_of_it(tmp_path: Path) -> None:
    data = read_scienceqa(write(tmp_path, {"01": problem(hint="Look.", answer=2)}))

    kept = {name: value for name, value in problem().items() if name not in ("answer", "image", "hint")}
    assert data.examples.to_dicts() == [{"id": "01", "image": "01", "answer": "Oklahoma", "hint": "Look."} | kept]
    assert data.modalities == ("image", "question", "hint")
    assert fates(data) == {("read", None): 1}


def test_without_a_single_hint_there_is_no_such_modality(tmp_path: Path) -> None:
    data = read_scienceqa(write(tmp_path, {"1": problem(), "2": problem(hint=None, lecture="")}))

    assert data.modalities == ("image", "question")
    assert "hint" not in data.examples.columns
    assert data.examples["lecture"].to_list() == ["Maps have four directions.", None]


def test_problems_without_a_picture_have_no_image(tmp_path: Path) -> None:
    data = read_scienceqa(write(tmp_path, {"1": problem(), "2": problem(image=None), "3": problem(image="")}))

    assert data.examples["image"].to_list() == ["1", None, None]
    assert data.images.table.to_dicts() == [{"image": "1"}]
    assert fates(data)["noted", "row without an image"] == 2


@pytest.mark.parametrize("place", ["file", "folder", "elsewhere"])
def test_a_picture_is_found_by_split_and_id_since_all_have_one_name(place: str, tmp_path: Path) -> None:
    pictures = tmp_path / ("pictures" if place == "elsewhere" else "images")
    for folder in ("train/1", "test/2"):
        (pictures / folder).mkdir(parents=True)
        (pictures / folder / "image.png").touch()
    path = write(tmp_path, {"1": problem(), "2": problem(split="test"), "3": problem()})

    data = read_scienceqa(tmp_path if place == "folder" else path, images=pictures if place == "elsewhere" else None)

    assert dict(data.images.table.iter_rows()) == {"1": "train/1/image.png", "2": "test/2/image.png", "3": None}
    assert data.images.root == pictures
    assert fates(data)["noted", "image without a picture file"] == 1


def test_the_setting_split_changes_the_split_but_not_where_pictures_lie(tmp_path: Path) -> None:
    (tmp_path / "images" / "train" / "1").mkdir(parents=True)
    (tmp_path / "images" / "train" / "1" / "image.png").touch()

    data = read_scienceqa(write(tmp_path, {"1": problem()}), split="mine")

    assert data.splits() == ("mine",)
    assert data.images.table["path"].to_list() == ["train/1/image.png"]


def test_an_index_that_names_no_choice_is_dropped_or_left_out(tmp_path: Path) -> None:
    entries = {
        "fine": problem(answer=1),
        "text": problem(answer="2"),
        "float": problem(answer=1.0),
        "unsaid": problem(answer=None),
        "too large": problem(answer=3),
        "negative": problem(answer=-1),
        "no choices": problem(choices=None),
        "no list": problem(choices="abc"),
        "gap": problem(choices=["a", None, "c"], answer=2),
        "twice": problem(choices=["a", "a"], answer=1),
    }

    data = read_scienceqa(write(tmp_path, entries))

    assert dict(data.examples.select("id", "answer").iter_rows()) == {
        "fine": "Louisiana",
        "text": "Oklahoma",
        "float": "Louisiana",
        "unsaid": None,
        "no choices": None,
        "no list": None,
        "gap": "c",
        "twice": "a",
    }
    assert fates(data) == {
        ("read", None): 8,
        ("dropped", "row whose answer is not among its choices (read as index)"): 2,
        ("noted", "value of 'choices' that cannot be read, left out"): 1,
        ("noted", "answer given as an index, but no choices: left out"): 2,
        ("noted", "row with the same option twice"): 1,
        ("noted", "row without an answer"): 3,
    }


def test_other_files_of_the_folder_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, {"1": problem()})
    (tmp_path / "pid_splits.json").write_text(json.dumps({"train": ["1"], "val": []}))
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.write(tmp_path / "problems.json", "data/problems.json")

    data = read_scienceqa(tmp_path)

    assert fates(data) == {
        ("read", None): 1,
        ("dropped", "row with an id seen before"): 1,
        ("noted", "file without problems, skipped"): 1,
    }


@pytest.mark.parametrize("content", [{}, [problem()], 3, {"1": 2}, {"1": {"question": "a?"}}])
def test_a_file_without_problems_is_one_clear_error(content: object, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="expected problems as"):
        read_scienceqa(write(tmp_path, content))
