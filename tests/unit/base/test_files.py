"""Files are written whole or not at all, and damage is said in one line."""

import errno
import json
import os
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Literal

import polars as pl
import pytest
from polars.exceptions import ComputeError

from eyechart.base.errors import FileFormatError
from eyechart.base.files import FORMAT, read_record, read_table, replacing, replacing_folder, write_record, write_table


@dataclass(frozen=True)
class Note:
    words: tuple[str, ...]
    n: int


@dataclass(frozen=True)
class Parcel:
    kind: Literal["parcel"]
    n: int


@dataclass(frozen=True)
class Letter:
    kind: Literal["letter"]


class BreakError(Exception):
    """Something that goes wrong half-way."""


def test_a_folder_that_holds_anything_else_is_not_replaced(tmp_path: Path) -> None:
    for name in ("manifest.json", "mine.txt"):
        (tmp_path / name).write_text(name)

    with pytest.raises(FileFormatError, match=r"found mine\.txt"), replacing_folder(tmp_path, ours=("manifest.json",)):
        pass
    assert (tmp_path / "mine.txt").read_text() == "mine.txt"


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


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "it.txt").write_text("old")
    (tmp_path / "link").symlink_to("far/it.txt")

    with replacing(tmp_path / "link") as draft:
        draft.write_text("new")
        assert (tmp_path / "far" / "it.txt").read_text() == "old"

    assert (tmp_path / "link").is_symlink()
    assert [(path.name, path.read_text()) for path in (tmp_path / "far").iterdir()] == [("it.txt", "new")]


def test_a_link_to_a_folder_stays_and_the_folder_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to("far")

    with replacing_folder(tmp_path / "link") as draft:
        (draft / "manifest.json").write_text("new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far" / "manifest.json").read_text() == "new"


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    heard: list[str] = []
    for name in ("pipe", "link"):
        reader = Thread(target=lambda: heard.append((tmp_path / "pipe").read_text()), daemon=True)
        reader.start()
        with replacing(tmp_path / name) as place:
            place.write_text(name)
        assert (tmp_path / "pipe").is_fifo()
        reader.join(timeout=60)

    assert heard == ["pipe", "link"]
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]


FULL = "parquet: underlying IO error: No space left on device (os error 28)"


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), ComputeError(FULL)], ids=repr)
def test_a_full_disk_is_one_clear_error_and_leaves_nothing(tmp_path: Path, error: Exception) -> None:
    with (
        pytest.raises(FileFormatError, match=r"to write .*/it\.txt; found .*No space left on device.*; name another"),
        replacing(tmp_path / "it.txt") as draft,
    ):
        draft.write_text("half")
        raise error

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error", [FileNotFoundError(errno.ENOENT, "none", "another.txt"), ConnectionResetError(), ComputeError("a bug")]
)
def test_errors_that_are_not_about_the_file_pass_through(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)) as caught, replacing(tmp_path / "it.txt"):
        raise error

    assert caught.value is error


def test_a_record_comes_back_equal(tmp_path: Path) -> None:
    write_record(Note(("ä", "b"), 3), tmp_path / "note.json")

    assert read_record(tmp_path / "note.json", Note) == Note(("ä", "b"), 3)


def test_a_record_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "note.json"
    write_record(Note((), 3), path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": FORMAT + 1, "eyechart": "9.9"}))

    with pytest.raises(
        FileFormatError, match=rf"found format {FORMAT + 1}, written by eyechart 9\.9; upgrade eyechart"
    ):
        read_record(path, Note)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "3", '{"n": 3}', '{"format": 1, "words": [], "n": "many"}', '{"format": 1, "n": 3}', "\udcff"],
)
def test_a_damaged_record_is_one_clear_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "note.json").write_bytes(content.encode(errors="surrogateescape"))

    with pytest.raises(FileFormatError, match=r"to be intact; found a damaged file \(.+\); create it again"):
        read_record(tmp_path / "note.json", Note)


@pytest.mark.parametrize(("name", "place"), [("manifest.json", ""), ("it.json", "/it.json")])
def test_a_record_of_another_kind_is_not_called_damaged(tmp_path: Path, name: str, place: str) -> None:
    write_record(Letter("letter"), tmp_path / name)

    with pytest.raises(FileFormatError) as caught:
        read_record(tmp_path / name, Parcel)

    assert str(caught.value) == f"expected a parcel at {tmp_path}{place}; found a letter; give a parcel"


@pytest.mark.parametrize("kind", ['"kind": 3, ', ""])
def test_a_record_of_no_kind_is_damaged(tmp_path: Path, kind: str) -> None:
    (tmp_path / "it.json").write_text(f'{{"format": 1, {kind}"n": 1}}')

    with pytest.raises(FileFormatError, match="found a damaged file"):
        read_record(tmp_path / "it.json", Parcel)


def test_a_file_that_may_not_be_read_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    monkeypatch.setattr(pl, "read_parquet", refuse)
    said = r"to read .*it\.\w+; found Permission denied; check the path and its permissions"

    with pytest.raises(FileFormatError, match=said):
        read_record(tmp_path / "it.json", Note)
    with pytest.raises(FileFormatError, match=said):
        read_table(tmp_path / "it.parquet")


def test_a_folder_in_the_place_of_a_record_is_not_called_damaged(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="found Is a directory; check the path"):
        read_record(tmp_path, Note)


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

        with pytest.raises(FileFormatError, match="to be intact; found a damaged file"):
            read_table(tmp_path / "it.parquet")
