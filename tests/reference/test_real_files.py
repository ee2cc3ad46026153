"""Real files made by others are read row by row as the standard library sees them."""

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eyechart.data.dataset import Dataset
from eyechart.formats import read
from eyechart.formats.predictions import read_predictions


@pytest.fixture(scope="module")
def vqa_vs(real_data: Path) -> Dataset:
    folder = real_data / "vqa2"
    return read("vqa2", folder / "vqa_vs_Val.zip", detections=folder / "coco2014_objects.json.gz")


@pytest.fixture(scope="module")
def published(real_data: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Read the same archive with the standard library, by question id."""
    with zipfile.ZipFile(real_data / "vqa2" / "vqa_vs_Val.zip") as archive:
        lists = {name: json.loads(archive.read(f"Val/Val-{name}.json")) for name in ("Ques", "Ans")}
    return {name: {str(one["question_id"]): one for one in records} for name, records in lists.items()}


def test_every_question_of_vqa_vs_val_is_read_once(vqa_vs: Dataset) -> None:
    assert vqa_vs.examples.height == vqa_vs.examples["id"].n_unique() == 32_723
    assert vqa_vs.examples["id"].dtype == pl.String
    assert vqa_vs.splits() == ("val",)
    assert (vqa_vs.examples["answers"].list.len() == 10).all()
    assert vqa_vs.counts.to_dicts() == [{"condition": None, "status": "read", "reason": None, "n": 32_723}]


def test_every_question_of_vqa_vs_val_has_its_own_answers(
    vqa_vs: Dataset, published: dict[str, dict[str, dict[str, Any]]]
) -> None:
    for row in vqa_vs.examples.iter_rows(named=True):
        asked, said = published["Ques"][row["id"]], published["Ans"][row["id"]]
        assert row == {
            "id": row["id"],
            "image": str(asked["image_id"]),
            "question": asked["question"],
            "answer": said["multiple_choice_answer"],
            "answers": [one["answer"] for one in said["answers"]],
            "question_type": said["question_type"],
            "answer_type": said["answer_type"],
            "split": "val",
        }


def test_every_image_of_vqa_vs_val_has_its_own_objects(vqa_vs: Dataset, real_data: Path) -> None:
    with gzip.open(real_data / "vqa2" / "coco2014_objects.json.gz") as file:
        published = json.load(file)

    for image, objects in vqa_vs.images.table.select("image", "objects").iter_rows():
        assert [one["label"] for one in objects] == published[image]


def test_every_row_of_the_table_keeps_its_question_objects_and_source(real_data: Path) -> None:
    path = real_data / "vqa2" / "vqa2_89710_with_objects.parquet"
    published = pl.read_parquet(path)

    data = read(str(path))

    # The file has one row for each id, so a join by the number back is independent of the order we keep.
    labels = pl.element().struct.field("label")
    found = (
        data.examples.join(data.images.table, on="image", validate="m:1")
        .with_columns(pl.col("id", "image").cast(pl.Int64), pl.col("objects").list.eval(labels))
        .rename({"id": "question_id", "image": "image_id"})
        .sort("question_id")
    )
    assert data.examples.height == 89_710
    assert data.images.table.height == 56_226
    assert found.select(published.columns).equals(published.sort("question_id"))


@pytest.mark.parametrize("model", ["gpt2", "vqa_baseline", "vggpt2"])
def test_every_prediction_is_the_sentence_its_tokens_spell(model: str, real_data: Path) -> None:
    path = real_data / "vqa2" / "predictions" / f"pred_{model}.json.gz"
    with gzip.open(path) as file:
        published = json.load(file)

    found = read_predictions(path)

    assert dict(found.answers.iter_rows()) == {key: " ".join(tokens) for key, tokens in published.items()}
    assert found.counts["n"].to_list() == [100_000]


def test_multiple_choice_by_index_names_the_right_option(real_data: Path) -> None:
    path = real_data / "aokvqa" / "aokvqa_v1p0_val.json.gz"
    with gzip.open(path) as file:
        published = {one["question_id"]: one for one in json.load(file)}

    data = read("table", path)

    assert data.examples.height == len(published) == 1_145
    for key, answer, choices in data.examples.select("id", "answer", "choices").iter_rows():
        assert choices == published[key]["choices"]
        assert answer == choices[published[key]["correct_choice_idx"]]
