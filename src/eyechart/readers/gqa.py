"""Read GQA and data in its form (GQA-OOD): files `{id: record}`, alone, in parts, or in folders and archives.

Ids are text and keep their zeros. With scene graphs, images get their objects and questions the boxes of the objects
their annotations name: by default all of question, answer and full answer, or those of the answer alone.
Entries in the files = rows read + rows dropped. Files that hold no questions are passed over and counted.
"""

from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import FileFormatError
from eyechart.readers.counting import Count, Sifted, count_table, noted, read_rows
from eyechart.readers.description import described
from eyechart.readers.fields import Field, lay_out, with_keys
from eyechart.readers.pictures import gather_images
from eyechart.readers.rows import drop_damaged, drop_repeated, drop_silent, note_gaps
from eyechart.readers.scene_graphs import find_evidence, read_scene_graphs
from eyechart.readers.source import decode_json, find_sources, stem
from eyechart.readers.split_names import split_name

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


class _Pictured(NamedTuple):
    """Examples, perhaps with evidence, the table of their images, and what to know about both."""

    examples: pl.DataFrame
    images: pl.DataFrame
    notes: list[Count]


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
    """Read questions and, where there are, answers and annotations; `split` overrides what the files' names say.

    `evidence` takes the objects of question and answer (`path`) or of the short answer alone (`final`) from
    `scene_graphs`; `detections` are objects to be used instead of theirs, `images` is a folder of picture files.
    """
    asked = _read_questions(path, split, _ANNOTATED[evidence])
    pictured = _look_up(asked.table, scene_graphs)
    known = pictured.images if detections is None else pictured.images.drop("objects", strict=False)
    illustrated = gather_images(known, images, detections)
    counts = [read_rows(asked.table.height), *asked.counts, *pictured.notes, *illustrated.notes]
    return Dataset(stem(path), pictured.examples, illustrated.images, counts=count_table(counts))


def _read_questions(path: Path, split: str | None, annotated: tuple[str, ...]) -> Sifted:
    tables, counts, passed_over = [], [], 0
    for source in find_sources(path, {".json"}):
        content = decode_json(source, source.read())
        if isinstance(content, dict) and any(map(_is_question, content.values())):
            part = _read_part(content, annotated)
            tables.append(part.table.with_columns(split=pl.lit(split or split_name(source.name), pl.String)))
            counts += part.counts
        else:
            passed_over += 1
    if not tables:
        advice = "name the file, folder or archive of GQA's questions, or read other data with the format 'table'"
        raise FileFormatError(f"questions as {{id: {{question, imageId, ...}}}} in {path}", "none", advice)
    whole, damaged = drop_damaged(pl.concat(tables))
    once, again = drop_repeated(whole)
    notes = [noted("file without questions, passed over", passed_over), *note_gaps(once)]
    optional = [name for name in once.columns if name not in (*_REQUIRED, "annotated")]
    return Sifted(drop_silent(once, optional), [*counts, *damaged, *again, *notes])


def _is_question(value: object) -> bool:
    return isinstance(value, dict) and "question" in value


def _read_part(content: dict[str, object], annotated: tuple[str, ...]) -> Sifted:
    spans = {f"annotations.{name}": Field(("annotations", name), "values") for name in annotated}
    table, counts = lay_out(with_keys(content), _FIELDS | spans)
    none = pl.all_horizontal(pl.col(name).is_null() for name in spans)
    named = pl.concat_list(pl.col(name).fill_null(pl.lit([], pl.List(pl.String))) for name in spans)
    told = table.with_columns(
        pl.when(~none).then(named.list.drop_nulls()).alias("annotated"), pl.col("entailed").list.drop_nulls()
    )
    return Sifted(told.drop(*spans), counts)


def _look_up(asked: pl.DataFrame, scene_graphs: Path | None) -> _Pictured:
    examples = asked.drop("annotated")
    names = asked.select(pl.col("image").drop_nulls().unique().sort())
    if scene_graphs is None:
        annotated = int((asked["annotated"].list.len() > 0).sum())
        return _Pictured(examples, names, [noted("annotated row, but no scene graphs: no evidence", annotated)])
    graphs = read_scene_graphs(scene_graphs, names["image"].to_list())
    found = find_evidence(asked, graphs)
    images = names.join(graphs.images, on="image", how="left", validate="1:1", maintain_order="left")
    complete = examples.with_columns(found.column.alias("evidence"))
    return _Pictured(drop_silent(complete, ["evidence"]), images, [*graphs.notes, *found.notes])
