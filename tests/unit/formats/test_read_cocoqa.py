"""COCO-QA: four files whose lines belong together, or one clear error."""

import gzip
import json
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats.cocoqa import read_cocoqa

LINES = {
    "questions": ["what is on the mat", "how many cats are there", "what is the color of the cat", "where is the cat"],
    "answers": ["cat", "two", "red", "room"],
    "img_ids": ["42", "42", "7", "000012"],
    "types": ["0", "1", "2", "3"],
}


def write(folder: Path, end: str = "\n", **changed: list[str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (LINES | changed).items():
        (folder / f"{name}.txt").write_bytes("".join(line + end for line in lines).encode())
    return folder


def fates(data: Dataset) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for status, reason, n in data.counts.select("status", "reason", "n").iter_rows()}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_n_of_each_file_makes_row_n(end: str, tmp_path: Path) -> None:
    data = read_cocoqa(write(tmp_path / "train", end))

    kinds = ["object", "number", "color", "location"]
    assert data.examples.to_dicts() == [
        {
            "id": f"train-{at}",
            "image": LINES["img_ids"][at],
            "question": LINES["questions"][at],
            "answer": LINES["answers"][at],
            "question_type": kinds[at],
            "split": "train",
        }
        for at in range(4)
    ]
    assert fates(data) == {("read", None): 4}


def test_splits_in_folders_have_the_ids_they_have_alone(tmp_path: Path) -> None:
    for name in ("train", "test"):
        write(tmp_path / "cocoqa" / name)
    (tmp_path / "cocoqa" / "README.txt").write_text("read me")

    both = read_cocoqa(tmp_path / "cocoqa")

    assert both.splits() == ("test", "train")
    alone = [read_cocoqa(tmp_path / "cocoqa" / name).examples for name in ("test", "train")]
    assert both.examples.equals(alone[0].vstack(alone[1]))


def test_a_folder_of_any_name_gives_plain_numbers_and_several_give_their_names(tmp_path: Path) -> None:
    one = read_cocoqa(write(tmp_path / "a" / "mine"))
    write(tmp_path / "a" / "other")
    two = read_cocoqa(tmp_path / "a")

    assert one.examples["id"].to_list() == ["0", "1", "2", "3"]
    assert two.examples["id"].to_list() == [f"{name}-{at}" for name in ("mine", "other") for at in range(4)]
    assert "split" not in one.examples.columns
    assert read_cocoqa(tmp_path / "a" / "mine", split="val").splits() == ("val",)


def test_packed_files_are_opened(tmp_path: Path) -> None:
    plain = write(tmp_path / "test")
    with zipfile.ZipFile(tmp_path / "cocoqa.zip", "w") as archive:
        for name in LINES:
            archive.write(plain / f"{name}.txt", f"cocoqa/test/{name}.txt")
    packed = tmp_path / "packed" / "test"
    packed.mkdir(parents=True)
    for name in LINES:
        (packed / f"{name}.txt.gz").write_bytes(gzip.compress((plain / f"{name}.txt").read_bytes()))

    expected = read_cocoqa(plain).examples
    assert read_cocoqa(tmp_path / "cocoqa.zip").examples.equals(expected)
    assert read_cocoqa(packed).examples.equals(expected)


@pytest.mark.parametrize("name", ["answers", "img_ids", "types"])
def test_unequal_numbers_of_lines_are_an_error_that_names_both(name: str, tmp_path: Path) -> None:
    folder = write(tmp_path, **{name: LINES[name][:3]})

    with pytest.raises(FileFormatError, match=rf"{name}\.txt as in questions\.txt.*found 3 and 4"):
        read_cocoqa(folder)


def test_an_odd_separator_inside_a_line_ends_no_line(tmp_path: Path) -> None:
    questions = ["what\u2028is", "on\x0bthe", "mat\x85there", "now\x1cthen"]

    assert read_cocoqa(write(tmp_path / "x", questions=questions)).examples["question"].to_list() == questions


def test_blank_lines_are_gaps_that_shift_nothing(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "x", questions=["a", " ", "c", "d"], answers=["1", "2", "", "4"], img_ids=["", "2", "3", "4"]
    )

    data = read_cocoqa(folder)

    assert data.examples.select("id", "image", "question", "answer").rows() == [
        ("0", None, "a", "1"),
        ("2", "3", "c", None),
        ("3", "4", "d", "4"),
    ]
    assert fates(data) == {
        ("read", None): 3,
        ("dropped", "row without a question"): 1,
        ("noted", "row without an image"): 1,
        ("noted", "row without an answer"): 1,
    }


def test_a_kind_without_a_name_stays_as_it_is(tmp_path: Path) -> None:
    data = read_cocoqa(write(tmp_path / "x", types=["0", "7", "", "3"]))

    assert data.examples["question_type"].to_list() == ["object", "7", None, "location"]


def test_what_is_missing_or_no_text_is_one_clear_error(tmp_path: Path) -> None:
    folder = write(tmp_path / "x")
    (folder / "answers.txt").write_bytes(b"\xff\n" * 4)
    with pytest.raises(FileFormatError, match=r"expected text in .*answers\.txt"):
        read_cocoqa(folder)

    (folder / "answers.txt").unlink()
    (folder / "types.txt").unlink()
    with pytest.raises(FileFormatError, match=r"found no answers\.txt and no types\.txt"):
        read_cocoqa(folder)
    with pytest.raises(FileFormatError, match=r"expected a file questions\.txt"):
        read_cocoqa(folder / "img_ids.txt")


def test_empty_files_have_no_rows(tmp_path: Path) -> None:
    data = read_cocoqa(write(tmp_path / "x", **{name: [] for name in LINES}))

    assert fates(data) == {("read", None): 0}


def test_objects_and_pictures_are_those_of_coco(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "COCO_train2014_000000000042.jpg").touch()
    (tmp_path / "objects.json").write_text(json.dumps({"42": ["cat"], "7": []}))

    data = read_cocoqa(
        write(tmp_path / "x", img_ids=["42", "42", "7", "7"]),
        detections=tmp_path / "objects.json",
        images=tmp_path / "pictures",
    )

    assert data.images.table.to_dicts() == [
        {
            "image": "42",
            "objects": [{"label": "cat", "box": None, "score": None}],
            "path": "COCO_train2014_000000000042.jpg",
        },
        {"image": "7", "objects": [], "path": None},
    ]


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=4)


@given(st.lists(st.tuples(TEXT, TEXT, TEXT, TEXT), max_size=8))
@settings(deadline=None, max_examples=60)
def test_every_line_is_read_or_dropped(lines: list[tuple[str, str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        columns = {name: [line[at] for line in lines] for at, name in enumerate(LINES)}
        data = read_cocoqa(write(Path(folder) / "x", **columns))

    assert fates(data)["read", None] == data.examples.height
    assert len(lines) == sum(n for (status, _), n in fates(data).items() if status != "noted")
    for name, question in data.examples.select("id", "question").iter_rows():
        assert question == lines[int(name)][0].strip()
