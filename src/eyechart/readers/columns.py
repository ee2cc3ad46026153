"""Bring columns as people write them into the types of our tables."""

import ast
from collections.abc import Sequence

import numpy as np
import orjson
import polars as pl
from polars.exceptions import PolarsError

from eyechart.errors import FileFormatError

EXACT = 2**53  # below it every whole number has a float of its own


def as_text(column: pl.Series, place: str) -> pl.Series:
    """Write plain values as text; whole floats, which a null makes of integers elsewhere, as integers."""
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        raise _unfit(column, place, "text")
    if not column.dtype.is_float():
        return column.cast(pl.String)
    numbers = column.fill_nan(None)
    whole = (numbers == numbers.round()) & (numbers.abs() < EXACT)
    integers = numbers.set(~whole, None).cast(pl.Int64).cast(pl.String)
    return integers.zip_with(whole.fill_null(value=True), numbers.cast(pl.String))


def as_key(column: pl.Series, place: str) -> pl.Series:
    """Write ids as text, exactly as they stand; a float that is no exact whole number can be no id.

    Text that ends in `.0` in every row was written from such floats, which a gap makes of integers in pandas.
    """
    if column.dtype.is_float():
        numbers = column.fill_nan(None).drop_nulls()
        bad = numbers.filter((numbers != numbers.round()) | (numbers.abs() >= EXACT))
        if len(bad):
            found = f"the number {bad[0]} and {len(bad) - 1} more"
            raise FileFormatError(f"ids in column {column.name!r} of {place}", found, "write ids as text or integers")
    ids = as_text(column, place)
    floats = ids.str.contains(r"^\d+\.0$")
    return ids.str.strip_suffix(".0") if floats.any() and floats.all() else ids


def as_texts(column: pl.Series, place: str) -> pl.Series:
    """Make lists of text out of lists, `{"answer": ...}` records, named options or lists written as text."""
    dtype = column.dtype
    if isinstance(dtype, pl.Array):
        return as_texts(column.arr.to_list(), place)
    if isinstance(dtype, pl.Struct):
        fields = [as_text(column.struct.field(name), place) for name in column.struct.fields]
        return pl.select(pl.concat_list(fields)).to_series().alias(column.name)
    if dtype == pl.String:
        return _parse_lists(column)
    if not isinstance(dtype, pl.List):
        return _all_null(column, place)
    if isinstance(dtype.inner, pl.Struct):
        return _pick_answers(column, dtype.inner, place)
    try:
        return column.cast(pl.List(pl.String))
    except PolarsError:
        raise _unfit(column, place, "lists of text") from None


def majority(answers: pl.Series) -> pl.Series:
    """Name the most frequent text of each list, the earliest of those that tie; blank ones do not count."""
    rows = pl.DataFrame({"row": pl.int_range(len(answers), eager=True), "answer": answers})
    votes = (
        rows.explode("answer", empty_as_null=False, keep_nulls=False)
        .filter(pl.col("answer").str.contains(r"\S"))
        .with_row_index("at")
        .group_by("row", "answer")
        .agg(pl.len().alias("n"), pl.col("at").min())
        .sort(["row", "n", "at"], descending=[False, True, False])
        .unique("row", keep="first", maintain_order=True)
    )
    return rows.select("row").join(votes, on="row", how="left", validate="1:1", maintain_order="left")["answer"]


def fold_texts(texts: Sequence[str | None], sizes: Sequence[int | None]) -> pl.Series:
    """Make a column of lists out of their elements one after another and the size of each; no size gives null.

    Half the time and a fifth of the memory of handing Polars lists inside a list.
    """
    counts = np.array([size or 0 for size in sizes], dtype=np.int64)
    flat = pl.DataFrame({"row": np.repeat(np.arange(len(sizes)), counts), "text": pl.Series(texts, dtype=pl.String)})
    lists = flat.group_by("row", maintain_order=True).agg("text")
    rows = pl.DataFrame({"row": np.arange(len(sizes)), "size": pl.Series(sizes, dtype=pl.Int64)})
    filled = pl.when(pl.col("size").is_not_null()).then(pl.col("text").fill_null([]))
    return rows.join(lists, on="row", how="left", validate="1:1", maintain_order="left").select(filled).to_series()


def fill_majority(table: pl.DataFrame) -> pl.DataFrame:
    """Give examples with several answers but no reference their majority answer."""
    if "answers" not in table.columns:
        return table
    lacking = table["answer"].is_null() & table["answers"].is_not_null()
    if not lacking.any():
        return table
    return table.with_columns(majority(table["answers"]).zip_with(lacking, table["answer"]).alias("answer"))


def _pick_answers(column: pl.Series, record: pl.Struct, place: str) -> pl.Series:
    names = [field.name for field in record.fields]
    if "answer" not in names:
        raise _unfit(column, place, "lists of text or of records with an 'answer'")
    return column.list.eval(pl.element().struct.field("answer").cast(pl.String)).list.drop_nulls()


def _parse_lists(column: pl.Series) -> pl.Series:
    return pl.Series(column.name, [_parse_list(text) for text in column], pl.List(pl.String))


def _parse_list(text: str | None) -> list[str] | None:
    """Read a list written as JSON or as a Python literal; any other text is no list."""
    if text is None or not text.lstrip().startswith("["):
        return None
    try:
        items = orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            items = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return None
    return [_item_text(item) for item in items if item is not None] if isinstance(items, list) else None


def _item_text(item: object) -> str:
    if isinstance(item, dict) and "answer" in item:
        return _item_text(item["answer"])
    return item if isinstance(item, str) else str(item).lower() if isinstance(item, bool) else str(item)


def _all_null(column: pl.Series, place: str) -> pl.Series:
    if column.null_count() < len(column):
        raise _unfit(column, place, "lists of text")
    return pl.Series(column.name, [None] * len(column), pl.List(pl.String))


def _unfit(column: pl.Series, place: str, wanted: str) -> FileFormatError:
    expected = f"{wanted} in column {column.name!r} of {place}"
    return FileFormatError(expected, str(column.dtype), "map another column, or leave this one out")
