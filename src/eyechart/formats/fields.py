"""Build columns from decoded JSON records; a value of the wrong type becomes null and is noted.

A bad record never keeps the others from being read.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import polars as pl

from eyechart.formats.columns import EXACT, fold_texts
from eyechart.formats.rows import CountedTable, dropped, noted
from eyechart.formats.sources import without_collection

Kind: TypeAlias = Literal["key", "text", "texts", "values", "flag", "whole", "number"]
_TEXTS = pl.List(pl.String)


class Field(NamedTuple):
    """The keys that lead to a column's value in a record, and what kind of value it is."""

    keys: tuple[str, ...]
    kind: Kind = "text"


def tabulate_fields(entries: list[object], fields: Mapping[str, Field], entry: str = "entry") -> CountedTable:
    """Build a table with a column for each field and a row for each entry that is a record."""
    records = [one for one in entries if isinstance(one, dict)]
    columns, counts = [], [dropped(f"{entry} that is not a record", len(entries) - len(records))]
    with without_collection():
        for name, field in fields.items():
            column, n_lost = _read_column(name, records, field)
            columns.append(column)
            counts.append(noted(f"value of {name!r} that cannot be read, left out", n_lost))
    return CountedTable(pl.DataFrame(columns), counts)


def with_keys(content: Mapping[str, object], name: str = "id") -> list[object]:
    """Turn `{key: record}` into records that hold their key under a name."""
    with without_collection():
        return [value | {name: key} if isinstance(value, dict) else value for key, value in content.items()]


def _read_column(name: str, records: Sequence[object], field: Field) -> tuple[pl.Series, int]:
    """Read a field of all records, and count its unreadable values."""
    values = records
    for key in field.keys:
        values = [value.get(key) if isinstance(value, dict) else None for value in values]
    dtype, convert = _KINDS[field.kind]
    converted = [None if value is None else convert(value) for value in values]
    column = _fold(converted).alias(name) if dtype == _TEXTS else pl.Series(name, converted, dtype)
    return column, column.null_count() - sum(value is None for value in values)


def _fold(lists: list[Any]) -> pl.Series:
    sizes = [None if one is None else len(one) for one in lists]
    return fold_texts([item for one in lists if one is not None for item in one], sizes)


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    whole = _whole(value)
    return str(value if whole is None else whole) if isinstance(value, int | float) else None


def _key(value: object) -> str | None:
    """Convert an id to text; a float that is not exactly a whole number cannot be one."""
    usable = isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
    return _text(value if usable else _whole(value))


def _texts(value: object) -> list[str | None] | None:
    # Nulls stay until an index into the list has been followed.
    return [_text(item) for item in value] if isinstance(value, list) else None


def _values(value: object) -> list[str | None] | None:
    return _texts(list(value.values())) if isinstance(value, dict) else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _whole(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number.is_integer() and abs(number) < EXACT else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


_KINDS: dict[Kind, tuple[pl.DataType | type[pl.DataType], Callable[[object], object]]] = {
    "key": (pl.String, _key),
    "text": (pl.String, _text),
    "texts": (_TEXTS, _texts),
    "values": (_TEXTS, _values),
    "flag": (pl.Boolean, _flag),
    "whole": (pl.Int64, _whole),
    "number": (pl.Float64, _number),
}
