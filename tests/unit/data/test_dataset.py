"""Datasets check themselves, divide by image, and survive the disk."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import DataError, FileFormatError, TableError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images


def without_splits(n: int, per_image: int = 5) -> Dataset:
    examples = pl.DataFrame(
        {
            "id": [str(i) for i in range(n)],
            "image": [str(i // per_image) for i in range(n)],
            "question": ["q"] * n,
            "answer": ["a"] * n,
        }
    )
    return Dataset("plain", examples, Images.named(examples["image"]))


def test_every_image_must_be_in_the_images_table(tiny: Dataset) -> None:
    images = Images(tiny.images.table.filter(pl.col("image") != "b"))

    with pytest.raises(TableError, match=r"found 'b' in row 2 \(id='02'\); add the 2 missing rows"):
        replace(tiny, images=images)


def test_a_modality_must_be_a_column(tiny: Dataset) -> None:
    with pytest.raises(DataError, match="a column 'caption' in the examples of tiny"):
        replace(tiny, modalities=("image", "caption"))


def test_scan_reads_the_named_columns_with_the_id_in_front(tiny: Dataset) -> None:
    assert tiny.scan("question", "id").collect().columns == ["id", "question"]


def test_scan_says_which_column_is_missing(tiny: Dataset) -> None:
    with pytest.raises(DataError, match="a column 'objects'"):
        tiny.scan("objects")


def test_an_example_without_an_image_is_a_cluster_of_its_own(tiny: Dataset) -> None:
    examples = tiny.examples.with_columns(pl.when(pl.col("image") != "a").then("image").alias("image"))
    clusters = replace(tiny, examples=examples).clusters()

    assert clusters.n_unique() == 5
    assert clusters[0] != clusters[1]


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(0, 5))
def test_a_sample_has_its_size_and_grows_by_adding(n: int, seed: int) -> None:
    data = without_splits(50)
    smaller, larger = data.sample(n, seed), data.sample(n + 1, seed)

    assert smaller.examples.height == min(n, 50)
    assert set(smaller.examples["id"]) <= set(larger.examples["id"])


def test_a_dataset_comes_back_equal_from_disk(tiny: Dataset, tmp_path: Path) -> None:
    tiny.save(tmp_path / "data")
    loaded = Dataset.load(tmp_path / "data")

    assert loaded.examples.equals(tiny.examples)
    assert loaded.images.table.equals(tiny.images.table)
    assert (loaded.name, loaded.modalities, loaded.cluster) == (tiny.name, tiny.modalities, tiny.cluster)


def test_pictures_inside_the_folder_move_with_it(tiny: Dataset, tmp_path: Path) -> None:
    pictures = tmp_path / "data" / "pictures"
    pictures.mkdir(parents=True)
    inside = replace(tiny, images=Images(tiny.images.table, root=pictures))
    inside.write_into(tmp_path / "data")
    (tmp_path / "data").rename(tmp_path / "moved")

    assert Dataset.load(tmp_path / "moved").images.root == tmp_path / "moved" / "pictures"


@pytest.mark.parametrize(
    ("key", "value"),
    [("rows", {"examples": 9, "images": 4}), ("kind", 3), ("modalities", "image"), ("cluster", None)],
)
def test_a_manifest_that_does_not_fit_is_refused(tiny: Dataset, tmp_path: Path, key: str, value: object) -> None:
    tiny.save(tmp_path / "data")
    manifest = tmp_path / "data" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {key: value}))

    with pytest.raises(FileFormatError, match="damaged"):
        Dataset.load(tmp_path / "data")


@settings(deadline=None)
@given(st.lists(st.text(max_size=3), unique=True, max_size=12), st.lists(st.none() | st.text(max_size=3), max_size=12))
def test_images_are_found_by_name_as_in_a_dictionary(known: list[str], asked: list[str | None]) -> None:
    images = Images(pl.DataFrame({"image": known}, schema={"image": pl.String}))

    found = images.find(pl.Series(asked, dtype=pl.String))

    places = {name: at for at, name in enumerate(images.table["image"])}
    assert found.to_list() == [None if name is None else places.get(name) for name in asked]
