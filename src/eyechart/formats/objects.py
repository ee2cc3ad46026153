"""Convert objects of images to lists of {label, box, score}, and evidence of questions to lists of {label, box}.

Evidence may be records {label, box}, records {box}, bare boxes [left, top, right, bottom], a single bare box, and any
of the bare ones as JSON text.
"""

import polars as pl
from polars.exceptions import PolarsError

from eyechart.base.errors import FileFormatError
from eyechart.data.tables import BOX, OBJECT
from eyechart.formats.columns import as_text, as_texts
from eyechart.formats.rows import CountedColumn, CountedTable, noted

_BOXES = pl.List(pl.List(pl.Float64))
_NUMBERS = r"^[\[\]\d\s.,eE+-]*$"


def as_objects(column: pl.Series, origin: str) -> CountedColumn:
    """Convert lists of labels, or of records with a `label` and perhaps `box` and `score`, to objects."""
    dtype = column.dtype
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
        return _from_records(column, [field.name for field in dtype.inner.fields], origin)
    labels = as_texts(column, origin).list.drop_nulls()
    bare = pl.struct(label=pl.element(), box=pl.lit(None, BOX), score=pl.lit(None, pl.Float64))
    return CountedColumn(labels.list.eval(bare).cast(pl.List(OBJECT)), [])


def as_evidence(column: pl.Series, origin: str) -> CountedColumn:
    """Convert a column to evidence; bare boxes get no label."""
    try:
        boxes = _bare_boxes(column)
    except PolarsError as error:
        found = str(error).partition("\n")[0]
        raise FileFormatError(f"boxes as evidence in {origin}", found, "write a box as four numbers") from None
    if boxes is None:
        return as_objects(column, origin)
    rows = pl.DataFrame({"row": pl.int_range(len(boxes), eager=True), "box": boxes})
    single = rows.explode("box", empty_as_null=False, keep_nulls=False).drop_nulls("box")
    unnamed = single.select("row", pl.lit(None, pl.String).alias("label"), "box", pl.lit(None).alias("score"))
    return gather_objects(unnamed, boxes.is_not_null(), origin)


def gather_objects(single: pl.DataFrame, listed: pl.Series, origin: str) -> CountedColumn:
    """Gather rows of (row, label, box, score) into lists, one for each value of `listed`; a false value gives null."""
    try:
        typed = single.with_columns(pl.col("box").cast(pl.List(pl.Float64)), pl.col("score").cast(pl.Float64))
    except PolarsError as error:
        found = str(error).partition("\n")[0]
        raise FileFormatError(f"numeric boxes and scores in {origin}", found, "write a box as four numbers") from None
    sound = typed.select(_is_sound(pl.col("box")).fill_null(value=True)).to_series()
    boxes = typed.select(pl.when(sound).then("box").cast(BOX)).to_series()
    records = typed.with_columns(boxes).select("row", pl.struct("label", "box", "score").alias("objects"))
    packed = records.group_by("row", maintain_order=True).agg("objects")
    rows = pl.DataFrame({"row": pl.int_range(len(listed), eager=True), "listed": listed})
    joined = rows.join(packed, on="row", how="left", validate="1:1", maintain_order="left")
    # An empty list means that there are no objects, a null that nothing is known.
    column = joined.select(pl.col("objects").fill_null(pl.when("listed").then(pl.lit([], pl.List(OBJECT)))))
    return CountedColumn(
        column.to_series(), [noted("object whose box was not a box, kept without it", int((~sound).sum()))]
    )


def pool_objects(table: pl.DataFrame) -> CountedTable:
    """Move objects from the examples to their images; the objects of all rows of an image are combined."""
    owned = table.filter(pl.col("objects").is_not_null())
    unmatched = owned["image"].null_count()
    distinct = owned.drop_nulls("image").unique(["image", "objects"], maintain_order=True)
    disputed = distinct["image"].is_duplicated()
    united = (
        distinct.filter(disputed)
        .explode("objects", empty_as_null=False, keep_nulls=False)
        .unique(["image", "objects"], maintain_order=True)
        .group_by("image", maintain_order=True)
        .agg("objects")
    )
    counts = [
        noted("objects of a question without an image, left out", unmatched),
        noted("image whose rows name different objects, combined", distinct.filter(disputed)["image"].n_unique()),
    ]
    return CountedTable(pl.concat([distinct.filter(~disputed).select("image", "objects"), united]), counts)


def _bare_boxes(column: pl.Series) -> pl.Series | None:
    """Read a column as lists of bare boxes, if it holds any."""
    if column.dtype == pl.String:
        return _decode_boxes(column)
    if isinstance(column.dtype, pl.Array):
        return _bare_boxes(column.arr.to_list())
    inner = column.dtype.inner if isinstance(column.dtype, pl.List) else None
    if isinstance(inner, pl.Struct) and {field.name for field in inner.fields} >= {"box"}:
        named = any(field.name == "label" for field in inner.fields)
        return None if named else column.list.eval(pl.element().struct.field("box")).cast(_BOXES)
    if isinstance(inner, pl.List | pl.Array):
        return column.cast(_BOXES)
    if inner is not None and inner.is_numeric():
        return _wrap(column.cast(pl.List(pl.Float64)))
    return None


def _wrap(boxes: pl.Series) -> pl.Series:
    """Wrap each single box in a list."""
    list_of_one = pl.col("box").implode().over(pl.int_range(pl.len()))
    return boxes.to_frame("box").select(pl.when(pl.col("box").is_not_null()).then(list_of_one)).to_series()


def _decode_boxes(column: pl.Series) -> pl.Series | None:
    if not column.str.contains(_NUMBERS).fill_null(value=True).all():
        return None
    text = column.str.strip_chars()
    single = text.str.contains(r"^\[\s*[^\s\[\]]")
    return text.zip_with(~single.fill_null(value=False), "[" + text + "]").str.json_decode(_BOXES)


def _from_records(column: pl.Series, names: list[str], origin: str) -> CountedColumn:
    if "label" not in names:
        advice = "write each as {label, box, score}, or as its label alone"
        raise FileFormatError(f"objects with a 'label' in column {column.name!r} of {origin}", ", ".join(names), advice)
    rows = pl.DataFrame({"row": pl.int_range(len(column), eager=True), "objects": column})
    single = rows.explode("objects", empty_as_null=False, keep_nulls=False).unnest("objects")
    lacking = [pl.lit(None).alias(name) for name in ("box", "score") if name not in names]
    labelled = single.with_columns(as_text(single["label"], origin), *lacking).drop_nulls("label")
    return gather_objects(labelled.select("row", "label", "box", "score"), column.is_not_null(), origin)


def _is_sound(box: pl.Expr) -> pl.Expr:
    left, top, right, bottom = (box.list.get(i, null_on_oob=True) for i in range(4))
    finite = (left + top + right + bottom).is_finite().fill_null(value=False)
    return pl.when(box.is_not_null()).then((box.list.len() == 4) & finite & (left <= right) & (top <= bottom))
