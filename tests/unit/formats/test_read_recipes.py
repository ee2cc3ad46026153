"""Public benchmarks are read as they are meant, from tables with the columns that their cards and loaders name."""

import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image

from eyechart.data.dataset import Dataset
from eyechart.formats.recipes import RECIPES, find_recipe
from eyechart.formats.table import read_table


def picture(color: str) -> dict[str, object]:
    buffer = io.BytesIO()
    Image.new("RGB", (4, 3), color).save(buffer, "PNG")
    return {"bytes": buffer.getvalue(), "path": None}


RED, BLUE = picture("red"), picture("blue")
NONE = {"bytes": None, "path": None}

MMMU = [
    {
        "id": f"validation_Art_{n}",
        "question": "<image 1> Which of these, as in <image 2>?" if n < 2 else "<image 1> How many?",
        "options": "['Oil', \"Fresco's\", 'Tempera']" if n < 2 else "[]",
        "explanation": "",
        "image_1": RED,
        "image_2": BLUE if n < 2 else NONE,
        "image_3": NONE,
        "img_type": "['Paintings']",
        "answer": ["B", "?", "24"][n],
        "topic_difficulty": "Medium",
        "question_type": "multiple-choice" if n < 2 else "open",
        "subfield": "Art",
    }
    for n in range(3)
]
MMMU_PRO = [
    {
        "id": f"test_History_{n}",
        "question": "What is shown in <image 1>?",
        "options": str([f"option {letter}" for letter in "abcdefghij"]),
        "explanation": "?",
        "image_1": RED,
        "image_2": NONE,
        "img_type": "['Photographs']",
        "answer": "I",
        "topic_difficulty": "Hard",
        "subject": "History",
    }
    for n in range(2)
]
MMMU_PRO_VISION = [
    {"id": f"test_{n}", "image": RED, "options": "['a bus', 'a tram']", "answer": "B", "subject": "History"}
    for n in range(2)
]
MMSTAR = [
    {
        "index": n,
        "question": "Which option describes the picture?\nOptions: A: A red field, B: A blue sea, C: A tree, D: A cat",
        "image": RED["bytes"],
        "answer": "AB"[n],
        "category": "coarse perception",
        "l2_category": "image scene and topic",
        "meta_info": {"source": "MMBench", "split": "val", "image_path": "images/0.jpg"},
    }
    for n in range(2)
]
MMBENCH = [
    {
        "index": 241 + 1_000_000 * n,
        "question": "Identify the question.",
        "hint": "Read it." if n else "nan",
        "answer": "AB"[n],
        "A": "a bus",
        "B": "a tram",
        "C": "a car" if n else "nan",
        "D": "nan",
        "category": "identity_reasoning",
        "image": RED,
        "source": "scienceqa",
        "L2-category": "attribute_reasoning",
        "comment": "nan",
        "split": "dev",
    }
    for n in range(2)
]
SEED = [
    {
        "answer": "CA"[n],
        "choice_a": "One",
        "choice_b": "Two",
        "choice_c": "Three",
        "choice_d": "Four",
        "data_id": "1454426_2591111986",
        "data_type": "image",
        "question": "How many towels are in the image?",
        "question_id": f"10166{n}_0",
        "question_type_id": 5,
        "image": [RED] if n else [RED, BLUE],
        "segment": None,
    }
    for n in range(2)
]
NATURALBENCH = [
    {
        "Index": n,
        "Image_0": RED,
        "Image_1": BLUE,
        "Question_0": ["Is it red?", "What is it?\nOption: A:a field; B:a sea;"][n],
        "Image_0_Question_0": ["Yes", "A"][n],
        "Image_1_Question_0": ["No", "B"][n],
        "Question_1": ["Is it blue?", "What is there?\nOption: A:water; B:earth;"][n],
        "Image_0_Question_1": ["No", "B"][n],
        "Image_1_Question_1": ["Yes", "A"][n],
        "Question_Type": ["yes_no", "multiple_choice"][n],
        "Source": "DOCCI",
    }
    for n in range(2)
]
POPE = [
    {
        "id": f"{n}",
        "question_id": "1",
        "question": "Is there a snowboard in the image?",
        "answer": "yes",
        "image_source": "COCO_val2014_000000310196",
        "image": RED,
        "category": ["adversarial", "popular"][n],
    }
    for n in range(2)
]
ONLY_THE_LETTER = "Please answer directly with only the letter of the correct option and nothing else."
REALWORLDQA = [
    {
        "image": RED,
        "image_path": f"{n}.webp",
        "question": [
            f"Which way?\n\nA. Left\nB. Right\nC. Straight on\n{ONLY_THE_LETTER}",
            f"Which is larger?\n\nA. The car\nB. The bus\n{ONLY_THE_LETTER}",
            "How many lanes are there? Please answer directly with a single word or number.",
        ][n],
        "answer": ["C", "B", "4"][n],
    }
    for n in range(3)
]
CVBENCH = [
    {
        "idx": n,
        "type": "2D",
        "task": "Count",
        "image": RED,
        "question": "How many cars are in the image?",
        "choices": ["2", "0", "1", "3"],
        "answer": ["(A)", "(C)"][n],
        "prompt": "How many cars are in the image? Select from the following choices.\n(A) 2\n(B) 0\n(C) 1\n(D) 3",
        "filename": f"img/2D/count/ade20k_{n}.png",
        "source": "ADE20K",
        "source_dataset": "ADE20K Validation Set",
        "source_filename": "ADE_val_00000248.jpg",
        "target_class": "car",
        "target_size": 80,
        "bbox": [[0.0, 1.0, 2.0, 3.0]],
    }
    for n in range(2)
]
BLINK = [
    {
        "idx": f"val_Art_Style_{n}",
        "question": "Which one shares the style of the reference?",
        "sub_task": "Art_Style",
        "image_1": RED,
        "image_2": BLUE,
        "image_3": NONE,
        "image_4": NONE,
        "choices": ["the second image", "the third image"],
        "answer": ["(B)", "hidden"][n],
        "prompt": "Some paintings.\nSelect from the following choices.\n(A) the second image\n(B) the third image\n",
        "explanation": "",
    }
    for n in range(2)
]
VIDEO_MME = [
    {
        "video_id": "001",
        "duration": "short",
        "domain": "Knowledge",
        "sub_category": "Humanity & History",
        "url": "https://www.youtube.com/watch?v=fFjv93ACGo8",
        "videoID": "fFjv93ACGo8",
        "question_id": f"001-{n}",
        "task_type": "Counting Problem",
        "question": "Which is shown first?",
        "options": ["A. Apples.", "B. Candles.", "C. Berries.", "D. Stars."],
        "answer": "CA"[n],
    }
    for n in range(2)
]
VSI = [
    {
        "id": n,
        "dataset": "arkitscenes",
        "scene_name": "41069025",
        "question_type": ["object_counting", "object_rel_distance"][n],
        "question": ["How many tables are in this room?", "Which is closest to the stove?"][n],
        "ground_truth": ["4", "B"][n],
        "options": [None, ["A. sofa", "B. chair", "C. stool"]][n],
    }
    for n in range(2)
]
SCIENCEQA = [
    {
        "image": RED if n else None,
        "question": "How many of these states are north?",
        "choices": ["1", "0", "2"],
        "answer": n,
        "hint": "Look at the map." if n else "",
        "task": "closed choice",
        "grade": "grade2",
        "subject": "social science",
        "topic": "geography",
        "category": "Geography",
        "skill": "Read a map",
        "lecture": "Maps have directions.",
        "solution": "One of them is.",
    }
    for n in range(2)
]
AOKVQA = [
    {
        "image": RED,
        "question_id": f"22MexNkBPpdZGX6sxbxVB{n}",
        "question": "How many are there?",
        "choices": ["1", "2", "3", "0"],
        "correct_choice_idx": n,
        "direct_answers": "['ski', 'ski', 'two']",
        "difficult_direct_answer": False,
        "rationales": ["There are some.", "One sees them."],
    }
    for n in range(2)
]


def read(rows: list[dict[str, Any]], folder: Path) -> Dataset:
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(folder / "data.parquet")
    return read_table(folder / "data.parquet")


def column(data: Dataset, name: str) -> list[Any]:
    return data.examples[name].to_list()


def test_mmmu(tmp_path: Path) -> None:
    data = read(MMMU, tmp_path)

    assert column(data, "id") == ["validation_Art_0", "validation_Art_1", "validation_Art_2"]
    assert column(data, "choices")[:2] == [["Oil", "Fresco's", "Tempera"]] * 2
    assert column(data, "answer") == ["Fresco's", None, "24"]
    assert [len(pictures) for pictures in column(data, "images")] == [2, 2, 1]
    assert ("noted", "answer that is kept secret", 1) in data.counts.select("status", "reason", "n").rows()


def test_mmmu_pro(tmp_path: Path) -> None:
    data = read(MMMU_PRO, tmp_path)

    assert column(data, "answer") == ["option i", "option i"]
    assert len(column(data, "choices")[0]) == 10


def test_mmmu_pro_with_the_question_in_the_picture(tmp_path: Path) -> None:
    data = read(MMMU_PRO_VISION, tmp_path)

    assert column(data, "answer") == ["a tram", "a tram"]
    assert column(data, "question") == ["Answer the question in the picture."] * 2


def test_mmstar(tmp_path: Path) -> None:
    data = read(MMSTAR, tmp_path)

    assert column(data, "choices")[0] == ["A red field", "A blue sea", "A tree", "A cat"]
    assert column(data, "answer") == ["A red field", "A blue sea"]
    assert column(data, "question") == ["Which option describes the picture?"] * 2
    assert data.images.table.height == 1


def test_mmbench(tmp_path: Path) -> None:
    data = read(MMBENCH, tmp_path)

    assert column(data, "choices") == [["a bus", "a tram"], ["a bus", "a tram", "a car"]]
    assert column(data, "answer") == ["a bus", "a tram"]
    assert column(data, "hint") == [None, "Read it."]
    assert data.modalities == ("image", "question", "hint")
    assert data.splits() == ("val",)


def test_seed_bench(tmp_path: Path) -> None:
    data = read(SEED, tmp_path)

    assert column(data, "id") == ["101660_0", "101661_0"]
    assert column(data, "answer") == ["Three", "One"]
    assert column(data, "choices")[0] == ["One", "Two", "Three", "Four"]
    assert [len(pictures) for pictures in column(data, "images")] == [2, 1]


def test_naturalbench(tmp_path: Path) -> None:
    data = read(NATURALBENCH, tmp_path)

    rows = data.examples.sort("id").select("id", "question", "answer").rows()
    assert rows[:4] == [
        ("0-i0-q0", "Is it red?", "Yes"),
        ("0-i0-q1", "Is it blue?", "No"),
        ("0-i1-q0", "Is it red?", "No"),
        ("0-i1-q1", "Is it blue?", "Yes"),
    ]
    assert data.examples.height == 8
    shown = data.examples.group_by(pl.col("id").str.extract("-(i.)-")).agg(pl.col("image").n_unique())
    assert shown["image"].to_list() == [1, 1]
    assert "images" not in data.examples.columns
    assert ("noted", "row with 4 examples, read as 4 rows", 2) in data.counts.select("status", "reason", "n").rows()


def test_pope(tmp_path: Path) -> None:
    data = read(POPE, tmp_path)

    assert column(data, "id") == ["0", "1"]
    assert column(data, "answer") == ["yes", "yes"]
    assert column(data, "category") == ["adversarial", "popular"]


def test_realworldqa(tmp_path: Path) -> None:
    data = read(REALWORLDQA, tmp_path)

    assert column(data, "choices") == [["Left", "Right", "Straight on"], ["The car", "The bus"], None]
    assert column(data, "answer") == ["Straight on", "The bus", "4"]


def test_cv_bench(tmp_path: Path) -> None:
    data = read(CVBENCH, tmp_path)

    assert column(data, "answer") == ["2", "1"]
    assert column(data, "question_type") == ["Count", "Count"]
    assert data.images.table["path"].str.ends_with(".png").all()


def test_blink(tmp_path: Path) -> None:
    data = read(BLINK, tmp_path)

    assert column(data, "id") == ["val_Art_Style_0", "val_Art_Style_1"]
    assert column(data, "answer") == ["the third image", None]
    assert column(data, "question_type") == ["Art_Style", "Art_Style"]
    assert [len(pictures) for pictures in column(data, "images")] == [2, 2]


def test_video_mme(tmp_path: Path) -> None:
    data = read(VIDEO_MME, tmp_path)

    assert column(data, "choices")[0] == ["Apples.", "Candles.", "Berries.", "Stars."]
    assert column(data, "answer") == ["Berries.", "Apples."]
    assert (data.modalities, data.cluster) == (("video", "question"), "video")
    assert column(data, "video") == ["fFjv93ACGo8", "fFjv93ACGo8"]


def test_vsi_bench(tmp_path: Path) -> None:
    data = read(VSI, tmp_path)

    assert column(data, "choices") == [None, ["sofa", "chair", "stool"]]
    assert column(data, "answer") == ["4", "chair"]
    assert (data.modalities, data.cluster) == (("video", "question"), "video")


def test_scienceqa(tmp_path: Path) -> None:
    data = read(SCIENCEQA, tmp_path)

    assert column(data, "answer") == ["1", "0"]  # by index, though 0 and 1 are texts of options as well
    assert column(data, "hint") == [None, "Look at the map."]
    assert data.modalities == ("image", "question", "hint")
    assert data.examples["image"].null_count() == 1


def test_aokvqa(tmp_path: Path) -> None:
    data = read(AOKVQA, tmp_path)

    assert column(data, "answer") == ["1", "2"]
    assert column(data, "answers") == [["ski", "ski", "two"]] * 2


FORMS = {
    "MMMU": MMMU,
    "MMMU-Pro (vision)": MMMU_PRO_VISION,
    "MMBench": MMBENCH,
    "SEED-Bench": SEED,
    "NaturalBench": NATURALBENCH,
    "CV-Bench": CVBENCH,
    "BLINK": BLINK,
    "Video-MME": VIDEO_MME,
    "VSI-Bench": VSI,
    "ScienceQA": SCIENCEQA,
    "A-OKVQA": AOKVQA,
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_known_by_its_columns_and_no_other_takes_it(name: str) -> None:
    fitting = [recipe.name for recipe in RECIPES if recipe.fits(FORMS[name][0])]

    assert fitting == [name]


def test_every_recipe_has_a_form_here() -> None:
    assert {recipe.name for recipe in RECIPES} == set(FORMS)
    assert find_recipe(["id", "question", "answer"]) is None


def test_a_map_has_the_last_word(tmp_path: Path) -> None:
    pl.DataFrame(CVBENCH).write_parquet(tmp_path / "data.parquet")

    data = read_table(tmp_path / "data.parquet", map={"question_type": "type", "id": "filename"})

    assert column(data, "question_type") == ["2D", "2D"]
    assert column(data, "id") == ["img/2D/count/ade20k_0.png", "img/2D/count/ade20k_1.png"]


def test_an_incomplete_row_of_several_examples_is_dropped_and_counted(tmp_path: Path) -> None:
    data = read([NATURALBENCH[0], NATURALBENCH[1] | {"Image_0": NONE}], tmp_path)

    assert data.examples.height == 4
    assert ("dropped", "row without all of its pictures", 1) in data.counts.select("status", "reason", "n").rows()
