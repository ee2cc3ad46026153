"""VQA v1 and v2: questions and annotations are joined by their key, and every record has a fate."""

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats.vqa2 import read_vqa2

Record = dict[str, Any]


def question(number: int, **more: object) -> Record:
    return {"question_id": number, "image_id": number // 10, "question": f"what is {number}?"} | more


def annotation(number: int, **more: object) -> Record:
    answers = [{"answer": f"{number} {at}", "answer_confidence": "yes", "answer_id": at + 1} for at in range(10)]
    return {
        "question_id": number,
        "image_id": number // 10,
        "question_type": "what is",
        "answer_type": "other",
        "multiple_choice_answer": f"it is {number}",
        "answers": answers,
    } | more


def write(folder: Path, questions: object, annotations: object = None, subset: str = "val2014") -> Path:
    (folder / f"v2_OpenEnded_mscoco_{subset}_questions.json").write_text(json.dumps({"questions": questions}))
    if annotations is not None:
        (folder / f"v2_mscoco_{subset}_annotations.json").write_text(json.dumps({"annotations": annotations}))
    return folder


def fates(data: Dataset) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for status, reason, n in data.counts.select("status", "reason", "n").iter_rows()}


def test_annotations_are_joined_by_key_whatever_their_order(tmp_path: Path) -> None:
    numbers = [21, 10, 11, 30]

    data = read_vqa2(write(tmp_path, [question(n) for n in numbers], [annotation(n) for n in sorted(numbers)]))

    assert data.examples.to_dicts() == [
        {
            "id": str(n),
            "image": str(n // 10),
            "question": f"what is {n}?",
            "answer": f"it is {n}",
            "answers": [f"{n} {at}" for at in range(10)],
            "question_type": "what is",
            "answer_type": "other",
            "split": "val",
        }
        for n in numbers
    ]
    assert fates(data) == {("read", None): 4}


def test_questions_of_a_test_set_have_no_answer_and_say_so(tmp_path: Path) -> None:
    data = read_vqa2(write(tmp_path, [question(1)], subset="test-dev2015"))

    assert data.examples.columns == ["id", "image", "question", "answer", "split"]
    assert data.examples["answer"].to_list() == [None]
    assert data.splits() == ("test-dev",)
    assert fates(data) == {("read", None): 1, ("noted", "question without an annotation"): 1}


def test_several_splits_in_one_folder_keep_their_names(tmp_path: Path) -> None:
    write(tmp_path, [question(10)], [annotation(10)], "train2014")
    write(tmp_path, [question(20)], [annotation(20)], "val2014")
    with zipfile.ZipFile(tmp_path / "ood.zip", "w") as archive:
        archive.writestr("OOD-Test-QT+KO-Ques.json", json.dumps([question(30)]))
        archive.writestr("OOD-Test-QT+KO-Ans.json", json.dumps([annotation(30)]))
        archive.writestr("Training-Ques.json", json.dumps([question(40)]))
    (tmp_path / "minival_questions.json.gz").write_bytes(gzip.compress(json.dumps([question(50)]).encode()))
    (tmp_path / "more.json").write_text(json.dumps({"data_subtype": "val2014", "questions": [question(60)]}))

    data = read_vqa2(tmp_path)

    found = dict(data.examples.select("id", "split").iter_rows())
    assert found == {"10": "train", "20": "val", "30": "ood-test-qt+ko", "40": "train", "50": "minival", "60": "val"}
    assert data.examples["answer"].null_count() == 3


def test_the_folder_of_vqa_vs_is_read_with_its_test_split(tmp_path: Path) -> None:
    """Its OOD test sets are parts of IID-Test: wherever they lie, no example is read twice or under their name."""
    parts = {
        "AAA/OOD-Test-QT": [30, 31],
        "OOD-Test/KW+KO/OOD-Test-KW+KO": [31],
        "IID-Test/IID-Test": [30, 31, 32],
        "Training/Training": [10, 11],
        "Val/Val": [20],
    }
    for place, numbers in parts.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{place}-Ques.json").write_text(json.dumps([question(n) for n in numbers]))
        (tmp_path / f"{place}-Ans.json").write_text(json.dumps([annotation(n) for n in numbers]))
    lists = {"annotations": [annotation(n) for n in (30, 31)], "QT_qid": [30, 31]}
    (tmp_path / "test_annotations.json").write_text(json.dumps(lists))

    data = read_vqa2(tmp_path)

    found = dict(data.examples.select("id", "split").iter_rows())
    assert found == {"10": "train", "11": "train", "20": "val", "30": "test", "31": "test", "32": "test"}
    assert data.examples["answer"].null_count() == 0
    assert fates(data) == {
        ("read", None): 6,
        ("dropped", "question of an OOD test set, read before"): 3,
        ("dropped", "annotation of an OOD test set, read before"): 3,
        ("dropped", "annotation with an id seen before"): 2,
    }
    assert str(data.decide().division) == "learned from train, judged on test"


def test_an_ood_test_set_alone_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "OOD-Test-QT-Ques.json").write_text(json.dumps([question(30), question(30)]))
    (tmp_path / "OOD-Test-QT-Ans.json").write_text(json.dumps([annotation(30)]))

    data = read_vqa2(tmp_path)

    assert data.splits() == ("ood-test-qt",)
    assert data.decide().division.judge == ("ood-test-qt",)  # type: ignore[union-attr]


def test_the_setting_split_wins_and_nameless_files_have_none(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_text(json.dumps([question(1)]))

    assert read_vqa2(path, split="mine").splits() == ("mine",)
    assert "split" not in read_vqa2(path).examples.columns


def test_annotations_may_lie_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(json.dumps([question(1), question(2)]))
    (tmp_path / "a.json").write_text(json.dumps([annotation(2), annotation(1)]))

    data = read_vqa2(tmp_path / "q.json", annotations=tmp_path / "a.json")

    assert data.examples["answer"].to_list() == ["it is 1", "it is 2"]


def test_records_that_hold_question_and_answers_need_no_second_file(tmp_path: Path) -> None:
    (tmp_path / "both.json").write_text(json.dumps([question(n) | annotation(n) for n in (1, 2)]))

    assert read_vqa2(tmp_path).examples["answer"].to_list() == ["it is 1", "it is 2"]


def test_text_and_number_ids_are_the_same_key_and_keep_their_zeros(tmp_path: Path) -> None:
    questions = [question(1), question(2, question_id="2"), question(3, question_id="003")]
    annotations = [annotation(1, question_id="1"), annotation(2), annotation(3)]

    data = read_vqa2(write(tmp_path, questions, annotations))

    assert dict(data.examples.select("id", "answer").iter_rows()) == {"1": "it is 1", "2": "it is 2", "003": None}
    assert fates(data)["dropped", "annotation without a question"] == 1


def test_damaged_records_are_counted_and_the_others_read(tmp_path: Path) -> None:
    questions = [
        question(1),
        5,
        None,
        {},
        question(2, question=None),
        question(3, question=" "),
        question(1),
        {"question": "?"},
    ]
    annotations = [annotation(1), annotation(1), annotation(2), {"answers": []}, "x", annotation(9)]

    data = read_vqa2(write(tmp_path, questions, annotations))

    assert data.examples["id"].to_list() == ["1"]
    assert fates(data) == {
        ("read", None): 1,
        ("dropped", "question that is not a record"): 3,
        ("dropped", "question without text"): 2,
        ("dropped", "question without an id"): 1,
        ("dropped", "question with an id seen before"): 1,
        ("dropped", "annotation that is not a record"): 1,
        ("dropped", "annotation without an id"): 1,
        ("dropped", "annotation with an id seen before"): 1,
        ("dropped", "annotation without a question"): 2,
    }


def test_a_question_whose_first_record_is_damaged_is_read_from_its_second(tmp_path: Path) -> None:
    data = read_vqa2(write(tmp_path, [question(1, question=None), question(1)], [annotation(1)]))

    assert data.examples["question"].to_list() == ["what is 1?"]


def test_a_missing_reference_is_the_majority_of_the_answers(tmp_path: Path) -> None:
    answers = [{"answer": text} for text in ("b", "a", "a", "b", "c")]

    data = read_vqa2(write(tmp_path, [question(1)], [annotation(1, multiple_choice_answer=None, answers=answers)]))

    assert data.examples["answer"].to_list() == ["b"]


@pytest.mark.parametrize("answers", [["a", "b"], '["a", "b"]', [{"answer": "a"}, {"answer": "b"}]])
def test_answers_are_read_in_any_form(answers: object, tmp_path: Path) -> None:
    data = read_vqa2(write(tmp_path, [question(1)], [annotation(1, answers=answers)]))

    assert data.examples["answers"].to_list() == [["a", "b"]]


def test_options_of_version_one_are_kept_where_they_hold_the_answer(tmp_path: Path) -> None:
    questions = [question(1, multiple_choices=["x", "it is 1"]), question(2, multiple_choices=["x", "y"])]

    data = read_vqa2(write(tmp_path, questions, [annotation(1), annotation(2)]))

    assert data.examples["choices"].to_list() == [["x", "it is 1"], None]
    assert fates(data)["noted", "choices left out: the answer is not among them"] == 1


def test_questions_without_an_image_are_read_and_noted(tmp_path: Path) -> None:
    data = read_vqa2(write(tmp_path, [question(1, image_id=None), question(20)]))

    assert data.examples["image"].to_list() == [None, "2"]
    assert data.images.table["image"].to_list() == ["2"]
    assert fates(data)["noted", "question without an image"] == 1


def test_files_of_another_kind_in_the_folder_do_no_harm(tmp_path: Path) -> None:
    coco = {"images": [{"id": 1}], "annotations": [{"image_id": 1, "id": 2, "bbox": [0, 0, 1, 1]}], "categories": []}
    others = {
        "instances": coco,
        "pairs": [[1, 2]],
        "results": [{"question_id": 1, "answer": "x"}],
        "number": 3,
        "map": {"1": []},
    }
    for name, content in others.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))

    data = read_vqa2(write(tmp_path, [question(1)], [annotation(1)]))

    assert fates(data) == {("read", None): 1}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "JSON"),
        ('{"questions": [{"question_id": 1, "image_id"', "JSON"),
        ("3", "questions with question_id"),
        ('"text"', "questions with question_id"),
        ("{}", "questions with question_id"),
        ("[]", "questions with question_id"),
        ('{"questions": {"a": 1}}', "questions with question_id"),
        ('[{"image": 1, "text": "what?"}]', "questions with question_id"),
        ('[{"question_id": 1}]', "questions with question_id"),
    ],
)
def test_a_file_that_holds_no_questions_is_one_clear_error(content: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(content)

    with pytest.raises(FileFormatError, match=r"q\.json") as caught:
        read_vqa2(tmp_path / "q.json")

    assert caught.value.expected.startswith(expected)


def test_annotations_of_other_questions_are_an_error_not_a_dataset_without_answers(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="share no question_id"):
        read_vqa2(write(tmp_path, [question(1)], [annotation(2)]))


def test_objects_and_pictures_come_from_files_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "vqa").mkdir()
    write(tmp_path / "vqa", [question(n) for n in (10, 20, 30, 40)])
    (tmp_path / "objects.json").write_text(json.dumps({"1": ["cat", "dog"], "2": [], "99": ["car"]}))
    pictures = tmp_path / "pictures" / "val2014"
    pictures.mkdir(parents=True)
    for name in ("COCO_val2014_000000000001.jpg", "000000000002.JPG", "3.png", "notes.txt"):
        (pictures / name).touch()

    data = read_vqa2(tmp_path / "vqa", detections=tmp_path / "objects.json", images=tmp_path / "pictures")

    nothing = {"box": None, "score": None}
    assert data.images.table.to_dicts() == [
        {
            "image": "1",
            "objects": [{"label": "cat"} | nothing, {"label": "dog"} | nothing],
            "path": "val2014/COCO_val2014_000000000001.jpg",
        },
        {"image": "2", "objects": [], "path": "val2014/000000000002.JPG"},
        {"image": "3", "objects": None, "path": "val2014/3.png"},
        {"image": "4", "objects": None, "path": None},
    ]
    assert data.images.root == tmp_path / "pictures"
    assert fates(data)["noted", "image without objects"] == 2
    assert fates(data)["noted", "image without a picture file"] == 1


def test_a_dataset_can_be_saved_and_comes_back_the_same(tmp_path: Path) -> None:
    data = read_vqa2(write(tmp_path, [question(1)], [annotation(1)]))

    data.save(tmp_path / "saved")

    back = Dataset.load(tmp_path / "saved")
    assert back.examples.equals(data.examples)
    assert back.counts.equals(data.counts)
    assert isinstance(back.examples.schema["answers"], pl.List)


def test_a_blank_answer_is_none_and_counted(tmp_path: Path) -> None:
    blank = annotation(2, multiple_choice_answer=" ", answers=[{"answer": ""}])

    data = read_vqa2(write(tmp_path, [question(1), question(2)], [annotation(1), blank]))

    assert data.examples["answer"].null_count() == 1
    assert fates(data)["noted", "question whose annotation holds no answer"] == 1
