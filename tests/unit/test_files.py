"""Files are written whole or not at all, and damage is said in one line."""

import json
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from eyechart.errors import FileFormatError
from eyechart.files import (
    FORMAT,
    read_record,
    read_table,
    replacing,
    replacing_folder,
    write_record,
    write_table,
)


@dataclass(frozen=True)
class Note:
    words: tuple[str, ...]
    n: int


class BreakError(Exception):
    """Something that goes wrong half-way."""


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "it.txt").write_text("old")

    with pytest.raises(BreakError), replacing(tmp_path / "it.txt") as draft:
        draft.write_text("half")
        raise BreakError

    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("it.txt", "old")]


def test_a_failed_folder_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    with replacing_folder(tmp_path / "it") as draft:
        (draft / "manifest.json").write_text("old")

    with pytest.raises(BreakError), replacing_folder(tmp_path / "it") as draft:
        (draft / "manifest.json").write_text("half")
        raise BreakError

    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["it", "it/manifest.json"]
    assert (tmp_path / "it" / "manifest.json").read_text() == "old"


def test_a_folder_of_ours_is_replaced_whole(tmp_path: Path) -> None:
    for name in ("first", "second"):
        with replacing_folder(tmp_path / "it") as draft:
            (draft / "manifest.json").write_text("")
            (draft / name).write_text("")

    assert sorted(path.name for path in (tmp_path / "it").iterdir()) == ["manifest.json", "second"]


def test_somebody_elses_folder_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")

    with pytest.raises(FileFormatError, match="name another place"), replacing_folder(tmp_path):
        pass

    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_file_in_the_place_of_a_folder_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "it").write_text("a file")

    with pytest.raises(FileFormatError, match="name another place"), replacing_folder(tmp_path / "it"):
        pass


def test_a_place_below_a_file_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()

    with pytest.raises(FileFormatError, match="a folder to write to"), replacing(tmp_path / "taken" / "a.json"):
        pass


def test_a_record_comes_back_equal(tmp_path: Path) -> None:
    write_record(Note(("ä", "b"), 3), tmp_path / "note.json")

    assert read_record(tmp_path / "note.json", Note) == Note(("ä", "b"), 3)


def test_a_record_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "note.json"
    write_record(Note((), 3), path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": FORMAT + 1, "eyechart": "9.9"}))

    with pytest.raises(FileFormatError, match=r"found format 2, written by eyechart 9\.9; upgrade eyechart"):
        read_record(path, Note)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "3", '{"n": 3}', '{"format": 1, "words": [], "n": "many"}', '{"format": 1, "n": 3}', "\udcff"],
)
def test_a_damaged_record_is_one_clear_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "note.json").write_bytes(content.encode(errors="surrogateescape"))

    with pytest.raises(FileFormatError, match=r"to be whole; found a damaged file \(.+\); make it anew"):
        read_record(tmp_path / "note.json", Note)


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"a file .*note\.json; found none"):
        read_record(tmp_path / "note.json", Note)
    with pytest.raises(FileFormatError, match=r"a file .*it\.parquet; found none"):
        read_table(tmp_path / "it.parquet")


def test_a_truncated_table_is_one_clear_error(tmp_path: Path) -> None:
    write_table(pl.DataFrame({"a": range(1000)}), tmp_path / "it.parquet")
    content = (tmp_path / "it.parquet").read_bytes()
    for length in (0, 3, len(content) // 2, len(content) - 1):
        (tmp_path / "it.parquet").write_bytes(content[:length])

        with pytest.raises(FileFormatError, match="to be whole; found a damaged file"):
            read_table(tmp_path / "it.parquet")
