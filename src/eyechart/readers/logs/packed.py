"""Read the members of a zip archive that are compressed with zstandard, which Python's zipfile cannot before 3.14."""

import io
import struct
import zipfile
import zlib

from eyechart.errors import FileFormatError

ZSTANDARD = 93
_LOCAL_HEADER = 30  # bytes before the name of a member; its last two fields are the lengths of name and extra


class Packed:
    """A zip archive in memory; of members with the same name the last counts."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self._data = data
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise _broken(name, error) from None

    def names(self) -> list[str]:
        """List the members, each once."""
        return list(dict.fromkeys(self._archive.namelist()))

    def read(self, member: str) -> bytes:
        """Unpack a member and check it against its checksum."""
        from zstandard import ZstdError

        entry = self._archive.getinfo(member)
        try:
            return self._unpack(entry) if entry.compress_type == ZSTANDARD else self._archive.read(entry)
        except (zipfile.BadZipFile, zlib.error, ZstdError, EOFError, OSError, RuntimeError, struct.error) as error:
            raise _broken(f"{self.name}/{member}", error) from None

    def _unpack(self, entry: zipfile.ZipInfo) -> bytes:
        from zstandard import ZstdDecompressor

        lengths = struct.unpack_from("<HH", self._data, entry.header_offset + _LOCAL_HEADER - 4)
        start = entry.header_offset + _LOCAL_HEADER + sum(lengths)
        packed = io.BytesIO(self._data[start : start + entry.compress_size])
        content = ZstdDecompressor().stream_reader(packed, read_across_frames=True).read()
        if zlib.crc32(content) != entry.CRC:
            raise zipfile.BadZipFile("wrong checksum")
        return content


def _broken(name: str, error: Exception) -> FileFormatError:
    reason = str(error) or type(error).__name__
    return FileFormatError(f"{name} to be whole", f"a file that cannot be read ({reason})", "make or download it anew")
