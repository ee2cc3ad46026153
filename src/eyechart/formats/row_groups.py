"""Read from the end of a Parquet file how its rows are grouped, which Polars does not tell.

The end is a record in Thrift's compact protocol; the names of its fields are numbers (parquet.thrift, FileMetaData).
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_MARK = b"PAR1"
_ROW_GROUPS, _SIZE, _ROWS = 4, 2, 3  # fields of FileMetaData and of RowGroup
_DEEPEST = 32  # records in records; Parquet has five levels


class RowGroup(NamedTuple):
    """How many rows a group has, and how many bytes they take when they are no longer compressed."""

    rows: int
    size: int


def read_row_groups(path: Path) -> list[RowGroup]:
    """List the row groups of a file; raise an OSError where it has no such end."""
    with path.open("rb") as file:
        end = file.seek(0, 2)
        file.seek(max(end - 8, 0))
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != _MARK or length > end - 8:
            raise OSError("no Parquet file: its end is missing")
        file.seek(end - 8 - length)
        data = file.read(length)
    try:
        groups = _Record(data).read_fields().get(_ROW_GROUPS, [])
        return [RowGroup(int(group[_ROWS]), int(group[_SIZE])) for group in groups]  # type: ignore[attr-defined]  # else told below
    except (IndexError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise OSError("a Parquet file whose end is damaged") from None


class _Record:
    """Thrift's compact protocol, as far as records, lists and numbers go; what else there is is passed over."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def read_fields(self, depth: int = 0) -> dict[int, object]:
        """Read a record as {number of the field: value}."""
        if depth > _DEEPEST:
            raise ValueError("too deep")
        fields: dict[int, object] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> object:
        if kind in {9, 10}:
            return self._list(depth)
        if kind == 12:
            return self.read_fields(depth + 1)
        readers: dict[int, Callable[[], object]] = {
            **dict.fromkeys((1, 2, 3), self._byte),
            **dict.fromkeys((4, 5, 6), self._signed),
            7: lambda: self._bytes(8),
            8: lambda: self._bytes(self._varint()),
        }
        return readers[kind]()

    def _list(self, depth: int) -> list[object]:
        head = self._byte()
        n = self._varint() if head >> 4 == 15 else head >> 4
        if n > len(self._data):
            raise ValueError("more entries than bytes")
        return [self._value(head & 15, depth) for _ in range(n)]

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, n: int) -> bytes:
        self._at += n
        if self._at > len(self._data):
            raise IndexError(n)
        return self._data[self._at - n : self._at]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _signed(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
