"""References in a second file are joined by id, and rows that lack one are counted."""

import json
from pathlib import Path

import pytest

from eyechart.base.errors import SettingError
from eyechart.data.dataset import Dataset
from eyechart.formats import read, streaming


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


@pytest.mark.parametrize("large", [True, False])
def test_references_of_a_second_file_are_joined_by_id(
    large: bool,  # noqa: FBT001 - a parameter
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if large:
        monkeypatch.setattr(streaming, "LARGE", 0)
    asked = [{"id": n, "query": f"Is {n} there?", "image": f"{n}.jpg"} for n in range(4)]
    known = [{"id": n, "type": "there", "truth": "yes" if n else ["sky", "sea"]} for n in (2, 1, 0, 7)]
    questions, gold = write(tmp_path / "query.jsonl", asked), write(tmp_path / "gold.jsonl", known)

    data = read("table", questions, annotations=gold)

    assert data.examples["answer"].to_list() == ["sky", "yes", "yes", None]
    assert data.examples["answers"].to_list() == [["sky", "sea"], ["yes"], ["yes"], None]
    assert data.examples["type"].to_list() == ["there"] * 3 + [None]
    assert ("noted", "row without an annotation", 1) in data.counts.select("status", "reason", "n").rows()


def test_what_the_questions_say_themselves_stays(tmp_path: Path) -> None:
    questions = write(tmp_path / "q.jsonl", [{"qid": "a", "question": "?", "split": "test"}])
    gold = write(tmp_path / "gold.jsonl", [{"question_id": "a", "answer": "x", "split": "train"}])

    data = read("table", questions, annotations=gold)

    assert data.examples.select("id", "answer", "split").rows() == [("a", "x", "test")]


def test_annotations_without_ids_are_one_clear_line(tmp_path: Path) -> None:
    questions = write(tmp_path / "q.jsonl", [{"question": "?"}])
    gold = write(tmp_path / "gold.jsonl", [{"id": "a", "answer": "x"}])

    with pytest.raises(SettingError, match=r"a column of ids in .*q\.jsonl.*; found columns question; call it id"):
        read("table", questions, annotations=gold)


def test_amber_is_read_from_its_two_files(real_data: Path) -> None:
    folder = real_data / "amber"

    data: Dataset = read("table", folder / "query_all.json.gz", annotations=folder / "annotations.json.gz")

    assert data.height == 15_220
    told = data.examples["type"].str.starts_with("generative")
    assert (data.examples.filter(~told)["answer"].is_in(["yes", "no"])).all()
    assert round(100 * float((data.examples.filter(~told)["answer"] == "no").mean()), 1) == 66.3  # type: ignore[arg-type]
