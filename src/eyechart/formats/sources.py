"""Find and read the files of a dataset or log: plain files, .gz, .zip, .tar, .tar.gz, and folders of all of these.

A file is read only when its content is asked for. Zip archives may be compressed with zstandard. Nothing is ever
unpickled.
"""

import codecs
import gc
import gzip
import io
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple, cast

import orjson

from eyechart.base.errors import FileFormatError
from eyechart.base.files import missing, require_regular
from eyechart.formats.limits import require_moderate, require_shallow, require_short_lines

# What the libraries raise for a broken file.
BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError)
_ZSTANDARD = 93  # the method's number; Python's zipfile supports it from 3.14
_LOCAL_HEADER = 30  # bytes before the name of a member; its last two fields are the lengths of name and extra


def archive_suffix(name: str) -> str | None:
    """Return the suffix that makes a file an archive, if it has one."""
    return next((suffix for suffix in _READERS if name.lower().endswith(suffix)), None)


def list_members(path: Path, suffix: str) -> list[str]:
    """List the files in an archive, except those that macOS adds."""
    list_names, _ = _READERS[suffix]
    try:
        names = list_names(path)
    except BROKEN as error:
        raise unreadable(str(path), error) from None
    return [name for name in names if not _is_from_macos(PurePosixPath(name))]


def read_member(path: Path, suffix: str, name: str) -> bytes:
    """Return the content of a file in an archive."""
    _, read = _READERS[suffix]
    return read(path, name)


def unreadable(name: str, error: Exception) -> FileFormatError:
    """Build the error for a file that is damaged."""
    reason = str(error) or type(error).__name__
    return FileFormatError(
        f"{name} to be intact", f"a file that cannot be read ({reason})", "create or download it again"
    )


class ZipBytes:
    """A zip archive in memory, perhaps compressed with zstandard; the last of several members with one name counts."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self._data = data
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise unreadable(name, error) from None

    def names(self) -> list[str]:
        """List the members, each once."""
        return list(dict.fromkeys(self._archive.namelist()))

    def read(self, member: str) -> bytes:
        """Unpack a member and check it against its checksum."""
        from zstandard import ZstdError  # here, because it takes 20 ms, a twentieth of `eyechart --help`

        entry = self._archive.getinfo(member)
        try:
            return self._unpack(entry) if entry.compress_type == _ZSTANDARD else self._archive.read(entry)
        except (zipfile.BadZipFile, zlib.error, ZstdError, EOFError, OSError, RuntimeError, struct.error) as error:
            raise unreadable(f"{self.name}/{member}", error) from None

    def _unpack(self, entry: zipfile.ZipInfo) -> bytes:
        from zstandard import ZstdDecompressor

        lengths = struct.unpack_from("<HH", self._data, entry.header_offset + _LOCAL_HEADER - 4)
        start = entry.header_offset + _LOCAL_HEADER + sum(lengths)
        packed = io.BytesIO(self._data[start : start + entry.compress_size])
        content = ZstdDecompressor().stream_reader(packed, read_across_frames=True).read()
        if zlib.crc32(content) != entry.CRC:
            raise zipfile.BadZipFile("wrong checksum")
        return content


def _is_from_macos(path: PurePosixPath) -> bool:
    return path.name.startswith("._") or "__MACOSX" in path.parts


def _zip_names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return [entry.filename for entry in archive.infolist() if not entry.is_dir()]


def _zip_member(path: Path, name: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        entry = archive.getinfo(name)
        if entry.flag_bits & 1:
            raise FileFormatError(
                f"{path} without a password", f"{name}, which is protected by one", "unpack it and give the folder"
            )
        require_moderate(f"{path}/{name}", entry.compress_size, entry.file_size)
        return archive.read(entry)


def _tar_names(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        return [entry.name for entry in archive if entry.isfile()]


def _tar_member(path: Path, name: str) -> bytes:
    with tarfile.open(path) as archive:
        entry = archive.getmember(name)
        require_moderate(f"{path}/{name}", path.stat().st_size, entry.size)
        member = archive.extractfile(entry)
        return b"" if member is None else member.read()


_READERS: dict[str, tuple[Callable[[Path], list[str]], Callable[[Path, str], bytes]]] = {
    ".zip": (_zip_names, _zip_member),
    ".tar": (_tar_names, _tar_member),
    ".tar.gz": (_tar_names, _tar_member),
    ".tgz": (_tar_names, _tar_member),
}


BLOCK = 64_000_000  # bytes of lines that are parsed at once
HEAD = 65_536  # bytes used to recognise the form of a file
PICKLES = (".pkl", ".pickle")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")  # how one JSON list begins
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_TEXTS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt")


class SourceFile(NamedTuple):
    """A file to be read, on the disk or in an archive; the suffix is that of its content, without .gz."""

    name: str
    suffix: str
    open: Callable[[], bytes]
    path: Path | None = None  # of a file that is in no archive

    def blocks(self, size: int = BLOCK) -> Iterator[bytes]:
        """Yield the content in parts of whole lines, so that a file larger than memory can be read."""
        if self.path is None or self._is_utf16(self.head()):
            content = self.read()
            if _LIST.match(content) is None:
                require_short_lines(self.name, content)
            yield content
            return
        rest, packed, unpacked, is_list = b"", self.path.stat().st_size, 0, _LIST.match(self.head()) is not None
        try:
            with self._unpacked(self.path) as file:
                while part := file.read(size):
                    unpacked += len(part)
                    require_moderate(self.name, packed, unpacked)
                    joined = rest + part
                    if not is_list:  # a JSON document may be one line
                        require_short_lines(self.name, joined)
                    whole, newline, rest = joined.rpartition(b"\n")
                    if newline:
                        yield whole.removeprefix(_BYTE_ORDER_MARK)
        except BROKEN as error:
            raise unreadable(self.name, error) from None
        if rest:
            yield rest.removeprefix(_BYTE_ORDER_MARK)

    def read(self) -> bytes:
        """Return the content, uncompressed and without a byte order mark."""
        try:
            data = self.open()
            plain = self._decompress(data) if self._is_gzipped(data) else data
        except BROKEN as error:
            raise unreadable(self.name, error) from None
        return self._to_utf8(plain) if self._is_utf16(plain) else plain.removeprefix(_BYTE_ORDER_MARK)

    def _decompress(self, data: bytes) -> bytes:
        parts = []
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while part := file.read(BLOCK):
                parts.append(part)
                require_moderate(self.name, len(data), sum(map(len, parts)))
        return b"".join(parts)

    def head(self) -> bytes:
        """Return the beginning of a file on the disk, uncompressed; nothing of a file in an archive."""
        if self.path is None:
            return b""
        try:
            with self._unpacked(self.path) as file:
                return file.read(HEAD)
        except BROKEN as error:
            raise unreadable(self.name, error) from None

    def is_streamable(self) -> bool:
        """Return whether other libraries can read the content directly from the path."""
        if self.path is None:
            return False
        try:
            with self.path.open("rb") as file:
                start = file.read(len(_GZIP))
        except OSError as error:
            raise unreadable(self.name, error) from None
        return not self._is_gzipped(start) and not self._is_utf16(start)

    def _unpacked(self, path: Path) -> BinaryIO:
        with path.open("rb") as file:
            gzipped = self._is_gzipped(file.read(len(_GZIP)))
        return cast("BinaryIO", gzip.open(path)) if gzipped else path.open("rb")

    def _is_gzipped(self, data: bytes) -> bool:
        return self.name.lower().endswith(".gz") or data.startswith(_GZIP)  # some tools leave the suffix out

    def _is_utf16(self, data: bytes) -> bool:
        return self.suffix in _TEXTS and data.startswith(_UTF_16)

    def _to_utf8(self, data: bytes) -> bytes:
        try:
            return data.decode("utf-16").encode()
        except UnicodeDecodeError:
            raise FileFormatError(f"text in {self.name}", "broken UTF-16", "save it as UTF-8") from None


def find_sources(path: Path, suffixes: Collection[str]) -> list[SourceFile]:
    """List the files with these suffixes at a path, sorted by name; raise an error if there are none."""
    if not path.exists():
        raise missing(path)
    require_regular(path)
    if path.suffix.lower() in PICKLES:
        advice = (
            "save it as JSON or Parquet with the program that wrote it; a pickle can run any code when it is opened"
        )
        raise FileFormatError(f"a file of nothing but data at {path}", "a pickle, which eyechart never opens", advice)
    sources = [source for source in _walk(path) if source.suffix in suffixes]
    if not sources:
        is_container = path.is_dir() or archive_suffix(path.name) is not None
        kind = "a folder or archive without one" if is_container else f"a file {path.name}"
        advice = "check the path, or convert the file; .gz, .zip, .tar and folders of these are opened too"
        raise FileFormatError(f"a file with suffix {', '.join(sorted(suffixes))} at {path}", kind, advice)
    return sorted(sources, key=lambda source: source.name)


def decode_json(source: SourceFile, data: bytes) -> object:
    """Decode JSON, with an error that says where it breaks."""
    if not data.strip():
        raise FileFormatError(f"JSON in {source.name}", "an empty file", "create or download it again")
    require_shallow(source.name, data)
    try:
        with without_collection():
            return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise FileFormatError(f"JSON in {source.name}", *_explain(data, error)) from None


def _explain(data: bytes, error: orjson.JSONDecodeError) -> tuple[str, str]:
    """Explain what was found instead of JSON, and what to do about it."""
    try:
        data.decode()
    except UnicodeDecodeError as other:
        return f"text that is not UTF-8 (byte {data[other.start]:#04x} at {other.start})", "save it as UTF-8"
    found = f"broken JSON ({error.msg} at line {error.lineno}, column {error.colno})"
    hint = " (NaN and Infinity are not JSON: write null)" if re.search(rb"NaN|Infinity", data) else ""
    return found, f"create or download it again{hint}"


@contextmanager
def without_collection() -> Iterator[None]:
    """Pause the garbage collector, which would search millions of fresh values, none of them garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def stem(path: Path) -> str:
    """Name a dataset after its file or folder."""
    return path.name.split(".")[0] or path.resolve().name


def _walk(path: Path) -> Iterator[SourceFile]:
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    for file in files:
        inside = file.relative_to(path).parts
        if any(part.startswith((".", "__MACOSX")) for part in inside):
            continue
        archive = archive_suffix(file.name)
        if archive is None:
            yield SourceFile(str(file), _content_suffix(file.name), file.read_bytes, file)
        else:
            yield from _members(file, archive)


def _members(path: Path, suffix: str) -> list[SourceFile]:
    return [
        SourceFile(f"{path}/{name}", _content_suffix(name), partial(read_member, path, suffix, name))
        for name in list_members(path, suffix)
    ]


def _content_suffix(name: str) -> str:
    return PurePosixPath(name.lower().removesuffix(".gz")).suffix
