"""Bring evidence as people write it into one form: a list of {label, box} for each question.

Known are records {label, box}, records {box}, bare boxes [left, top, right, bottom], a single bare box, and any of the
bare ones as JSON text.
"""

import polars as pl
from polars.exceptions import PolarsError

from eyechart.errors import FileFormatError
from eyechart.readers.objects import Objects, as_objects, gather_objects

_BOXES = pl.List(pl.List(pl.Float64))
_NUMBERS = r"^[\[\]\d\s.,eE+-]*$"


def as_evidence(column: pl.Series, place: str) -> Objects:
    """Make evidence out of a column; bare boxes have no label."""
    try:
        boxes = _bare_boxes(column)
    except PolarsError as error:
        found = str(error).partition("\n")[0]
        raise FileFormatError(f"boxes as evidence in {place}", found, "write a box as four numbers") from None
    if boxes is None:
        return as_objects(column, place)
    rows = pl.DataFrame({"row": pl.int_range(len(boxes), eager=True), "box": boxes})
    single = rows.explode("box", empty_as_null=False, keep_nulls=False).drop_nulls("box")
    unnamed = single.select("row", pl.lit(None, pl.String).alias("label"), "box", pl.lit(None).alias("score"))
    return gather_objects(unnamed, boxes.is_not_null(), place)


def _bare_boxes(column: pl.Series) -> pl.Series | None:
    """Take a column for lists of bare boxes, where it is one."""
    if column.dtype == pl.String:
        return _decoded(column)
    if isinstance(column.dtype, pl.Array):
        return _bare_boxes(column.arr.to_list())
    inner = column.dtype.inner if isinstance(column.dtype, pl.List) else None
    if isinstance(inner, pl.Struct) and {field.name for field in inner.fields} >= {"box"}:
        named = any(field.name == "label" for field in inner.fields)
        return None if named else column.list.eval(pl.element().struct.field("box")).cast(_BOXES)
    if isinstance(inner, pl.List | pl.Array):
        return column.cast(_BOXES)
    if inner is not None and inner.is_numeric():
        return _alone(column.cast(pl.List(pl.Float64)))
    return None


def _alone(boxes: pl.Series) -> pl.Series:
    """Put each single box into a list of its own."""
    alone = pl.col("box").implode().over(pl.int_range(pl.len()))
    return boxes.to_frame("box").select(pl.when(pl.col("box").is_not_null()).then(alone)).to_series()


def _decoded(column: pl.Series) -> pl.Series | None:
    if not column.str.contains(_NUMBERS).fill_null(value=True).all():
        return None
    text = column.str.strip_chars()
    single = text.str.contains(r"^\[\s*[^\s\[\]]")
    return text.zip_with(~single.fill_null(value=False), "[" + text + "]").str.json_decode(_BOXES)
