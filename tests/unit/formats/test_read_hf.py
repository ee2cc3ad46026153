"""Datasets of the Hugging Face hub: as saved by its library, as folders, from its cache, and what stops them."""

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image

from eyechart.base.errors import EyechartError, FileFormatError, MissingExtraError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.formats import hf, read

datasets = pytest.importorskip("datasets")
datasets.disable_progress_bars()


def picture(color: str) -> dict[str, object]:
    buffer = io.BytesIO()
    Image.new("RGB", (4, 3), color).save(buffer, "PNG")
    return {"bytes": buffer.getvalue(), "path": f"{color}.png"}


FEATURES = datasets.Features(
    {
        "image": datasets.Image(),
        "question": datasets.Value("string"),
        "answer": datasets.ClassLabel(names=["cat", "dog"]),
    }
)


def make(*questions: str) -> Any:  # noqa: ANN401 - a dataset of the library
    n = len(questions)
    columns = {"image": [picture("red")] * n, "question": list(questions), "answer": [i % 2 for i in range(n)]}
    return datasets.Dataset.from_dict(columns, features=FEATURES)


def make_repository(folder: Path, configs: dict[str, dict[str, list[str]]], *, card: bool = True) -> Path:
    """Write a repository as the hub has it: a card, and a Parquet file for each split of each configuration."""
    lines = ["---", "configs:"]
    for config, splits in configs.items():
        lines += [f"- config_name: {config}", "  data_files:"]
        for split, questions in splits.items():
            (folder / config).mkdir(parents=True, exist_ok=True)
            make(*questions).to_parquet(folder / config / f"{split}-00000-of-00001.parquet")
            lines += [f"  - split: {split}", f"    path: {config}/{split}-*"]
    if card:
        (folder / "README.md").write_text("\n".join([*lines, "---", "# A dataset"]))
    return folder


def put_in_cache(cache: Path, name: str, configs: dict[str, dict[str, list[str]]]) -> None:
    """Write a dataset into a cache of the hub, as its library lays it out."""
    commit = "0123456789" * 4
    repository = cache / f"datasets--{name.replace('/', '--')}"
    make_repository(repository / "snapshots" / commit, configs)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)


def questions(data: Dataset) -> list[tuple[str, ...]]:
    names = [name for name in ("config", "split", "question") if name in data.columns]
    return data.examples.select(names).rows()


def test_a_saved_dataset_is_read_with_its_pictures_and_labels(tmp_path: Path) -> None:
    make("a?", "b?").save_to_disk(tmp_path / "saved")

    data = read(f"hf:{tmp_path / 'saved'}")

    assert data.name == "saved"
    assert data.examples["answer"].to_list() == ["cat", "dog"]
    (path,) = data.images.table["path"]
    assert data.images.root is not None
    assert (data.images.root / path).read_bytes() == picture("red")["bytes"]


def test_the_splits_of_a_saved_dataset_are_read(tmp_path: Path) -> None:
    datasets.DatasetDict({"validation": make("a?"), "test": make("b?")}).save_to_disk(tmp_path / "saved")

    assert questions(read(f"hf:{tmp_path / 'saved'}")) == [("val", "a?"), ("test", "b?")]
    assert questions(read(f"hf:{tmp_path / 'saved'}", split="test")) == [("test", "b?")]


@pytest.mark.parametrize(("card", "streaming"), [(True, False), (False, False), (True, True)])
def test_a_repository_is_read_by_its_card_or_the_names_of_its_files(
    card: bool,  # noqa: FBT001 - a parameter
    streaming: bool,  # noqa: FBT001 - a parameter
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "mine", {"data": {"validation": ["a?"], "test": ["b?"]}}, card=card)

    data = read(f"hf:{repository}", streaming=streaming)

    assert sorted(questions(data)) == [("test", "b?"), ("val", "a?")]
    assert data.examples["answer"].to_list() == ["cat", "cat"]
    assert data.images.table["path"].null_count() == 0


def test_data_without_splits_have_none(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "mine", {"data": {"train": ["a?", "b?"]}})

    assert read(f"hf:{repository}").splits() == ()


def test_one_of_several_configurations_is_asked_for(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "mine", {"Art": {"test": ["a?"]}, "Music": {"test": ["b?"]}})

    with pytest.raises(SettingError, match=r"found Art, Music; say which with config=Art"):
        read(f"hf:{repository}")
    with pytest.raises(SettingError, match="did you mean 'Music'"):
        read(f"hf:{repository}", config="music")
    with pytest.raises(SettingError, match="did you mean 'test'"):
        read(f"hf:{repository}", config="Art", split="tests")

    assert questions(read(f"hf:{repository}", config="Music")) == [("test", "b?")]
    assert questions(read(f"hf:{repository}", config="all")) == [("Art", "test", "a?"), ("Music", "test", "b?")]


def test_labels_that_only_the_card_names_are_read(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    table = pl.DataFrame({"question": ["a?", "b?"], "answer": [1, 0]})
    table.write_parquet(tmp_path / "mine" / "test.parquet")
    (tmp_path / "mine" / "README.md").write_text(
        "---\ndataset_info:\n  features:\n  - name: question\n    dtype: string\n  - name: answer\n    dtype:\n"
        "      class_label:\n        names:\n          '0': cat\n          '1': dog\n---\n"
    )

    assert read(f"hf:{tmp_path / 'mine'}").examples["answer"].to_list() == ["dog", "cat"]


def test_a_folder_of_pictures_with_a_list_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "test"
    folder.mkdir(parents=True)
    (folder / "red.png").write_bytes(picture("red")["bytes"])
    row = {"file_name": "red.png", "question": "a?", "answer": "red"}
    (folder / "metadata.jsonl").write_text(json.dumps(row))

    data = read(f"hf:{tmp_path / 'mine'}")

    assert data.examples.select("question", "answer").rows() == [("a?", "red")]
    assert data.images.table["path"].null_count() == 0


def test_a_form_of_a_benchmark_is_known_here_too(tmp_path: Path) -> None:
    rows = {"idx": ["val_0"], "sub_task": ["IQ"], "question": ["a?"], "choices": [["x", "y"]], "answer": ["hidden"]}
    datasets.DatasetDict({"test": datasets.Dataset.from_dict(rows)}).save_to_disk(tmp_path / "saved")

    data = read(f"hf:{tmp_path / 'saved'}")

    assert data.examples.select("id", "answer", "question_type").rows() == [("val_0", None, "IQ")]


def test_a_name_is_read_from_the_cache_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_cache(tmp_path, "some/quiz", {"data": {"test": ["a?"]}})
    monkeypatch.setattr(hf, "_cache", lambda: tmp_path)

    data = read("hf:some/quiz", offline=True)

    assert data.name == "quiz"
    assert questions(data) == [("test", "a?")]


def test_a_name_that_is_not_in_the_cache_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hf, "_cache", lambda: tmp_path)

    with pytest.raises(FileFormatError, match="the dataset some/other in the cache of the hub") as raised:
        read("hf:some/other", offline=True)

    assert "hf:FOLDER" in raised.value.advice
    assert "\n" not in str(raised.value)


def test_a_hub_out_of_reach_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def fail(*_: object, **__: object) -> None:
        raise ConnectionError("no route to\nhost")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)

    with pytest.raises(
        FileFormatError, match="the dataset some/quiz on the hub; found ConnectionError: no route to host"
    ):
        read("hf:some/quiz")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("hf:./nothing", "nothing"), ("hf:/no/such/folder", "/no/such/folder"), ("hf:a/b/c", "a/b/c")],
)
def test_a_folder_that_is_missing_is_no_name_of_the_hub(name: str, expected: str) -> None:
    with pytest.raises(FileFormatError, match=expected):
        read(name)


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)

    with pytest.raises(MissingExtraError, match=r"eyechart\[hub\]"):
        read(f"hf:{tmp_path}")


@pytest.mark.parametrize("damage", ["truncated", "no data", "broken card", "broken record"])
def test_damaged_folders_are_one_clear_line(damage: str, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "mine", {"data": {"test": ["a?"]}})
    file = repository / "data" / "test-00000-of-00001.parquet"
    if damage == "truncated":
        file.write_bytes(file.read_bytes()[:-50])
    if damage == "no data":
        file.unlink()
    if damage == "broken card":
        (repository / "README.md").write_text("---\nconfigs: [\n---\n")
    if damage == "broken record":
        (repository / "state.json").write_text("{")

    with pytest.raises(EyechartError) as raised:
        read(f"hf:{repository}")

    assert "\n" not in str(raised.value)


def test_nothing_is_written_to_the_cache_of_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    repository = make_repository(tmp_path / "mine", {"data": {"test": ["a?"]}})

    read(f"hf:{repository}")

    assert not (tmp_path / "cache").exists() or not any(os.scandir(tmp_path / "cache"))


def test_pictures_may_be_links_into_the_cache_of_the_hub_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub lays files out as links from snapshots to blobs."""
    folder, blobs = tmp_path / "hub" / "snapshots", tmp_path / "hub" / "blobs"
    for each in (folder, blobs):
        each.mkdir(parents=True)
    Image.new("RGB", (4, 3), "red").save(blobs / "0123.png")
    (folder / "red.png").symlink_to(blobs / "0123.png")
    cell = pl.Series("image", [{"bytes": None, "path": "red.png"}], pl.Struct({"bytes": pl.Binary, "path": pl.String}))
    pl.DataFrame({"question": ["a?"], "answer": ["cat"]}).with_columns(cell).write_parquet(folder / "train.parquet")

    for cache, written in ((tmp_path / "hub", 1), (tmp_path / "other", 0)):
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
        assert read(f"hf:{folder}").images.table["path"].drop_nulls().len() == written
