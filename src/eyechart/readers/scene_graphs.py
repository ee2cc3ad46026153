"""Read GQA's scene graphs: the sizes of images, their objects, and the boxes of the objects a question names.

A file is `{image: {width, height, objects: {object: {name, x, y, w, h, ...}}}}`, alone, in parts, or in an archive.
Ids of objects count within their image only.
"""

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple, TypeGuard

import polars as pl

from eyechart.errors import FileFormatError
from eyechart.readers.counting import Count, noted
from eyechart.readers.fields import Field, lay_out, with_keys
from eyechart.readers.objects import gather_objects
from eyechart.readers.source import decode_json, find_sources
from eyechart.tables import EVIDENCE, OBJECT

_GRAPH = {"image": Field(("image",), "key"), "width": Field(("width",), "whole"), "height": Field(("height",), "whole")}
_THING = {
    "image": Field(("image",), "key"),
    "object": Field(("object",), "key"),
    "label": Field(("name",)),
    **{side: Field((side,), "number") for side in ("x", "y", "w", "h")},
}


class SceneGraphs(NamedTuple):
    """Images with width, height and objects; each thing in them with its image, object, label and box; what to know."""

    images: pl.DataFrame
    things: pl.DataFrame
    notes: list[Count]


class Evidence(NamedTuple):
    """A column of evidence, and what to know about it."""

    column: pl.Series
    notes: list[Count]


def read_scene_graphs(path: Path, wanted: Collection[str]) -> SceneGraphs:
    """Read the graphs of the wanted images; an image that lies in several files is taken from the first."""
    graphs = _collect(path, frozenset(wanted))
    sizes = lay_out(with_keys(graphs, "image"), _GRAPH, "scene graph")
    things = _read_things(graphs, str(path))
    objects = things.table.group_by("image", maintain_order=True).agg(
        pl.struct("label", "box", "score").alias("objects")
    )
    images = sizes.table.join(objects, on="image", how="left", validate="1:1", maintain_order="left")
    # A graph that lists no objects says that there are none; one without a list says nothing.
    listed = pl.Series([image for image, graph in graphs.items() if _is_graph(graph)], dtype=pl.String)
    none = pl.when(pl.col("image").is_in(listed.implode())).then(pl.lit([], pl.List(OBJECT)))
    filled = images.with_columns(pl.col("objects").fill_null(none))
    return SceneGraphs(filled, things.table, [*(noted(str(one.reason), one.n) for one in sizes.counts), *things.notes])


def find_evidence(examples: pl.DataFrame, graphs: SceneGraphs) -> Evidence:
    """Look up the boxes of the objects in the list column `annotated`, each object once, in the graph of the image.

    The evidence is null where there is no annotation or no graph, and empty where the annotation names no object.
    """
    rows = examples.select("image", "annotated").with_row_index("row")
    known = graphs.images.drop_nulls("objects").select("image", known=True)
    seen = rows.join(known, on="image", how="left", validate="m:1", maintain_order="left")
    named = seen.filter("known").explode("annotated", empty_as_null=False, keep_nulls=False).drop_nulls("annotated")
    things = graphs.things.select("image", "label", "box", annotated="object", there=True)
    found = named.unique(["row", "annotated"], maintain_order=True).join(
        things, on=["image", "annotated"], how="left", validate="m:1", maintain_order="left"
    )
    boxed = found.drop_nulls("box").group_by("row", maintain_order=True).agg(evidence=pl.struct("label", "box"))
    joined = seen.join(boxed, on="row", how="left", validate="1:1", maintain_order="left")
    told = pl.col("known") & pl.col("annotated").is_not_null()
    column = joined.select(pl.col("evidence").fill_null(pl.when(told).then(pl.lit([], pl.List(EVIDENCE)))))
    missing = found["there"].null_count()
    notes = [
        noted("row whose image has no scene graph", seen["known"].null_count()),
        noted("annotated object that is not in the scene graph", missing),
        noted("annotated object without a box, left out", found["box"].null_count() - missing),
    ]
    return Evidence(column.to_series(), notes)


def _collect(path: Path, wanted: frozenset[str]) -> dict[str, object]:
    graphs: dict[str, object] = {}
    total = 0
    for source in find_sources(path, {".json"}):
        content = decode_json(source, source.read())
        if isinstance(content, dict) and any(map(_is_graph, content.values())):
            total += len(content)
            graphs = {image: graph for image, graph in content.items() if image in wanted} | graphs
    if not total:
        advice = "name GQA's sceneGraphs.zip, or a file out of it"
        raise FileFormatError(f"scene graphs with objects in {path}", "none", advice)
    if not graphs:
        found = f"{total} graphs of other images"
        raise FileFormatError(
            f"scene graphs of the questions' images in {path}", found, "bring those of the same split"
        )
    return graphs


def _is_graph(value: object) -> TypeGuard[dict[str, dict[str, object]]]:
    """Say whether a value is a scene graph with its objects."""
    return isinstance(value, dict) and isinstance(value.get("objects"), dict)


class _Things(NamedTuple):
    table: pl.DataFrame
    notes: list[Count]


def _read_things(graphs: dict[str, object], place: str) -> _Things:
    entries = [
        thing | {"image": image, "object": name} if isinstance(thing, dict) else thing
        for image, graph in graphs.items()
        if _is_graph(graph)
        for name, thing in graph["objects"].items()
    ]
    laid = lay_out(entries, _THING, "object")
    labelled = laid.table.drop_nulls("label").with_row_index("row").cast({"row": pl.Int64})
    left, top, width, height = (pl.col(side) for side in ("x", "y", "w", "h"))
    # An object whose four numbers are all missing has no box, one with some of them has a bad one.
    bare = pl.all_horizontal(side.is_null() for side in (left, top, width, height))
    box = pl.when(~bare).then(pl.concat_list(left, top, left + width, top + height))
    single = labelled.select("row", "label", box=box, score=pl.lit(None))
    gathered = gather_objects(single, pl.repeat(value=True, n=single.height, eager=True), place)
    table = labelled.select("image", "object", gathered.column.list.first()).unnest("objects")
    notes = [noted(str(one.reason), one.n) for one in laid.counts]
    notes += [noted("object without a name, left out", laid.table.height - labelled.height), *gathered.notes]
    return _Things(table, [*notes, noted("object whose box has no area", _count_flat(table["box"]))])


def _count_flat(boxes: pl.Series) -> int:
    left, top, right, bottom = (boxes.arr.get(at) for at in range(4))
    return int(((left == right) | (top == bottom)).sum())
