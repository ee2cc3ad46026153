"""Read files of any table format (Parquet, JSON, JSON lines, CSV, TSV, Arrow, xlsx) into one Polars table.

A JSON column whose values share no type becomes a text column that holds each value as JSON.
"""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import orjson
import polars as pl
from polars.exceptions import PanicException, PolarsError

from eyechart.base.errors import FileFormatError
from eyechart.formats.arrow import ARROW, name_labels, read_arrow, read_batches, read_labels, read_schema
from eyechart.formats.embedded import EmbeddedPictures, may_hold_pictures
from eyechart.formats.limits import LONGEST, in_parts, require_shallow, require_short_rows
from eyechart.formats.sources import HEAD, SourceFile, decode_json

LINES = (".jsonl", ".ndjson")
SEPARATORS = {".csv": ",", ".tsv": "\t"}
MOST_KEYS = 60  # of the objects in one field; more are not a record but a mapping
_OTHER_SEPARATORS = (",", ";", "\t")
_QUOTED = re.compile(rb'"[^"]*(?:"|\Z)')


class Records(NamedTuple):
    """The rows of a file, and how many of its entries were not records."""

    table: pl.DataFrame
    strays: int = 0


def read_records(source: SourceFile) -> Records:
    """Read a file by its suffix."""
    with reading(source):
        if source.suffix in LINES:
            return stack(list(read_blocks(source)), [source])
        data = source.read()
        if not data.strip():
            raise no_rows(source.name)
        return TABLE_FORMATS[source.suffix](source, data)


@contextmanager
def reading(source: SourceFile) -> Iterator[None]:
    """Turn Polars' errors on a damaged file into our own."""
    try:
        yield
    except (PolarsError, PanicException, OSError) as error:  # a flipped bit can make the Parquet reader panic
        found = f"content that cannot be read as one ({_first_line(error)})"
        foreign = source.suffix in SEPARATORS and "utf-8" in found
        advice = "save it as UTF-8" if foreign else "create or download it again"
        raise FileFormatError(f"a {source.suffix} file in {source.name}", found, advice) from None


def no_rows(origin: str, found: str = "an empty file") -> FileFormatError:
    """Build the error for a file without rows."""
    return FileFormatError(f"rows in {origin}", found, "create or download it again")


def require_rows(records: Records, origin: str) -> Records:
    """Return records unchanged; raise an error if there are none."""
    if records.table.height:
        return records
    if records.strays:
        advice = 'write each as an object, such as {"question": "What is it?", "answer": "a bus"}'
        raise FileFormatError(f"records in {origin}", f"only entries that are not records ({records.strays})", advice)
    names = ", ".join(records.table.columns)
    raise no_rows(origin, f"none at all under the columns {names}" if names else "none at all")


def read_parts(source: SourceFile, embedded: EmbeddedPictures) -> Iterator[Records]:
    """Read a file in parts without its pictures, so that these are never all in memory."""
    if source.suffix in LINES:
        yield from (Records(embedded.take(part.table), part.strays) for part in read_blocks(source))
    elif source.path is not None and source.is_streamable() and has_pictures(source):
        labels = read_labels(source.path, source.suffix)
        has_rows = False
        for batch in read_batches(source):
            has_rows = True
            yield Records(embedded.take(batch.with_columns(name_labels(batch.schema, labels))))
        if not has_rows:
            yield Records(pl.DataFrame(schema=read_schema(source)))
    else:
        records = read_records(source)
        yield Records(embedded.take(records.table), records.strays)


def has_pictures(source: SourceFile) -> bool:
    """Return whether the columns of a Parquet or Arrow file have types that pictures have."""
    if source.suffix not in (".parquet", *ARROW):
        return False
    with reading(source):
        return any(map(may_hold_pictures, read_schema(source).values()))


def stack(parts: list[Records], sources: list[SourceFile]) -> Records:
    """Concatenate the records of several files; a column missing from one is null there."""
    tables = [part.table for part in parts]
    try:
        table = union(tables)
    except PolarsError as error:
        found = f"columns that do not match ({_first_line(error)})"
        advice = "give one of the files instead of all"
        raise FileFormatError(f"one table in {sources[0].name} and {len(sources) - 1} more", found, advice) from None
    return Records(table, sum(part.strays for part in parts))


def union(tables: list[pl.DataFrame]) -> pl.DataFrame:
    """Concatenate tables; each column gets a type that holds all its values."""
    return pl.concat(tables, how="diagonal_relaxed") if len(tables) > 1 else tables[0]


def tabulate(entries: list[object], mappings: frozenset[str] = frozenset()) -> Records:
    """Build a table of decoded JSON records, leaving out entries that are not records."""
    records = [entry for entry in entries if isinstance(entry, dict) and entry]
    if not records:
        return Records(pl.DataFrame(), len(entries))
    try:
        table = _parse(records, mappings or find_mappings(records))
    except PolarsError:
        names = dict.fromkeys(name for record in records for name in record)
        table = pl.DataFrame([_make_column(name, [record.get(name) for record in records]) for name in names])
    return Records(table, len(entries) - len(records))


def find_mappings(records: Sequence[dict[str, object]]) -> frozenset[str]:
    """Name the fields that hold objects with ever new keys, such as soft labels: no type has room for all of them."""
    keys: dict[str, set[str]] = {}
    for record in records:
        for name, value in record.items():
            if isinstance(value, dict):
                keys.setdefault(name, set()).update(value)
    return frozenset(name for name, known in keys.items() if len(known) > MOST_KEYS)


def read_entries(source: SourceFile) -> list[object]:
    """Decode a file of JSON or JSON lines into its entries, whether or not they are records."""
    data = source.read()
    if source.suffix == ".json" and not holds_lines(data):
        return entries_of(source, decode_json(source, data))
    listed = _decode_list(source, data)
    return _decode_lines(source, data) if listed is None else listed


def entries_of(source: SourceFile, content: object) -> list[object]:
    """Find the records in a decoded file: a list of them, the only such list in an object, or `{id: record}`."""
    if isinstance(content, list):
        return content
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list) and any(map(_is_record, value))]
        if len(lists) == 1:
            return lists[0]
        if content and all(map(_is_record, content.values())):
            return [{"id": key} | record for key, record in content.items()]
    found = f"a JSON {type(content).__name__} of another form"
    raise FileFormatError(f"a list of records in {source.name}", found, "write it as a JSON list of objects")


def find_separators(head: bytes, suffix: str) -> tuple[str, str]:
    """Find the column separator and the line ending of a CSV or TSV file from its beginning.

    Another separator than the usual one is chosen only if the usual one would give a single column.
    """
    bare = _QUOTED.sub(b"", head)  # a cell may hold any of these marks
    line_end = "\r" if b"\r" in bare and b"\n" not in bare else "\n"
    header = bare.lstrip(b"\r\n").partition(line_end.encode())[0].decode(errors="replace")
    usual = SEPARATORS[suffix]
    separator = usual if usual in header else max((usual, *_OTHER_SEPARATORS), key=header.count)
    return separator, line_end


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def _is_record(value: object) -> bool:
    return isinstance(value, dict)


def _make_column(name: str, values: list[object]) -> pl.Series:
    records = [{name: value} for value in values]
    try:
        return _parse(records, find_mappings(records))[name]
    except PolarsError:
        return pl.Series(name, [_write(value) for value in values], pl.String)


def _write(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else orjson.dumps(value).decode()


def _parse(records: list[dict[str, object]], mappings: frozenset[str] = frozenset()) -> pl.DataFrame:
    """Build a table; objects of the named fields stay JSON."""
    if mappings:
        records = [
            {name: _write(value) if name in mappings else value for name, value in record.items()} for record in records
        ]
    return _parse_lines(b"\n".join(map(orjson.dumps, records)))


def _parse_lines(data: bytes) -> pl.DataFrame:
    return pl.read_ndjson(data, infer_schema_length=None)


def _read_json(source: SourceFile, data: bytes) -> Records:
    if holds_lines(data):
        return _read_lines(source, data)
    return tabulate(entries_of(source, decode_json(source, data)))


def holds_lines(data: bytes) -> bool:
    """Return whether a file is JSON lines, though it is called .json: its first line is a record, and more follow."""
    first, _, rest = data.strip().partition(b"\n")
    try:
        return bool(rest) and isinstance(orjson.loads(first), dict)
    except orjson.JSONDecodeError:
        return False


def begins_list(data: bytes) -> bool:
    """Return whether a file, though it may be called .jsonl, begins as one JSON list would."""
    return re.match(rb"\s*\[", data) is not None


def _decode_list(source: SourceFile, data: bytes) -> list[object] | None:
    """Decode a file that is one JSON list; a file of lines that are each a list is not."""
    require_shallow(source.name, data)
    try:
        content = orjson.loads(data) if begins_list(data) else None
    except orjson.JSONDecodeError:
        return None
    return content if isinstance(content, list) else None


def read_blocks(source: SourceFile) -> Iterator[Records]:
    """Read JSON lines block by block, so that the text is never whole in memory; one JSON list is read at once."""
    line, has_rows = 1, False
    mappings: frozenset[str] = frozenset()
    for block in source.blocks():
        listed = _decode_list(source, source.read()) if line == 1 and begins_list(block) else None
        if listed is not None:
            yield tabulate(listed)
            return
        mappings = mappings or _begin_with_mappings(block)  # of the first block that has any, for all that follow
        records = _read_lines(source, block, line, mappings)
        line += block.count(b"\n") + 1
        has_rows = has_rows or bool(records.table.height or records.strays)
        yield records
    if not has_rows:
        raise no_rows(source.name)


def _read_lines(source: SourceFile, data: bytes, first: int = 1, mappings: frozenset[str] = frozenset()) -> Records:
    require_shallow(source.name, data, lines=True)
    mappings = mappings or _begin_with_mappings(data)
    if mappings:
        return tabulate(_decode_lines(source, data, first), mappings)
    try:
        table = _parse_lines(data)
    except PolarsError:
        return tabulate(_decode_lines(source, data, first))
    rows = table if table.width else table.clear()  # Polars turns empty records into rows without a column
    return Records(rows, _count_lines(data, rows.height) - rows.height)


def _begin_with_mappings(data: bytes) -> frozenset[str]:
    """Name the fields whose objects have ever new keys in the first lines: their columns would not fit into memory."""
    start = data[:HEAD]
    lines = start.split(b"\n")[: None if len(start) == len(data) else -1]
    try:
        decoded = [orjson.loads(line) for line in lines if line.strip()]
    except orjson.JSONDecodeError:  # told where the line is read
        return frozenset()
    return find_mappings([record for record in decoded if isinstance(record, dict)])


def _count_lines(data: bytes, expected: int) -> int:
    """Count the lines that are not blank: Polars silently leaves out empty records."""
    if data.count(b"\n") + (not data.endswith(b"\n")) == expected:  # quick, and enough for nearly every file
        return expected
    return sum(bool(line.strip()) for line in data.split(b"\n"))


def _decode_lines(source: SourceFile, data: bytes, first: int = 1) -> list[object]:
    lines = enumerate(data.split(b"\n"), start=first)
    named = ((source._replace(name=f"line {number} of {source.name}"), line) for number, line in lines if line.strip())
    return [decode_json(line_source, line) for line_source, line in named]


def _read_separated(source: SourceFile, data: bytes) -> Records:
    separator, line_end = find_separators(data[:HEAD], source.suffix)
    if len(data) > LONGEST:
        require_short_rows(source.name, in_parts(data))
    # Everything stays text: an id of 007 must not become 7.
    table = pl.read_csv(data, separator=separator, eol_char=line_end, infer_schema=False)
    return require_rows(Records(table), source.name)


def _read_columns(source: SourceFile, data: bytes) -> Records:
    """Read Parquet or Arrow, with the names of labels instead of their numbers."""
    table = pl.read_parquet(io.BytesIO(data)) if source.suffix == ".parquet" else read_arrow(data)
    return Records(table.with_columns(name_labels(table.schema, read_labels(data, source.suffix))))


def _read_workbook(source: SourceFile, data: bytes) -> Records:
    """Read the first sheet; every cell stays text, so that 007 does not become 7."""
    from fastexcel import FastExcelError

    try:
        return Records(pl.read_excel(io.BytesIO(data), engine="calamine", read_options={"dtypes": "string"}))
    except FastExcelError as error:
        found = f"content that cannot be read as one ({_first_line(error)})"
        raise FileFormatError(f"a workbook in {source.name}", found, "save it as .xlsx again") from None


TABLE_FORMATS: dict[str, Callable[[SourceFile, bytes], Records]] = {
    **dict.fromkeys((".parquet", *ARROW), _read_columns),
    ".json": _read_json,
    **dict.fromkeys(LINES, _read_lines),
    **dict.fromkeys(SEPARATORS, _read_separated),
    ".xlsx": _read_workbook,
}
