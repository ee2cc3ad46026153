"""List and read the members of .zip and .tar archives, including zip archives compressed with zstandard."""

import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from eyechart.base.errors import FileFormatError

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
        from zstandard import ZstdError

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
        if archive.getinfo(name).flag_bits & 1:
            raise FileFormatError(
                f"{path} to be unencrypted", f"{name} protected by a password", "unpack it and give the folder"
            )
        return archive.read(name)


def _tar_names(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        return [entry.name for entry in archive if entry.isfile()]


def _tar_member(path: Path, name: str) -> bytes:
    with tarfile.open(path) as archive:
        member = archive.extractfile(name)
        return b"" if member is None else member.read()


_READERS: dict[str, tuple[Callable[[Path], list[str]], Callable[[Path, str], bytes]]] = {
    ".zip": (_zip_names, _zip_member),
    ".tar": (_tar_names, _tar_member),
    ".tar.gz": (_tar_names, _tar_member),
    ".tgz": (_tar_names, _tar_member),
}
