"""Opening files: whatever is wrong with one is said in one clear line."""

import contextlib
import gc
import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from eyechart.base.errors import FileFormatError
from eyechart.formats.sources import SourceFile, decode_json, find_sources, stem


def packed(kind: str, folder: Path, content: bytes) -> Path:
    """Put a file a.json with this content into a container."""
    path = folder / f"data{kind}"
    if kind == ".json":
        path.write_bytes(content)
    elif kind == ".json.gz":
        path.write_bytes(gzip.compress(content))
    elif kind == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.mkdir("inner")
            archive.writestr("inner/a.json", content)
            archive.writestr("__MACOSX/inner/._a.json", b"\x00")
            archive.writestr("inner/._b.json", b"\x00")
            archive.writestr("inner/read.me", b"\x00")
    elif kind == "":
        (path / "deep").mkdir(parents=True)
        (path / "deep" / "a.json").write_bytes(content)
        (path / ".hidden.json").write_bytes(b"\x00")
    else:
        with tarfile.open(path, "w:gz" if kind.endswith("gz") else "w") as archive:
            member = tarfile.TarInfo("inner/a.json")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


KINDS = (".json", ".json.gz", ".zip", ".tar", ".tar.gz", ".tgz", "")


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_content_comes_out_of_every_container(kind: str, tmp_path: Path) -> None:
    sources = find_sources(packed(kind, tmp_path, b"[1]"), {".json"})

    assert [(source.suffix, source.read()) for source in sources] == [(".json", b"[1]")]


def test_archives_within_a_folder_are_opened_and_sources_sorted_by_name(tmp_path: Path) -> None:
    packed(".zip", tmp_path, b"[2]")
    (tmp_path / "a.json").write_bytes(b"[1]")

    assert [source.read() for source in find_sources(tmp_path, {".json"})] == [b"[1]", b"[2]"]


def test_a_gzipped_file_within_an_archive_is_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a.json.gz", gzip.compress(b"[3]"))

    (source,) = find_sources(tmp_path / "x.zip", {".json"})

    assert source.read() == b"[3]"


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    path = packed(".json", tmp_path, b"\xef\xbb\xbf[1]")

    assert find_sources(path, {".json"})[0].read() == b"[1]"


@pytest.mark.parametrize("kind", [".json.gz", ".zip", ".tar.gz"])
def test_a_file_cut_in_half_is_an_error_that_names_it(kind: str, tmp_path: Path) -> None:
    path = packed(kind, tmp_path, bytes(range(256)) * 50)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    with pytest.raises(FileFormatError, match="data") as caught:
        [source.read() for source in find_sources(path, {".json"})]

    assert caught.value.advice == "create or download it again"


def test_a_changed_byte_within_a_zip_is_found(tmp_path: Path) -> None:
    path = packed(".zip", tmp_path, bytes(range(256)) * 50)
    content = bytearray(path.read_bytes())
    content[content.find(b"inner/a.json") + 40] ^= 0xFF
    path.write_bytes(content)

    with pytest.raises(FileFormatError, match="to be intact"):
        find_sources(path, {".json"})[0].read()


def test_a_locked_zip_asks_for_unpacking(tmp_path: Path) -> None:
    path = packed(".zip", tmp_path, b"[1]")
    content = bytearray(path.read_bytes())
    for mark, flags in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        at = content.find(mark)
        while at >= 0:
            content[at + flags] |= 1
            at = content.find(mark, at + 1)
    path.write_bytes(content)

    with pytest.raises(FileFormatError, match=r"without a password; found .*, which is protected by one"):
        find_sources(path, {".json"})[0].read()


@pytest.mark.parametrize("name", ["rules.pkl", "rules.pickle"])
def test_a_pickle_is_never_opened(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"cos\nsystem\n(S'false'\ntR.")

    with pytest.raises(FileFormatError, match=r"never opens; .* can run any code"):
        find_sources(tmp_path / name, {".json", ".pkl", ".pickle"})


@pytest.mark.parametrize("kind", ["missing.json", "other.docx", "folder"])
def test_nothing_fitting_at_a_path_is_an_error(kind: str, tmp_path: Path) -> None:
    (tmp_path / "other.docx").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "note.txt").touch()

    with pytest.raises(FileFormatError, match=kind):
        find_sources(tmp_path / kind, {".json"})


@pytest.mark.parametrize(
    ("content", "found"),
    [(b"", "an empty file"), (b" \n", "an empty file"), (b'[{"a":\n 1', "line 2"), (b"[NaN]", "column 2")],
)
def test_broken_json_is_named_with_its_place(content: bytes, found: str, tmp_path: Path) -> None:
    (source,) = find_sources(packed(".json", tmp_path, content), {".json"})

    with pytest.raises(FileFormatError, match=r"data\.json") as caught:
        decode_json(source, source.read())

    assert found in caught.value.found


def test_a_dataset_is_named_after_its_file_or_folder() -> None:
    assert [stem(Path(name)) for name in ("a/b.json.gz", "a/c", ".")] == ["b", "c", Path.cwd().name]


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("content", [b"[1]", b"[1"])
def test_the_garbage_collector_is_left_as_it_was(enabled: bool, content: bytes) -> None:  # noqa: FBT001 - a case
    """A collector that is off stays off, one that is on comes back on, also after an error."""
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with contextlib.suppress(FileFormatError):
            decode_json(SourceFile("x", ".json", bytes), content)
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
