"""Take columns out of decoded JSON records; a value that is not what its column holds becomes null and is noted.

One bad record never costs the others, and no record can stop the reading.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import polars as pl

from eyechart.readers.columns import EXACT
from eyechart.readers.counting import Sifted, dropped, noted
from eyechart.readers.source import without_collection

Kind: TypeAlias = Literal["key", "text", "texts", "values", "flag", "whole", "number"]
_TEXTS = pl.List(pl.String)


class Field(NamedTuple):
    """Where in a record a column lies, as the keys that lead there, and what it holds."""

    keys: tuple[str, ...]
    kind: Kind = "text"


class _Taken(NamedTuple):
    column: pl.Series
    lost: int


def lay_out(entries: list[object], fields: Mapping[str, Field], entry: str = "entry") -> Sifted:
    """Make a table with one column for each field and one row for each entry that is a record."""
    records = [one for one in entries if isinstance(one, dict)]
    with without_collection():
        taken = {name: _take(name, records, field) for name, field in fields.items()}
    lost = [noted(f"value of {name!r} that cannot be read, left out", one.lost) for name, one in taken.items()]
    strays = dropped(f"{entry} that is no record", len(entries) - len(records))
    return Sifted(pl.DataFrame([one.column for one in taken.values()]), [strays, *lost])


def with_keys(content: Mapping[str, object], name: str = "id") -> list[object]:
    """Turn `{key: record}` into records that hold their key under a name."""
    with without_collection():
        return [value | {name: key} if isinstance(value, dict) else value for key, value in content.items()]


def _take(name: str, records: Sequence[object], field: Field) -> _Taken:
    values = records
    for key in field.keys:
        values = [value.get(key) if isinstance(value, dict) else None for value in values]
    dtype, convert = _KINDS[field.kind]
    read = [None if value is None else convert(value) for value in values]
    column = _pack(read).alias(name) if dtype == _TEXTS else pl.Series(name, read, dtype)
    return _Taken(column, column.null_count() - sum(value is None for value in values))


def _pack(lists: list[Any]) -> pl.Series:
    """Make a column of lists out of their items in a row, many times faster than out of one list after the other."""
    rows = pl.DataFrame({"n": [None if one is None else len(one) for one in lists]}, schema={"n": pl.Int64})
    numbers = rows.select(pl.int_range(pl.len()).repeat_by(pl.col("n").fill_null(0))).to_series()
    items = pl.Series("items", [item for one in lists if one is not None for item in one], pl.String)
    packed = pl.DataFrame([numbers.explode(empty_as_null=False, keep_nulls=False).alias("row"), items]).group_by(
        "row", maintain_order=True
    )
    joined = rows.with_columns(row=pl.int_range(pl.len())).join(
        packed.agg("items"), on="row", how="left", validate="1:1", maintain_order="left"
    )
    empty = pl.when(pl.col("n") == 0).then(pl.lit([], _TEXTS))
    return joined.select(pl.col("items").fill_null(empty)).to_series()


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    whole = _whole(value)
    return str(value if whole is None else whole) if isinstance(value, int | float) else None


def _key(value: object) -> str | None:
    """Write an id as text; a float that is no exact whole number can be none."""
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
