"""Read GQA and data in its form (GQA-OOD): files `{id: record}`, alone, in parts, or in folders and archives.

Ids are text and keep their zeros. With scene graphs, images get their sizes and objects, and questions the boxes of the
objects their annotations name: by default those of question, answer and full answer, or of the answer alone.
A file of scene graphs is `{image: {width, height, objects: {object: {name, x, y, w, h, ...}}}}`; ids of objects are
unique within their image only.
Entries in the files = rows read + rows dropped. Files without questions are skipped and counted.
"""

from pathlib import Path
from typing import Literal, TypeGuard

import polars as pl

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.data.tables import EVIDENCE, OBJECT
from eyechart.formats.columns import Field, tabulate_fields, with_keys
from eyechart.formats.description import described
from eyechart.formats.images import gather_images
from eyechart.formats.names import split_name
from eyechart.formats.objects import gather_objects
from eyechart.formats.rows import (
    CountedColumn,
    CountedTable,
    RowCount,
    count_table,
    drop_damaged,
    drop_empty_columns,
    drop_repeated,
    note_gaps,
    noted,
    read_rows,
)
from eyechart.formats.sources import decode_json, find_sources, stem

EvidenceKind = Literal["path", "final"]
_ANNOTATED: dict[EvidenceKind, tuple[str, ...]] = {"path": ("question", "answer", "fullAnswer"), "final": ("answer",)}
_FIELDS = {
    "id": Field(("id",), "key"),
    "image": Field(("imageId",), "key"),
    "question": Field(("question",)),
    "answer": Field(("answer",)),
    "question_type": Field(("types", "structural")),
    "semantic_type": Field(("types", "semantic")),
    "detailed_type": Field(("types", "detailed")),
    "group_local": Field(("groups", "local")),
    "group_global": Field(("groups", "global")),
    "full_answer": Field(("fullAnswer",)),
    "balanced": Field(("isBalanced",), "flag"),
    "entailed": Field(("entailed",), "texts"),
}
_REQUIRED = ("id", "image", "question", "answer")
_GRAPH = {"image": Field(("image",), "key"), "width": Field(("width",), "whole"), "height": Field(("height",), "whole")}
_THING = {
    "image": Field(("image",), "key"),
    "object": Field(("object",), "key"),
    "label": Field(("name",)),
    **{side: Field((side,), "number") for side in ("x", "y", "w", "h")},
}


@described(
    needs="questions as JSON by id, also in parts, zipped or in a folder; scene graphs give objects and evidence",
    sample='{"201307251": {"question": "Is it overcast?", "answer": "no", "imageId": "n161313",\n'
    '  "types": {"structural": "verify", ...}, "groups": {...}, "annotations": {"answer": {"0": "17"}, ...}}}',
    signs=("imageId", "isBalanced", "question"),
)
def read_gqa(
    path: Path,
    *,
    scene_graphs: Path | None = None,
    evidence: EvidenceKind = "path",
    split: str | None = None,
    detections: Path | None = None,
    images: Path | None = None,
) -> Dataset:
    """Read questions, with answers and annotations if present; `split` overrides the one in the files' names.

    `evidence` takes the objects of question and answer (`path`) or of the short answer alone (`final`) from
    `scene_graphs`; `detections` is a file of objects that replace theirs, `images` a folder of picture files.
    """
    questions, counts = _read_questions(path, split, _ANNOTATED[evidence])
    examples = questions.drop("annotated")
    of_images = questions.select(pl.col("image").drop_nulls().unique().sort())
    if scene_graphs is None:
        annotated = int((questions["annotated"].list.len() > 0).sum())
        counts.append(noted("annotated row, but no scene graphs: no evidence", annotated))
    else:
        of_images, things, more = read_scene_graphs(scene_graphs, of_images)
        column, missing = find_evidence(questions, of_images, things)
        examples = drop_empty_columns(examples.with_columns(column.alias("evidence")), ["evidence"])
        counts += [*more, *missing]
    known = of_images if detections is None else of_images.drop("objects", strict=False)
    all_images, gaps = gather_images(known, images, detections)
    counts = [read_rows(examples.height), *counts, *gaps]
    return Dataset(stem(path), examples, all_images, counts=count_table(counts))


def _read_questions(path: Path, split: str | None, annotated: tuple[str, ...]) -> CountedTable:
    tables, counts, skipped = [], [], 0
    for source in find_sources(path, {".json"}):
        content = decode_json(source, source.read())
        if isinstance(content, dict) and any(map(_is_question, content.values())):
            table, more = _read_part(content, annotated)
            tables.append(table.with_columns(split=pl.lit(split or split_name(source.name), pl.String)))
            counts += more
        else:
            skipped += 1
    if not tables:
        advice = "give the file, folder or archive of GQA's questions, or read other data with the format 'table'"
        raise FileFormatError(f"questions as {{id: {{question, imageId, ...}}}} in {path}", "none", advice)
    whole, damaged = drop_damaged(pl.concat(tables))
    unique, repeats = drop_repeated(whole)
    notes = [noted("file without questions, skipped", skipped), *note_gaps(unique)]
    optional = [name for name in unique.columns if name not in (*_REQUIRED, "annotated")]
    return CountedTable(drop_empty_columns(unique, optional), [*counts, *damaged, *repeats, *notes])


def _is_question(value: object) -> bool:
    return isinstance(value, dict) and "question" in value


def _read_part(content: dict[str, object], annotated: tuple[str, ...]) -> CountedTable:
    spans = {f"annotations.{name}": Field(("annotations", name), "values") for name in annotated}
    table, counts = tabulate_fields(with_keys(content), _FIELDS | spans)
    none = pl.all_horizontal(pl.col(name).is_null() for name in spans)
    named = pl.concat_list(pl.col(name).fill_null(pl.lit([], pl.List(pl.String))) for name in spans)
    questions = table.with_columns(
        pl.when(~none).then(named.list.drop_nulls()).alias("annotated"), pl.col("entailed").list.drop_nulls()
    )
    return CountedTable(questions.drop(*spans), counts)


def read_scene_graphs(path: Path, names: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, list[RowCount]]:
    """Read the scene graphs of the named images; an image in several files is taken from the first.

    The first table has each image with width, height and objects, the second each object with its image, id,
    label and box.
    """
    graphs = _collect(path, frozenset(names["image"].to_list()))
    sizes, counts = tabulate_fields(with_keys(graphs, "image"), _GRAPH, "scene graph")
    things, more = _read_things(graphs, str(path))
    objects = things.group_by("image", maintain_order=True).agg(pl.struct("label", "box", "score").alias("objects"))
    images = sizes.join(objects, on="image", how="left", validate="1:1", maintain_order="left")
    # An empty list of objects means that there are none; no list means that nothing is known.
    listed = pl.Series([image for image, graph in graphs.items() if _is_graph(graph)], dtype=pl.String)
    none = pl.when(pl.col("image").is_in(listed.implode())).then(pl.lit([], pl.List(OBJECT)))
    filled = images.with_columns(pl.col("objects").fill_null(none))
    joined = names.join(filled, on="image", how="left", validate="1:1", maintain_order="left")
    return joined, things, [*(noted(str(one.reason), one.n) for one in counts), *more]


def find_evidence(examples: pl.DataFrame, images: pl.DataFrame, things: pl.DataFrame) -> CountedColumn:
    """Look up the boxes of the objects in the list column `annotated`, each once, in the graph of the image.

    The evidence is null where there is no annotation or no graph, and empty where the annotation names no object.
    """
    rows = examples.select("image", "annotated").with_row_index("row")
    known = images.drop_nulls("objects").select("image", known=True)
    marked = rows.join(known, on="image", how="left", validate="m:1", maintain_order="left")
    named = marked.filter("known").explode("annotated", empty_as_null=False, keep_nulls=False).drop_nulls("annotated")
    objects = things.select("image", "label", "box", annotated="object", exists=True)
    matched = named.unique(["row", "annotated"], maintain_order=True).join(
        objects, on=["image", "annotated"], how="left", validate="m:1", maintain_order="left"
    )
    boxed = matched.drop_nulls("box").group_by("row", maintain_order=True).agg(evidence=pl.struct("label", "box"))
    joined = marked.join(boxed, on="row", how="left", validate="1:1", maintain_order="left")
    is_annotated = pl.col("known") & pl.col("annotated").is_not_null()
    column = joined.select(pl.col("evidence").fill_null(pl.when(is_annotated).then(pl.lit([], pl.List(EVIDENCE)))))
    missing = matched["exists"].null_count()
    counts = [
        noted("row whose image has no scene graph", marked["known"].null_count()),
        noted("annotated object that is not in the scene graph", missing),
        noted("annotated object without a box, left out", matched["box"].null_count() - missing),
    ]
    return CountedColumn(column.to_series(), counts)


def _collect(path: Path, wanted: frozenset[str]) -> dict[str, object]:
    graphs: dict[str, object] = {}
    total = 0
    for source in find_sources(path, {".json"}):
        content = decode_json(source, source.read())
        if isinstance(content, dict) and any(map(_is_graph, content.values())):
            total += len(content)
            graphs = {image: graph for image, graph in content.items() if image in wanted} | graphs
    if not total:
        advice = "give GQA's sceneGraphs.zip, or a file from it"
        raise FileFormatError(f"scene graphs with objects in {path}", "none", advice)
    if not graphs:
        found = f"{total} graphs of other images"
        raise FileFormatError(
            f"scene graphs of the questions' images in {path}", found, "use the scene graphs of the same split"
        )
    return graphs


def _is_graph(value: object) -> TypeGuard[dict[str, dict[str, object]]]:
    """Return whether a value is a scene graph with its objects."""
    return isinstance(value, dict) and isinstance(value.get("objects"), dict)


def _read_things(graphs: dict[str, object], origin: str) -> CountedTable:
    entries = [
        thing | {"image": image, "object": name} if isinstance(thing, dict) else thing
        for image, graph in graphs.items()
        if _is_graph(graph)
        for name, thing in graph["objects"].items()
    ]
    things, counts = tabulate_fields(entries, _THING, "object")
    labelled = things.drop_nulls("label").with_row_index("row").cast({"row": pl.Int64})
    left, top, width, height = (pl.col(side) for side in ("x", "y", "w", "h"))
    # An object without any of the four numbers has no box; one with only some of them has a bad one.
    bare = pl.all_horizontal(side.is_null() for side in (left, top, width, height))
    box = pl.when(~bare).then(pl.concat_list(left, top, left + width, top + height))
    single = labelled.select("row", "label", box=box, score=pl.lit(None))
    gathered = gather_objects(single, pl.repeat(value=True, n=single.height, eager=True), origin)
    table = labelled.select("image", "object", gathered.column.list.first()).unnest("objects")
    counts = [noted(str(one.reason), one.n) for one in counts]
    counts += [noted("object without a name, left out", things.height - labelled.height), *gathered.counts]
    counts.append(noted("object whose box has no area", int(_has_no_area(table["box"]).sum())))
    return CountedTable(table, counts)


def _has_no_area(boxes: pl.Series) -> pl.Series:
    left, top, right, bottom = (boxes.arr.get(i) for i in range(4))
    return (left == right) | (top == bottom)
