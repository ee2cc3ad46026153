"""Read the objects of images from separate files.

They may be `{image: {"classes": [...], "scores": [...]}}`, `{image: [labels]}` or COCO's `instances_*.json`.
"""

from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from eyechart.base.errors import FileFormatError
from eyechart.formats.objects import as_objects, gather_objects
from eyechart.formats.rows import CountedColumn, CountedTable
from eyechart.formats.sources import SourceFile, decode_json, find_sources

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
