"""Files that are read in batches become the same dataset as when they are read at once."""

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from eyechart.base.errors import FileFormatError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.data.store import fingerprint
from eyechart.formats import read, sources, streaming

# Of files this small one row is a large share, so that losing it makes the reading doubtful.
pytestmark = pytest.mark.filterwarnings("ignore::eyechart.base.errors.ReadingWarning")

Rows = list[dict[str, Any]]


def make_small(patch: pytest.MonkeyPatch) -> None:
    """Take every file for large, and seven rows for a batch."""
    for name, value in {"LARGE": 0, "FEWEST": 7, "MOST": 7}.items():
        patch.setattr(streaming, name, value)
    patch.setattr(sources.SourceFile.blocks, "__defaults__", (2000,))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    make_small(monkeypatch)
    return monkeypatch


def rows(n: int, seed: int = 0) -> Rows:
    """Make rows with repeated ids, gaps, objects, options that include the answer or not, and texts."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    made = []
    for at in range(n):
        choices = draw.sample(["red", "blue", "two", "yes", "no"], 3)
        row = {
            "question_id": draw.choice([at, at, at, draw.randrange(n)]),
            "image": draw.choice([f"i{at // 3}", None]),
            "question": draw.choice(["what is it?", "how many?", "   "]),
            "answer": draw.choice([choices[0], "B", "1", None, "elsewhere"]),
            "choices": choices,
            "answers": [draw.choice(choices) for _ in range(4)],
            "objects": draw.choice([[{"label": "bus", "box": [0, 0, 1, 1 + at % 3]}], [], None]),
            "path": draw.choice([f"i{at // 3}.jpg", None]),
            "history": "said " * draw.randrange(9),
        }
        made.append(row)
    return made


def write(table: Rows, path: Path) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table))
    elif path.suffix == ".parquet":
        pl.DataFrame(table, infer_schema_length=None).write_parquet(path, row_group_size=11)
    else:
        flat = [{name: value if name in PLAIN else json.dumps(value) for name, value in row.items()} for row in table]
        separator = "," if path.suffix == ".csv" else "\t"
        pl.DataFrame(flat, infer_schema_length=None).write_csv(path, separator=separator)
    return path


PLAIN = ("question_id", "image", "question", "answer", "path", "history")


def both(path: Path, monkeypatch: pytest.MonkeyPatch, **given: object) -> tuple[Dataset, Dataset]:
    """Read in batches and at once."""
    streamed = read("table", path, **given)
    monkeypatch.setattr(streaming, "LARGE", 10**12)
    whole = read("table", path, **given)
    monkeypatch.setattr(streaming, "LARGE", 0)
    assert streamed.kept.stored is not None
    assert whole.kept.stored is None
    return streamed, whole


def assert_same(streamed: Dataset, whole: Dataset) -> None:
    assert_frame_equal(streamed.examples, whole.examples)
    assert_frame_equal(streamed.images.table, whole.images.table)
    assert_frame_equal(*(data.counts.sort("status", "reason") for data in (streamed, whole)))
    assert streamed.images.root == whole.images.root
    assert streamed.name == whole.name


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "csv", "tsv"])
@pytest.mark.parametrize("given", [{}, {"split": "val", "map": {"question": "history", "id": "question_id"}}])
def test_batches_make_the_same_dataset(
    suffix: str, given: dict[str, object], small: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if suffix in ("csv", "tsv"):
        table = [{name: value for name, value in row.items() if name != "objects"} for row in rows(60)]
    else:
        table = rows(60)
    streamed, whole = both(write(table, tmp_path / f"it.{suffix}"), small, **given)

    assert_same(streamed, whole)
    assert whole.height < 60, "some rows are dropped, also across batches"


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 40), st.integers(0, 1000))
def test_any_lines_make_the_same_dataset(n: int, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        make_small(patch)
        path = write(rows(n, seed), Path(folder) / "it.jsonl")
        try:
            read("table", path)
        except SettingError:  # too few rows to tell an index from a text
            patch.setattr(streaming, "LARGE", 10**12)
            with pytest.raises(SettingError):
                read("table", path)
            return
        assert_same(*both(path, patch))


def test_columns_that_only_some_lines_have_and_types_that_change(small: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines: Rows = [{"question": f"what is number {at} here?", "A": "x", "B": "y", "answer": "A"} for at in range(40)]
    lines[33] |= {"C": "z", "answer": "C", "note": 7}
    lines[5] |= {"note": "seven"}
    lines[20] |= {"note": 1.5}

    streamed, whole = both(write(lines, tmp_path / "it.jsonl"), small)

    assert_same(streamed, whole)
    assert whole.examples["id"].to_list() == [str(at) for at in range(40)]
    assert whole.examples["answer"][33] == "z"


def test_files_of_a_folder_are_read_as_one(small: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(rows(30, 1), tmp_path / "a.parquet")
    write(rows(30, 2), tmp_path / "b.jsonl")

    assert_same(*both(tmp_path, small))


def test_what_was_read_in_batches_is_saved_the_same_every_time(small: pytest.MonkeyPatch, tmp_path: Path) -> None:
    del small
    path = write(rows(60), tmp_path / "it.jsonl")
    for name in ("one", "two"):
        read("table", path).save(tmp_path / name)

    assert fingerprint(tmp_path / "one") == fingerprint(tmp_path / "two")


def test_the_temporary_files_go_with_the_dataset(small: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small.setattr("tempfile.tempdir", str(tmp_path / "here"))
    (tmp_path / "here").mkdir()
    data = read("table", write(rows(30), tmp_path / "it.jsonl"))
    assert list((tmp_path / "here").iterdir())
    del data

    assert not list((tmp_path / "here").iterdir())


def test_entries_that_are_no_records_are_counted(small: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = write(rows(30), tmp_path / "it.jsonl")
    path.write_text(path.read_text() + "{}\n3\n")

    assert_same(*both(path, small))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("it.csv", b"id;question;split;answer\r1;what?;Train;\r2;who, then?;dev; \r"),
        ("it.csv", b"\xef\xbb\xbfid\tquestion\n1\twhat?\n2\twho, then?\n"),
        ("it.jsonl", b'[{"id": 1, "question": "what?"},\n{"id": 2, "question": "who, then?"}]'),
    ],
)
def test_files_of_an_unusual_form_are_read_in_batches_too(
    name: str, content: bytes, small: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)

    streamed, whole = both(tmp_path / name, small)

    assert_same(streamed, whole)
    assert whole.examples["question"].to_list() == ["what?", "who, then?"]


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: data.decode().encode("utf-16")])
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_files_that_must_be_unpacked_or_decoded_are_read_at_once(
    suffix: str, pack: Callable[[bytes], bytes], small: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del small
    path = write([{"question": "what?"}], tmp_path / f"it.{suffix}")
    path.write_bytes(pack(path.read_bytes()))

    assert read("table", path).examples["question"].to_list() == ["what?"]


def test_mistakes_are_told_as_when_read_at_once(small: pytest.MonkeyPatch, tmp_path: Path) -> None:
    del small
    broken = write(rows(30), tmp_path / "it.jsonl")
    broken.write_text(broken.read_text() + '{"question": ')
    with pytest.raises(FileFormatError, match=r"JSON in line 31 of .*it.jsonl; found broken JSON"):
        read("table", broken)
    (tmp_path / "no.parquet").write_bytes(b"PAR1 is not enough")
    with pytest.raises(FileFormatError, match=r"a .parquet file in"):
        read("table", tmp_path / "no.parquet")
    (tmp_path / "none.jsonl").write_text("\n")
    with pytest.raises(FileFormatError, match="found an empty file"):
        read("table", tmp_path / "none.jsonl")
    with pytest.raises(SettingError, match="a column 'question' in"):
        read("table", write([{"text": "a"}], tmp_path / "other.csv"))
    (tmp_path / "bare.csv").write_text("id,question\n")
    with pytest.raises(FileFormatError, match="none at all under the columns id, question"):
        read("table", tmp_path / "bare.csv")
    (tmp_path / "strays.jsonl").write_text('"a"\n"b"\n')
    with pytest.raises(FileFormatError, match=r"only entries that are not records \(2\)"):
        read("table", tmp_path / "strays.jsonl")
    (tmp_path / "latin.csv").write_bytes(b"id,question\n1,caf\xe9\n")
    with pytest.raises(FileFormatError, match="save it as UTF-8"):
        read("table", tmp_path / "latin.csv")
