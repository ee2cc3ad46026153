"""Open what people keep data in: plain files, .gz, .zip, .tar, .tar.gz, and folders of all of these.

A source has a name to show in errors and is read only when asked for. Nothing is ever unpickled.
"""

import codecs
import gc
import gzip
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple, cast

import orjson

from eyechart.errors import FileFormatError
from eyechart.files import missing

BLOCK = 64_000_000  # bytes of lines that are parsed at once
HEAD = 65_536  # bytes by which the form of a file is told
PICKLES = (".pkl", ".pickle")
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_TEXTS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt")


class Source(NamedTuple):
    """A file to be read, wherever it lies; the suffix is that of its content, without .gz."""

    name: str
    suffix: str
    open: Callable[[], bytes]
    path: Path | None = None  # of a file that lies bare on the disk

    def blocks(self, size: int = BLOCK) -> Iterator[bytes]:
        """Yield the content in parts of whole lines, so that a file larger than memory can be read."""
        if self.path is None or self._is_wide(self.head()):
            yield self.read()
            return
        rest = b""
        try:
            with self._unpacked(self.path) as file:
                while part := file.read(size):
                    whole, newline, rest = (rest + part).rpartition(b"\n")
                    if newline:
                        yield whole.removeprefix(_BYTE_ORDER_MARK)
        except _BROKEN as error:
            raise _unreadable(self.name, error) from None
        if rest:
            yield rest.removeprefix(_BYTE_ORDER_MARK)

    def read(self) -> bytes:
        """Return the content, uncompressed and without a byte order mark."""
        try:
            data = self.open()
            plain = gzip.decompress(data) if self._is_packed(data) else data
        except _BROKEN as error:
            raise _unreadable(self.name, error) from None
        return self._narrow(plain) if self._is_wide(plain) else plain.removeprefix(_BYTE_ORDER_MARK)

    def head(self) -> bytes:
        """Return the beginning of a file that lies bare on the disk, uncompressed; of others nothing."""
        if self.path is None:
            return b""
        try:
            with self._unpacked(self.path) as file:
                return file.read(HEAD)
        except _BROKEN as error:
            raise _unreadable(self.name, error) from None

    def is_streamable(self) -> bool:
        """Say whether the bytes on the disk are the content, so that a file can be read from where it lies."""
        if self.path is None:
            return False
        try:
            with self.path.open("rb") as file:
                start = file.read(len(_GZIP))
        except OSError as error:
            raise _unreadable(self.name, error) from None
        return not self._is_packed(start) and not self._is_wide(start)

    def _unpacked(self, path: Path) -> BinaryIO:
        with path.open("rb") as file:
            packed = self._is_packed(file.read(len(_GZIP)))
        return cast("BinaryIO", gzip.open(path)) if packed else path.open("rb")

    def _is_packed(self, data: bytes) -> bool:
        return self.name.lower().endswith(".gz") or data.startswith(_GZIP)  # some tools leave the suffix away

    def _is_wide(self, data: bytes) -> bool:
        return self.suffix in _TEXTS and data.startswith(_UTF_16)

    def _narrow(self, data: bytes) -> bytes:
        try:
            return data.decode("utf-16").encode()
        except UnicodeDecodeError:
            raise FileFormatError(f"text in {self.name}", "broken UTF-16", "save it as UTF-8") from None


def find_sources(path: Path, suffixes: Collection[str]) -> list[Source]:
    """List the files of these suffixes at a path, sorted by name, or say that there is none."""
    if not path.exists():
        raise missing(path)
    if path.suffix.lower() in PICKLES:
        advice = (
            "save it as JSON or Parquet with the program that wrote it; a pickle can run any code when it is opened"
        )
        raise FileFormatError(f"{path} to hold data only", "a pickle, which eyechart never opens", advice)
    found = [source for source in _walk(path) if source.suffix in suffixes]
    if not found:
        kind = "a folder or archive without one" if _is_container(path) else f"a file {path.name}"
        advice = "check the path, or convert the file; .gz, .zip, .tar and folders of these are opened too"
        raise FileFormatError(f"{path} to be or to hold a file with suffix {', '.join(sorted(suffixes))}", kind, advice)
    return sorted(found, key=lambda source: source.name)


def decode_json(source: Source, data: bytes) -> object:
    """Decode JSON, or say where it breaks off."""
    if not data.strip():
        raise FileFormatError(f"JSON in {source.name}", "an empty file", "make or download it anew")
    try:
        with without_collection():
            return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise FileFormatError(f"JSON in {source.name}", *_explain(data, error)) from None


def _explain(data: bytes, error: orjson.JSONDecodeError) -> tuple[str, str]:
    """Say what was found instead of JSON, and what to do about it."""
    try:
        data.decode()
    except UnicodeDecodeError as other:
        return f"text that is not in UTF-8 (byte {data[other.start]:#04x} at {other.start})", "save it as UTF-8"
    found = f"broken JSON ({error.msg} at line {error.lineno}, column {error.colno})"
    hint = " (NaN and Infinity are no JSON: write null)" if re.search(rb"NaN|Infinity", data) else ""
    return found, f"make or download it anew{hint}"


@contextmanager
def without_collection() -> Iterator[None]:
    """Keep the garbage collector still: it would search millions of fresh values, none of them garbage."""
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


def _is_container(path: Path) -> bool:
    return path.is_dir() or _archive_suffix(path.name) is not None


def _archive_suffix(name: str) -> str | None:
    return next((suffix for suffix in _ARCHIVES if name.lower().endswith(suffix)), None)


def _walk(path: Path) -> Iterator[Source]:
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    for file in files:
        inside = file.relative_to(path).parts
        if any(part.startswith((".", "__MACOSX")) for part in inside):
            continue
        archive = _archive_suffix(file.name)
        if archive is None:
            yield Source(str(file), _content_suffix(file.name), file.read_bytes, file)
        else:
            yield from _members(file, archive)


def _members(path: Path, suffix: str) -> list[Source]:
    list_members, read_member = _ARCHIVES[suffix]
    try:
        names = list_members(path)
    except _BROKEN as error:
        raise _unreadable(str(path), error) from None
    return [
        Source(f"{path}/{name}", _content_suffix(name), partial(read_member, path, name))
        for name in names
        if not PurePosixPath(name).name.startswith("._") and "__MACOSX" not in PurePosixPath(name).parts
    ]


def _zip_names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return [entry.filename for entry in archive.infolist() if not entry.is_dir()]


def _zip_member(path: Path, name: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        if archive.getinfo(name).flag_bits & 1:
            raise FileFormatError(
                f"{path} to be open", f"{name} locked with a password", "unpack it and name the folder"
            )
        return archive.read(name)


def _tar_names(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        return [entry.name for entry in archive if entry.isfile()]


def _tar_member(path: Path, name: str) -> bytes:
    with tarfile.open(path) as archive:
        member = archive.extractfile(name)
        return b"" if member is None else member.read()


def _content_suffix(name: str) -> str:
    return PurePosixPath(name.lower().removesuffix(".gz")).suffix


def _unreadable(name: str, error: Exception) -> FileFormatError:
    reason = str(error) or type(error).__name__
    return FileFormatError(f"{name} to be whole", f"a file that cannot be read ({reason})", "make or download it anew")


_ARCHIVES = {
    ".zip": (_zip_names, _zip_member),
    ".tar": (_tar_names, _tar_member),
    ".tar.gz": (_tar_names, _tar_member),
    ".tgz": (_tar_names, _tar_member),
}
