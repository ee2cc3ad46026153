"""Visual7W and its published decoys: joined by id, and the order of the options never tells the answer."""

import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from eyechart.base.errors import EyechartError, FileFormatError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.formats.visual7w import DecoyKind, read_visual7w

Record = dict[str, Any]


def pair(number: int, **more: object) -> Record:
    wrong = [f"{number} wrong {at}." for at in range(3)]
    return {
        "qa_id": number,
        "question": f"What is {number}?",
        "answer": f"{number}.",
        "multiple_choices": wrong,
        "type": "what",
    } | more


def telling(*pairs: object, image: int = 7, split: str = "train") -> Record:
    return {"image_id": image, "filename": f"v7w_{image}.jpg", "split": split, "qa_pairs": list(pairs)}


def listed(number: int, **more: object) -> Record:
    one = pair(number)
    return {
        "qa_id": number,
        "question": one["question"],
        "answer": one["answer"],
        "multiple_choices": [*one["multiple_choices"], one["answer"]],
        "question_type": "what",
        "image_index": 0,
        "filename": "v7w_7.jpg",
    } | more


def lists(number: int) -> Record:
    return {kind: [f"{number} {kind[:3].lower()} {at}." for at in range(3)] for kind in ("IoU_decoys", "QoU_decoys")}


def genome(number: int, **more: object) -> Record:
    return {
        "QA_id": number,
        "Img_id": 7,
        "question": f"What is {number}?",
        "answer": f"{number}.",
        "Type": "what",
        **lists(number),
    } | more


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(content))
    return path


def fates(data: Dataset) -> dict[tuple[str, str | None], int]:
    ordered = "row whose choices are ordered by a hash of id and option"
    rows = data.counts.select("status", "reason", "n").iter_rows()
    return {(status, reason): n for status, reason, n in rows if reason != ordered}


def options(data: Dataset) -> dict[str, set[str] | None]:
    return {name: None if row is None else set(row) for name, row in data.examples.select("id", "choices").iter_rows()}


def test_a_telling_question_has_its_answer_and_three_others_to_choose_from(tmp_path: Path) -> None:
    images = [telling(pair(1)), telling(pair(2), pair(3), image=8, split="val")]

    data = read_visual7w(write(tmp_path, "dataset_v7w_telling", {"dataset": "visual7w-telling", "images": images}))

    rows = data.examples.drop("choices").to_dicts()
    assert rows == [
        {
            "id": str(n),
            "image": image,
            "question": f"What is {n}?",
            "answer": f"{n}.",
            "question_type": "what",
            "split": split,
        }
        for n, image, split in [(1, "7", "train"), (2, "8", "val"), (3, "8", "val")]
    ]
    assert options(data) == {str(n): {f"{n}.", *pair(n)["multiple_choices"]} for n in (1, 2, 3)}
    assert (data.examples["choices"].list.len() == 4).all()
    assert ("noted", "row whose choices are ordered by a hash of id and option", 3) in data.counts.drop(
        "condition"
    ).rows()


@pytest.mark.parametrize("form", ["telling", "listed", "genome"])
def test_the_place_of_the_answer_tells_nothing(form: str, tmp_path: Path) -> None:
    """Every place of four holds about a quarter of 2,000 answers (99.99 % of such counts lie within 425 and 575)."""
    numbers = range(2000)
    content = {
        "telling": {"images": [telling(*map(pair, numbers))]},
        "listed": list(map(listed, numbers)),
        "genome": list(map(genome, numbers)),
    }[form]

    data = read_visual7w(write(tmp_path, "x", content), decoys="iou" if form == "genome" else "orig")

    places = Counter(row["choices"].index(row["answer"]) for row in data.examples.iter_rows(named=True))
    assert set(places) == {0, 1, 2, 3}
    assert all(425 < n < 575 for n in places.values())


def test_the_order_depends_on_the_id_and_the_options_alone(tmp_path: Path) -> None:
    plain = [telling(pair(1), pair(2))]
    turned = [telling(pair(2), pair(1, answer="1 wrong 0.", multiple_choices=["1 wrong 2.", "1.", "1 wrong 1."]))]

    first, second = (
        read_visual7w(write(tmp_path, name, {"images": images})).examples
        for name, images in (("plain", plain), ("turned", turned))
    )

    assert dict(first.select("id", "choices").iter_rows()) == dict(second.select("id", "choices").iter_rows())


@pytest.mark.parametrize(
    ("kind", "words"),
    [("orig", "wrong"), ("iou", "iou"), ("qou", "qou"), ("iou+qou", "iou qou"), ("all", "wrong iou qou")],
)
def test_the_setting_decoys_says_which_options_stand_beside_the_answer(
    kind: DecoyKind, words: str, tmp_path: Path
) -> None:
    write(tmp_path, "v7w_val_questions", [listed(1), listed(2)])
    write(tmp_path, "v7w_val_decoys", [{"qa_id": n, **lists(n)} for n in (2, 1)])

    data = read_visual7w(tmp_path, decoys=kind)

    expected = {str(n): {f"{n}.", *(f"{n} {word} {at}." for word in words.split() for at in range(3))} for n in (1, 2)}
    assert options(data) == expected
    assert data.splits() == ("val",)
    assert data.examples["image"].to_list() == ["7", "7"]
    assert fates(data) == {("read", None): 2}


def test_decoys_are_joined_by_id_whatever_their_place_and_form(tmp_path: Path) -> None:
    write(tmp_path, "dataset_v7w_telling", {"images": [telling(pair(1), pair(2), pair(3))]})
    entries = [{"qa_id": "3", **lists(3)}, {"qa_id": 9, **lists(9)}, {"qa_id": 1, **lists(1)}, {"qa_id": 1, **lists(5)}]
    write(tmp_path, "v7w_train_decoys", [*entries, lists(4), 5])

    data = read_visual7w(tmp_path, decoys="qou")

    assert options(data) == {
        "1": {"1.", *lists(1)["QoU_decoys"]},
        "2": None,
        "3": {"3.", *lists(3)["QoU_decoys"]},
    }
    assert fates(data) == {
        ("read", None): 3,
        ("dropped", "decoy entry that is not a record"): 1,
        ("dropped", "decoy entry without an id"): 1,
        ("dropped", "decoy entry with an id seen before"): 1,
        ("dropped", "decoy entry without a question"): 1,
        ("noted", "row without decoys 'qou': no choices"): 1,
    }


def test_decoys_of_visual_genome_need_no_other_file(tmp_path: Path) -> None:
    regional = genome(2, region_id=5, phrase="a car", x=1, y=2, width=3, height=4)
    regional = {{"Img_id": "image_id", "Type": "type"}.get(name, name): value for name, value in regional.items()}

    data = read_visual7w(write(tmp_path, "VG_test_decoys", [genome(1), regional]), decoys="iou+qou")

    assert data.examples.select("id", "image", "question_type", "split").rows() == [
        ("1", "7", "what", "test"),
        ("2", "7", "what", "test"),
    ]
    assert (data.examples["choices"].list.len() == 7).all()


@pytest.mark.parametrize(("kind", "there"), [("orig", "those of iou, qou"), ("all", "those of iou, qou")])
def test_asking_for_decoys_that_are_not_there_is_an_error(kind: DecoyKind, there: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=f"decoys '{kind}'.*found {there}"):
        read_visual7w(write(tmp_path, "VG_val_decoys", [genome(1)]), decoys=kind)


def test_an_option_that_repeats_another_or_the_answer_is_offered_once(tmp_path: Path) -> None:
    pairs = [
        pair(1, multiple_choices=["1.", "a", "b"]),
        pair(2, multiple_choices=["a", "a", "b"]),
        pair(3, multiple_choices=["a", None, {}, 4]),
        pair(4, multiple_choices=[]),
        pair(5, answer=None),
    ]

    data = read_visual7w(write(tmp_path, "v7w", {"images": [telling(*pairs)]}))

    assert options(data) == {"1": {"1.", "a", "b"}, "2": {"2.", "a", "b"}, "3": {"3.", "a", "4"}, "4": None, "5": None}
    assert fates(data) == {
        ("read", None): 5,
        ("noted", "row without an answer"): 1,
        ("noted", "row without decoys 'orig': no choices"): 1,
        ("noted", "row with the same option twice, kept once"): 2,
    }


def test_images_without_questions_and_other_files_are_noted(tmp_path: Path) -> None:
    images = [telling(pair(1), 5, {}), {"image_id": 9}, 3, {"image_id": 9, "qa_pairs": 4}]
    write(tmp_path, "telling", {"images": images})
    write(tmp_path, "pointing", {"boxes": [], "images": [telling(pair(9, answer=4))]})
    write(tmp_path, "other", [{"a": 1}])

    data = read_visual7w(tmp_path)

    assert data.examples["id"].to_list() == ["1"]
    assert fates(data) == {
        ("read", None): 1,
        ("dropped", "entry that is not a record"): 1,
        ("dropped", "row without an id"): 1,
        ("noted", "image without a list of questions, skipped"): 3,
        ("noted", "file without questions or decoys, skipped"): 2,
    }


def test_pictures_are_found_by_their_file_names_and_the_setting_split_wins(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "v7w_7.jpg").touch()
    with zipfile.ZipFile(tmp_path / "dataset_v7w_telling.zip", "w") as archive:
        archive.writestr("dataset_v7w_telling.json", json.dumps({"images": [telling(pair(1)), telling(pair(2))]}))

    data = read_visual7w(tmp_path / "dataset_v7w_telling.zip", images=tmp_path / "pictures", split="mine")

    assert data.images.table.to_dicts() == [{"image": "7", "path": "v7w_7.jpg"}]
    assert data.splits() == ("mine",)


@pytest.mark.parametrize("content", [{}, [], 3, [{"qa_id": 1, "IoU_decoys": ["a"]}], {"images": [{"id": 1}]}])
def test_a_file_without_questions_is_one_clear_error(content: object, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="expected telling questions of Visual7W"):
        read_visual7w(write(tmp_path, "x", content))


IDS = st.none() | st.integers(1, 5) | st.integers(1, 5).map(str) | st.just([])
WORDS = st.none() | st.sampled_from(["", "a", "é\u2028", 4, {}])
LISTS = st.none() | st.lists(WORDS, max_size=3) | st.just("a")
ASKED = st.fixed_dictionaries(
    {}, optional={"qa_id": IDS, "question": WORDS, "answer": WORDS, "multiple_choices": LISTS, "QoU_decoys": LISTS}
)
GIVEN = st.fixed_dictionaries({}, optional={"qa_id": IDS, "QoU_decoys": LISTS, "IoU_decoys": LISTS})
STRAY = st.sampled_from([None, 3, "x", []])


@given(
    st.lists(ASKED | STRAY, max_size=8), st.lists(GIVEN | STRAY, max_size=8), st.sampled_from(["orig", "qou", "all"])
)
@hypothesis_settings(deadline=None, max_examples=70)
def test_every_question_is_read_or_dropped_and_every_decoy_entry_joined_or_dropped(
    tmp_path_factory: pytest.TempPathFactory, asked: list[Any], given_: list[Any], kind: DecoyKind
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    asked, given_ = [listed(0), *asked], [{"qa_id": 0, **lists(0)}, *given_]
    write(folder, "questions", asked)
    write(folder, "decoys", given_)

    try:
        data = read_visual7w(folder, decoys=kind)
    except EyechartError as error:
        pytest.fail(f"a damaged row stopped the reading: {error}")

    def total(status: str, about: tuple[str, ...]) -> int:
        return sum(
            n for (found, reason), n in fates(data).items() if found == status and (reason or "row").startswith(about)
        )

    joined = {str(one.get("qa_id")) for one in given_ if isinstance(one, dict) and one.get("qa_id") not in (None, [])}
    assert data.examples.height == total("read", ("row",))
    assert len(asked) == data.examples.height + total("dropped", ("row", "entry"))
    assert len(given_) == len(joined & set(data.examples["id"])) + total("dropped", ("decoy",))
