"""Files made to hang, to fill the memory or to break a parser are refused in one line, and in time."""

import gzip
import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.base.errors import FileFormatError
from eyechart.formats import limits, read, sources
from eyechart.formats.limits import require_short_lines, require_short_rows
from eyechart.formats.predictions import read_predictions

ROW = b'{"id": 1, "question": "a?", "answer": "b"}\n'


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits, so that small files reach them."""
    for name, value in (("LONGEST", 1_000), ("LARGE", 5_000), ("PART", 300)):
        monkeypatch.setattr(limits, name, value)
    monkeypatch.setattr("eyechart.formats.records.LONGEST", 1_000)
    monkeypatch.setattr(sources, "BLOCK", 900)


LONG = b"x" * 2_000
RECORDS = {
    "lines.jsonl": ROW + ROW.replace(b"b", LONG) + ROW,
    "last line.jsonl": ROW + ROW.replace(b"b", LONG).rstrip(),
    "row.csv": b"id,question,answer\n1,a?,b\n2,a?," + LONG + b"\n",
    "quoted.csv": b'id,question,answer\n1,a?,"b ""\n c"\n2,a?,"' + b"x\n" * 1_000 + b'"\n3,a?,b\n',
    "row.tsv": b"id\tquestion\tanswer\n1\ta?\tb\n2\ta?\t" + LONG + b"\n",
}


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("reader", [read, read_predictions])
@pytest.mark.usefixtures("small")
def test_a_record_that_is_too_long_is_refused(tmp_path: Path, name: str, reader: Callable[[Path], object]) -> None:
    for file, content in ((tmp_path / name, RECORDS[name]), (tmp_path / f"{name}.gz", gzip.compress(RECORDS[name]))):
        file.write_bytes(content)
        with pytest.raises(FileFormatError, match="records of moderate size"):
            reader(file)


@pytest.mark.usefixtures("small")
def test_many_short_records_and_one_long_document_are_read(tmp_path: Path) -> None:
    rows = [ROW.replace(b"1", b"%d" % n).strip() for n in range(100, 200)]
    contents = {
        "a.jsonl": b"\n".join(rows),
        "a.json": b"[" + b",".join(rows) + b"]",
        "list.jsonl": b"[" + b",".join(rows) + b"]",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        assert read(tmp_path / name).height == 100
    (tmp_path / "a.csv").write_bytes(b"id,question,answer\n" + b"".join(b'%d,"a\n""?",b\n' % n for n in range(100)))
    assert read(tmp_path / "a.csv").height == 100


@pytest.mark.usefixtures("small")
def test_the_length_of_rows_does_not_depend_on_where_a_file_is_cut() -> None:
    content = b'1,"a\n' * 31 + b'"\n2,b\n' + b"y" * 990 + b"\n"
    for size in (1, 7, 100, 5_000):
        require_short_rows("it", [content[at : at + size] for at in range(0, len(content), size)])
        with pytest.raises(FileFormatError):
            require_short_rows("it", [(content + LONG)[at : at + size] for at in range(0, len(content) + 2_000, size)])
    require_short_lines("it", b"x" * 1_000 + b"\n" + b"y" * 1_000)
    with pytest.raises(FileFormatError):
        require_short_lines("it", b"x\n" + b"y" * 1_001 + b"\nx")


def zipped(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", content)
    return out.getvalue()


def sparse() -> bytes:
    """Write an archive with a file that claims to be far larger than it is."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w"):
        entry = tarfile.TarInfo("a.json")
        entry.type = tarfile.GNUTYPE_SPARSE
        entry.size = 512
        header = bytearray(entry.tobuf())
        header[483:495] = b"77777777777\0"  # the size with all its holes
        header[386:410] = b"00000000000\x0000000001000\0"  # one piece of 512 bytes at the beginning
        header[148:156] = b" " * 8
        header[148:156] = f"{sum(header):06o}\0 ".encode()
        out.write(bytes(header) + b"0" * 512)
    return out.getvalue()


BOMBS = {
    "a.json.gz": gzip.compress(b"[" + b" " * 5_000_000 + b"]"),
    "a.jsonl.gz": gzip.compress(b"\n" * 5_000_000 + ROW),
    "a.zip": zipped(b"[" + b" " * 5_000_000 + b"]"),
    "a.tar": sparse(),
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.usefixtures("small")
def test_what_unpacks_to_far_more_than_its_size_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(BOMBS[name])

    with pytest.raises(FileFormatError, match="to unpack to a moderate size"):
        read("table", tmp_path / name)


@pytest.mark.parametrize("depth", [900, 100_000])
@pytest.mark.parametrize("bracket", ["[]", '{"a":}'])
@pytest.mark.parametrize("name", ["vqa2", "table", "answers"])
def test_deep_nesting_is_read_or_refused_in_one_line(tmp_path: Path, depth: int, bracket: str, name: str) -> None:
    deep = bracket[:-1] * depth + "1" + bracket[-1] * depth
    (tmp_path / "q.json").write_text(f'{{"questions": [{{"question_id": 1, "question": "a?", "image_id": {deep}}}]}}')
    (tmp_path / "a.json").write_text('{"annotations": []}')
    for content in (deep, f'[{{"id": 1, "question": "a?", "answer": {deep}}}]', f'{{"id": {deep}}}\n{{"id": 2}}'):
        (tmp_path / "t.json").write_text(content)
        with pytest.raises(FileFormatError, match=r"nested at most 100 deep|answers in|records|JSON in"):
            if name == "answers":
                read_predictions(tmp_path / "t.json")
            else:
                read(name, tmp_path / "t.json" if name == "table" else tmp_path)


def test_brackets_in_texts_and_long_lists_are_no_nesting(tmp_path: Path) -> None:
    rows = [f'{{"id": {n}, "question": "[[{{ \\"[{{", "answer": "]"}}' for n in range(300)]
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    (tmp_path / "a.json").write_text("[" + ",\n".join(rows) + "]")
    deep = "[" * 90 + "]" * 90
    (tmp_path / "deep.json").write_text(f'[{{"id": 1, "question": "a?", "answer": "b", "meta": {deep}}}]')

    assert read(tmp_path / "a.jsonl").height == read(tmp_path / "a.json").height == 300
    assert read(tmp_path / "deep.json").height == 1


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_pipes_and_devices_are_no_files(
    tmp_path: Path, make: Callable[[Path], None], eyechart: Callable[..., tuple[int, str, str]]
) -> None:
    make(tmp_path / "it.json")
    (tmp_path / "run").mkdir()
    make(tmp_path / "run" / "manifest.json")
    (tmp_path / "folder").mkdir()
    make(tmp_path / "folder" / "it.json")

    for words in (
        ("read", "table", tmp_path / "it.json", "-o", "out"),
        ("read", "table", tmp_path / "folder", "-o", "out"),
        ("report", tmp_path / "run"),
        ("study", tmp_path / "run", "-o", "other"),
        ("study", "--config", tmp_path / "it.json", tmp_path, "-o", "other"),
    ):
        code, _, error = eyechart(*words)
        assert (code, error.count("\n")) == (1, 1)


def test_an_error_is_one_line_of_moderate_length() -> None:
    error = FileFormatError("a\nfile", "x" * 200_000, "write\nit again")

    assert len(str(error)) < 1_200
    assert "(200,000 characters)" in str(error)
    assert error.found == "x" * 200_000
