"""Bring the objects seen in images into one form: a list of {label, box, score} for each image."""

from typing import NamedTuple

import polars as pl
from polars.exceptions import PolarsError

from eyechart.errors import FileFormatError
from eyechart.readers.columns import as_text, as_texts
from eyechart.readers.counting import Count, noted
from eyechart.tables import BOX, OBJECT


class Objects(NamedTuple):
    """A column of objects, and what to know about them."""

    column: pl.Series
    notes: list[Count]


class Pooled(NamedTuple):
    """The objects of each image once, and what to know about them."""

    table: pl.DataFrame
    notes: list[Count]


def as_objects(column: pl.Series, place: str) -> Objects:
    """Make objects out of lists of labels, or of records with a `label` and perhaps `box` and `score`."""
    dtype = column.dtype
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
        return _from_records(column, [field.name for field in dtype.inner.fields], place)
    labels = as_texts(column, place).list.drop_nulls()
    bare = pl.struct(label=pl.element(), box=pl.lit(None, BOX), score=pl.lit(None, pl.Float64))
    return Objects(labels.list.eval(bare).cast(pl.List(OBJECT)), [])


def gather_objects(single: pl.DataFrame, listed: pl.Series, place: str) -> Objects:
    """Gather rows of (row, label, box, score) into lists, one for each place of `listed`; false there gives null."""
    try:
        typed = single.with_columns(pl.col("box").cast(pl.List(pl.Float64)), pl.col("score").cast(pl.Float64))
    except PolarsError as error:
        found = str(error).partition("\n")[0]
        raise FileFormatError(f"boxes and scores of numbers in {place}", found, "write a box as four numbers") from None
    sound = typed.select(_is_sound(pl.col("box")).fill_null(value=True)).to_series()
    boxes = typed.select(pl.when(sound).then("box").cast(BOX)).to_series()
    records = typed.with_columns(boxes).select("row", pl.struct("label", "box", "score").alias("objects"))
    packed = records.group_by("row", maintain_order=True).agg("objects")
    rows = pl.DataFrame({"row": pl.int_range(len(listed), eager=True), "listed": listed})
    joined = rows.join(packed, on="row", how="left", validate="1:1", maintain_order="left")
    # A list that names nothing is empty, unlike a null, which says nothing.
    column = joined.select(pl.col("objects").fill_null(pl.when("listed").then(pl.lit([], pl.List(OBJECT)))))
    return Objects(column.to_series(), [noted("object whose box was no box, kept without it", int((~sound).sum()))])


def pool_objects(table: pl.DataFrame) -> Pooled:
    """Move objects from the examples to their images; what the rows of one image say is put together."""
    owned = table.filter(pl.col("objects").is_not_null())
    homeless = owned["image"].null_count()
    distinct = owned.drop_nulls("image").unique(["image", "objects"], maintain_order=True)
    disputed = distinct["image"].is_duplicated()
    united = (
        distinct.filter(disputed)
        .explode("objects", empty_as_null=False, keep_nulls=False)
        .unique(["image", "objects"], maintain_order=True)
        .group_by("image", maintain_order=True)
        .agg("objects")
    )
    notes = [
        noted("objects of a question without an image, left out", homeless),
        noted("image whose rows name different objects, put together", distinct.filter(disputed)["image"].n_unique()),
    ]
    return Pooled(pl.concat([distinct.filter(~disputed).select("image", "objects"), united]), notes)


def _from_records(column: pl.Series, names: list[str], place: str) -> Objects:
    if "label" not in names:
        advice = "write each as {label, box, score}, or as its label alone"
        raise FileFormatError(f"objects with a 'label' in column {column.name!r} of {place}", ", ".join(names), advice)
    rows = pl.DataFrame({"row": pl.int_range(len(column), eager=True), "objects": column})
    single = rows.explode("objects", empty_as_null=False, keep_nulls=False).unnest("objects")
    lacking = [pl.lit(None).alias(name) for name in ("box", "score") if name not in names]
    labelled = single.with_columns(as_text(single["label"], place), *lacking).drop_nulls("label")
    return gather_objects(labelled.select("row", "label", "box", "score"), column.is_not_null(), place)


def _is_sound(box: pl.Expr) -> pl.Expr:
    left, top, right, bottom = (box.list.get(at, null_on_oob=True) for at in range(4))
    finite = (left + top + right + bottom).is_finite().fill_null(value=False)
    return pl.when(box.is_not_null()).then((box.list.len() == 4) & finite & (left <= right) & (top <= bottom))
