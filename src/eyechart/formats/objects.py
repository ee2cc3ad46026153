"""Read the objects of images: lists of {label, box, score}, and the evidence of questions: lists of {label, box}.

Evidence may be records {label, box} or {box}, each perhaps with the position of its `picture`, bare boxes [left, top,
right, bottom], a single bare box, and any of the bare ones as JSON text. Objects may be in separate files: `{image:
{"classes": [...], "scores": [...]}}`, `{image: [labels]}` or COCO's `instances_*.json`.
"""

from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from eyechart.base.errors import FileFormatError
from eyechart.data.tables import BOX, OBJECT
from eyechart.formats.columns import as_text, as_texts
from eyechart.formats.rows import CountedColumn, CountedTable, noted
from eyechart.formats.sources import SourceFile, decode_json, find_sources

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


def picture_places(column: pl.Series) -> pl.Series | None:
    """Return the positions of the pictures that the parts of evidence name; None if no part can."""
    inner = column.dtype.inner if isinstance(column.dtype, pl.List) else None
    names = [field.name for field in inner.fields] if isinstance(inner, pl.Struct) else []
    if "picture" not in names:
        return None
    kept = pl.element().struct.field("label" if "label" in names else "box").is_not_null()
    place = pl.element().struct.field("picture").cast(pl.Int64, strict=False)
    return column.list.eval(place.filter(kept))


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


_COCO = {
    "images": pl.List(pl.Struct({"id": pl.String, "file_name": pl.String, "width": pl.Int64, "height": pl.Int64})),
    "annotations": pl.List(pl.Struct({"image_id": pl.String, "category_id": pl.String, "bbox": pl.List(pl.Float64)})),
    "categories": pl.List(pl.Struct({"id": pl.String, "name": pl.String})),
}


def read_detections(path: Path) -> CountedTable:
    """Read images with objects and perhaps width, height and file_name from a file, or from all in a folder or archive.

    An image in several files is taken from the first.
    """
    parts = [_read_file(source) for source in find_sources(path, {".json"})]
    table = pl.concat((part.table for part in parts), how="diagonal")
    unique = table.unique("image", keep="first", maintain_order=True)
    return CountedTable(unique, [count for part in parts for count in part.counts])


def _read_file(source: SourceFile) -> CountedTable:
    data = source.read()
    try:
        coco = pl.read_json(data, schema=_COCO)
    except PolarsError:
        coco = pl.DataFrame()
    if coco.height == 1 and coco.select(pl.all_horizontal(pl.all().is_not_null())).item():
        return _read_coco(coco, source.name)
    return _read_mapping(decode_json(source, data), source.name)


def _read_coco(coco: pl.DataFrame, origin: str) -> CountedTable:
    images, annotations, categories = (_unfold(coco[name]) for name in _COCO)
    labels = categories.drop_nulls().unique("id").select(category_id="id", label="name")
    left, top, width, height = (pl.col("bbox").list.get(i, null_on_oob=True) for i in range(4))
    # COCO lists every image: one without annotations was annotated too and shows none of the labels.
    named = images.drop_nulls("id").unique("id", keep="first", maintain_order=True).rename({"id": "image"})
    rows = named.select(image_id="image").with_row_index("row").cast({"row": pl.Int64})
    single = (
        annotations.join(labels, on="category_id", how="inner", validate="m:1", maintain_order="left")
        .join(rows, on="image_id", how="inner", validate="m:1", maintain_order="left")
        .select("row", "label", box=pl.concat_list(left, top, left + width, top + height), score=pl.lit(None))
    )
    objects = gather_objects(single, pl.repeat(value=True, n=named.height, eager=True), origin)
    return CountedTable(named.with_columns(objects=objects.column), objects.counts)


def _unfold(column: pl.Series) -> pl.DataFrame:
    return column.explode(empty_as_null=False, keep_nulls=False).struct.unnest()


def _read_mapping(content: object, origin: str) -> CountedTable:
    if not isinstance(content, dict) or not content:
        raise _unknown_form(origin, f"a JSON {type(content).__name__}")
    values = list(content.values())
    if all(isinstance(value, dict) and "classes" in value for value in values):
        objects = _read_scored(values, origin)
    elif all(isinstance(value, list) for value in values):
        objects = as_objects(_series(values, pl.String, origin), origin)
    else:
        raise _unknown_form(origin, "an object whose values have another form, or mixed forms")
    return CountedTable(pl.DataFrame({"image": list(content), "objects": objects.column}), objects.counts)


def _read_scored(values: list[dict[str, object]], origin: str) -> CountedColumn:
    labels = _series([value["classes"] for value in values], pl.String, origin)
    scores = _series([value.get("scores") for value in values], pl.Float64, origin)
    if (labels.list.len() != scores.list.len()).any():
        raise _unknown_form(origin, "more or fewer scores than classes for some image")
    rows = pl.DataFrame({"row": pl.int_range(len(values), eager=True), "label": labels, "score": scores})
    bare = rows.with_columns(pl.col("score").fill_null(pl.col("label").list.eval(pl.lit(None, pl.Float64))))
    single = bare.explode("label", "score", empty_as_null=False, keep_nulls=False).drop_nulls("label")
    return gather_objects(single.with_columns(box=pl.lit(None)), labels.is_not_null(), origin)


def _series(lists: list[object], item: type[pl.DataType], origin: str) -> pl.Series:
    try:
        return pl.Series("objects", lists, pl.List(item))
    except (PolarsError, TypeError):
        raise _unknown_form(origin, f"lists of something other than {item.__name__.lower()} values") from None


def _unknown_form(origin: str, found: str) -> FileFormatError:
    expected = f"objects of images in {origin}"
    return FileFormatError(expected, found, "write {image: [labels]} or {image: {classes: [...], scores: [...]}}")
