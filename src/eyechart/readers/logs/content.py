"""A file of answers, decoded once however many ask for it, and the names by which its format is known."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import orjson

from eyechart.errors import FileFormatError
from eyechart.readers.records import (
    TABLE_FORMATS,
    Records,
    begins_list,
    entries_of,
    holds_lines,
    read_records,
    tabulate,
)
from eyechart.readers.source import Source, decode_json

LINES = (".jsonl", ".ndjson")
ANSWER_SUFFIXES = (*TABLE_FORMATS, ".eval")
SEEN = 100  # records that are looked at to know a format by


@dataclass(frozen=True)
class Content:
    """What is in a source, as far as somebody asks."""

    source: Source

    @cached_property
    def data(self) -> bytes:
        """Read the bytes, or say that there are none."""
        data = self.source.read()
        if not data or data.isspace():
            raise FileFormatError(f"answers in {self.source.name}", "an empty file", "make or download it anew")
        return data

    @property
    def is_json(self) -> bool:
        """Say whether the file is JSON or JSON lines."""
        return self.source.suffix in (".json", *LINES)

    @cached_property
    def is_lines(self) -> bool:
        """Say whether the file is JSON lines, also under the name of JSON; one list under the name of lines is none."""
        return (self.source.suffix in LINES and not begins_list(self.data)) or holds_lines(self.data)

    @cached_property
    def value(self) -> object:
        """Decode the JSON; JSON lines become a list."""
        return list(self._decode_lines(None)) if self.is_lines else decode_loosely(self.source, self.data)

    @property
    def records(self) -> list[object]:
        """List the entries of a JSON file that should be records."""
        return entries_of(self.source, self.value)

    @cached_property
    def table(self) -> Records:
        """Read the file as a table."""
        if self.source.suffix not in TABLE_FORMATS:
            advice = "leave out the map and the format: the file is known by its content"
            raise FileFormatError(f"a table in {self.source.name}", f"a {self.source.suffix} file", advice)
        if self.is_json and not self.is_lines:
            return tabulate(self.records)
        try:
            return read_records(self.source)
        except FileFormatError:
            if not self.is_json:
                raise
            return tabulate(self.records)  # decodes more loosely

    @cached_property
    def names(self) -> frozenset[str]:
        """Name the columns, or the fields of the whole and of its first records."""
        if not self.is_json:
            return frozenset(self.table.table.columns)
        if self.is_lines:
            return _field_names(self._decode_lines(SEEN))
        return _field_names(_first_entries(self.value))

    def _decode_lines(self, most: int | None) -> Iterable[object]:
        lines = [(at, line) for at, line in enumerate(self.data.split(b"\n"), start=1) if line.strip()][:most]
        return (decode_loosely(self.source, line, at) for at, line in lines)


def decode_loosely(source: Source, data: bytes, line: int | None = None) -> object:
    """Decode JSON as Python writes it: NaN and Infinity become null, half a character becomes a question mark."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        value = json.loads(data, parse_constant=lambda _: None)
        return orjson.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        place = source if line is None else source._replace(name=f"line {line} of {source.name}")
        return decode_json(place, data)  # which says where it breaks off


def _first_entries(whole: object) -> list[object]:
    """List the whole, its first parts, and the first parts of those: one of them are the records."""
    parts = list(islice(whole.values(), SEEN)) if isinstance(whole, dict) else [whole]
    return [whole, *parts, *(entry for part in parts if isinstance(part, list) for entry in part[:SEEN])]


def _field_names(entries: Iterable[object]) -> frozenset[str]:
    return frozenset(name for entry in entries if isinstance(entry, dict) for name in entry)
