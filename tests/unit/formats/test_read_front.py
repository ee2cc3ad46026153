"""The one way in: formats by name, paths by what they are, settings that cannot be misspelt."""

import json
import re
from pathlib import Path

import pytest

import eyechart.formats.table
import eyechart.formats.vqa2
from eyechart.base.errors import EyechartError, FileFormatError, SettingError, UnknownNameError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.formats import FORMATS, read, reader_settings
from eyechart.formats.description import check_settings, describe, needs_path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "some.jsonl"
    path.write_text(json.dumps({"id": 1, "prompt": "what?", "text": "why?", "answer": "yes"}) + "\n")
    return path


def test_a_format_is_read_by_its_name(table: Path) -> None:
    assert read("table", table, map={"question": "text"}).examples["question"].to_list() == ["why?"]


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_alone_is_read_as_a_table(kind: type, table: Path) -> None:
    assert read(kind(table)).examples["question"].to_list() == ["what?"]


def test_a_saved_dataset_is_loaded_and_takes_no_settings(tiny: Dataset, tmp_path: Path) -> None:
    tiny.save(tmp_path / "saved")

    assert read(tmp_path / "saved").examples.equals(tiny.examples)
    with pytest.raises(SettingError, match="no settings for the saved dataset"):
        read(tmp_path / "saved", split="val")


@pytest.mark.parametrize("source", ["nowhere.parquet", "no/where", "./nowhere"])
def test_a_missing_path_is_said_to_be_missing(source: str) -> None:
    with pytest.raises(FileFormatError, match=Path(source).name):
        read(source)


def test_an_unknown_format_suggests_a_known_one(table: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'vqa2'"):
        read("vqa")
    with pytest.raises(UnknownNameError, match="did you mean 'table'"):
        read("tabel", table)


def test_a_reader_of_ones_own_is_named_by_its_place(tmp_path: Path) -> None:
    code = """
from pathlib import Path
import polars as pl
from eyechart.data.dataset import Dataset, Images

def mine(path: Path | None, *, n: int, tags: tuple[str, ...] = (), strict: bool = False) -> Dataset:
    names = pl.Series([f"{tag} {strict}" for tag in tags * n])
    table = pl.DataFrame({"id": names, "image": names, "question": names, "answer": names})
    return Dataset("mine", table, Images.named(names))
"""
    (tmp_path / "own.py").write_text(code)

    data = read(f"{tmp_path / 'own.py'}:mine", n="1", tags="a,b", strict="true")

    assert data.examples["id"].to_list() == ["a True", "b True"]
    with pytest.raises(SettingError, match="the setting 'n'"):
        read(f"{tmp_path / 'own.py'}:mine")


def test_a_format_that_reads_files_asks_for_a_path() -> None:
    with pytest.raises(SettingError, match="a path to read as 'vqa2'"):
        read("vqa2")


def test_a_misspelt_setting_is_an_error_that_names_the_right_one(table: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'answer_is'"):
        read("table", table, answer_si="text")


@pytest.mark.parametrize("settings", [{"answer_is": "number"}, {"map": "question"}, {"map": 5}, {"split": 3}])
def test_a_setting_of_the_wrong_kind_is_an_error_that_names_it(settings: dict[str, object], table: Path) -> None:
    with pytest.raises(SettingError, match=f"expected {next(iter(settings))} as"):
        read("table", table, **settings)


@pytest.mark.parametrize("text", ["question=text,answer=prompt", "question=text answer=prompt"])
def test_settings_may_come_as_text_from_a_command_line(text: str) -> None:
    reader = eyechart.formats.table.read_table

    assert check_settings(reader, "table", {"map": text, "images": "a/b"}) == {
        "map": {"question": "text", "answer": "prompt"},
        "images": Path("a/b"),
    }


@pytest.mark.parametrize("name", ["vqa2", "table"])
def test_every_setting_of_a_reader_is_listed_with_its_type_and_default(name: str) -> None:
    found = reader_settings(name)

    assert {"detections", "images", "split"} < set(found)
    assert all(
        setting.annotation is not setting.empty and setting.default is not setting.empty for setting in found.values()
    )
    assert needs_path(FORMATS.get(name))


def test_nothing_but_our_own_errors_comes_out_of_a_directory_of_rubbish(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\x00\x01")
    (tmp_path / "b.parquet").write_bytes(b"\x00\x01")

    for name in ("vqa2", "table"):
        with pytest.raises(EyechartError):
            read(name, tmp_path)


def test_images_are_named_even_without_a_table(tmp_path: Path, table: Path) -> None:
    assert isinstance(read(table).images, Images)


@pytest.mark.parametrize("name", FORMATS.names())
def test_what_a_format_needs_names_options_that_there_are(name: str) -> None:
    needs = describe(FORMATS.get(name)).needs

    assert set(re.findall(r"--\w+", needs)) <= {"--map", "--set"}
    assert set(re.findall(r"--set (\w+)=", needs)) <= set(reader_settings(name))
