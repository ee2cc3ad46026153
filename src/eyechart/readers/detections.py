"""Read the objects of images from files of their own.

Known are `{image: {"classes": [...], "scores": [...]}}`, `{image: [labels]}` and COCO's `instances_*.json`.
"""

from pathlib import Path
from typing import NamedTuple

import polars as pl
from polars.exceptions import PolarsError

from eyechart.errors import FileFormatError
from eyechart.readers.counting import Count
from eyechart.readers.objects import Objects, as_objects, gather_objects
from eyechart.readers.source import Source, decode_json, find_sources

_COCO = {
    "images": pl.List(pl.Struct({"id": pl.String, "file_name": pl.String, "width": pl.Int64, "height": pl.Int64})),
    "annotations": pl.List(pl.Struct({"image_id": pl.String, "category_id": pl.String, "bbox": pl.List(pl.Float64)})),
    "categories": pl.List(pl.Struct({"id": pl.String, "name": pl.String})),
}


class Detections(NamedTuple):
    """A table of images with objects and perhaps width, height and file_name, and what to know about it."""

    table: pl.DataFrame
    notes: list[Count]


def read_detections(path: Path) -> Detections:
    """Read one file, or all in a folder or archive; an image in several is taken from the first."""
    found = [_read_file(source) for source in find_sources(path, {".json"})]
    table = pl.concat((part.table for part in found), how="diagonal")
    return Detections(
        table.unique("image", keep="first", maintain_order=True), [n for part in found for n in part.notes]
    )


def _read_file(source: Source) -> Detections:
    data = source.read()
    try:
        coco = pl.read_json(data, schema=_COCO)
    except PolarsError:
        coco = pl.DataFrame()
    if coco.height == 1 and coco.select(pl.all_horizontal(pl.all().is_not_null())).item():
        return _read_coco(coco, source.name)
    return _read_mapping(decode_json(source, data), source.name)


def _read_coco(coco: pl.DataFrame, place: str) -> Detections:
    images, annotations, categories = (_unfold(coco[name]) for name in _COCO)
    labels = categories.drop_nulls().unique("id").select(category_id="id", label="name")
    left, top, width, height = (pl.col("bbox").list.get(at, null_on_oob=True) for at in range(4))
    # COCO lists every image: one without annotations was looked at and holds none of the labels.
    named = images.drop_nulls("id").unique("id", keep="first", maintain_order=True).rename({"id": "image"})
    places = named.select(image_id="image").with_row_index("row").cast({"row": pl.Int64})
    single = (
        annotations.join(labels, on="category_id", how="inner", validate="m:1", maintain_order="left")
        .join(places, on="image_id", how="inner", validate="m:1", maintain_order="left")
        .select("row", "label", box=pl.concat_list(left, top, left + width, top + height), score=pl.lit(None))
    )
    objects = gather_objects(single, pl.repeat(value=True, n=named.height, eager=True), place)
    return Detections(named.with_columns(objects=objects.column), objects.notes)


def _unfold(column: pl.Series) -> pl.DataFrame:
    return column.explode(empty_as_null=False, keep_nulls=False).struct.unnest()


def _read_mapping(content: object, place: str) -> Detections:
    if not isinstance(content, dict) or not content:
        raise _unknown_form(place, f"a JSON {type(content).__name__}")
    values = list(content.values())
    if all(isinstance(value, dict) and "classes" in value for value in values):
        objects = _read_scored(values, place)
    elif all(isinstance(value, list) for value in values):
        objects = as_objects(_series(values, pl.String, place), place)
    else:
        raise _unknown_form(place, "an object whose values have another form, or several")
    return Detections(pl.DataFrame({"image": list(content), "objects": objects.column}), objects.notes)


def _read_scored(values: list[dict[str, object]], place: str) -> Objects:
    labels = _series([value["classes"] for value in values], pl.String, place)
    scores = _series([value.get("scores") for value in values], pl.Float64, place)
    if (labels.list.len() != scores.list.len()).any():
        raise _unknown_form(place, "more or fewer scores than classes for some image")
    rows = pl.DataFrame({"row": pl.int_range(len(values), eager=True), "label": labels, "score": scores})
    bare = rows.with_columns(pl.col("score").fill_null(pl.col("label").list.eval(pl.lit(None, pl.Float64))))
    single = bare.explode("label", "score", empty_as_null=False, keep_nulls=False).drop_nulls("label")
    return gather_objects(single.with_columns(box=pl.lit(None)), labels.is_not_null(), place)


def _series(lists: list[object], item: type[pl.DataType], place: str) -> pl.Series:
    try:
        return pl.Series("objects", lists, pl.List(item))
    except (PolarsError, TypeError):
        raise _unknown_form(place, f"lists of something else than {item.__name__.lower()} values") from None


def _unknown_form(place: str, found: str) -> FileFormatError:
    expected = f"objects of images in {place}"
    return FileFormatError(expected, found, "write {image: [labels]} or {image: {classes: [...], scores: [...]}}")
