"""Read VQA v1 and v2, and data in their form: files of questions and files of annotations, joined by question_id.

A file is `{"questions": [...]}`, `{"annotations": [...]}` (the official form) or a bare list (VQA-VS), alone or in
folders and archives. Every question is read or dropped, every annotation is joined to a question or dropped:
questions = read + dropped questions; annotations = read - read without annotation + dropped annotations.
Questions without an annotation, as in test sets, have no answer. The OOD test sets of VQA-VS hold examples of its test
split once more: they come last, so that each example is read once, as one of the whole.
"""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import FileFormatError
from eyechart.readers.choices import set_aside_choices
from eyechart.readers.columns import fill_majority
from eyechart.readers.counting import Sifted, count_table, dropped, noted, read_rows, sift
from eyechart.readers.description import described
from eyechart.readers.pictures import gather_images
from eyechart.readers.rows import blank, clear_blank_answers
from eyechart.readers.source import find_sources, stem
from eyechart.readers.vqa2_parts import Part, read_parts

_QUESTION = ("id", "image", "question", "choices", "split")
_ANNOTATION: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String,
    "answer": pl.String,
    "answers": pl.List(pl.String),
    "question_type": pl.String,
    "answer_type": pl.String,
}
_OPTIONAL = ("answers", "choices", "question_type", "answer_type", "split")


@described(
    needs="questions and annotations as JSON, also zipped or in a folder with several splits",
    sample='{"questions": [{"question_id": 262148000, "image_id": 262148, "question": "Where is he looking?"}]}\n'
    '{"annotations": [{"question_id": 262148000, "multiple_choice_answer": "down", "answers": [...]}]}',
    signs=("question_id", "image_id", "multiple_choice_answer", "answer_confidence"),
)
def read_vqa2(
    path: Path,
    *,
    annotations: Path | None = None,
    split: str | None = None,
    detections: Path | None = None,
    images: Path | None = None,
) -> Dataset:
    """Read questions and answers; `annotations` names those that lie elsewhere, `split` overrides the files' own.

    `detections` is a file of the objects in each image, `images` a folder of picture files.
    """
    places = [path] if annotations is None else [path, annotations]
    sources = [source for place in places for source in find_sources(place, {".json"})]
    parts = sorted((part for source in sources for part in read_parts(source)), key=Part.repeats)
    asked = _merge_questions([part for part in parts if part.asks()], split, path)
    answered = _merge_annotations([part for part in parts if part.answers()])
    joined = _join(asked.table, answered.table, path)
    names = joined.table.select(pl.col("image").drop_nulls().unique().sort())
    illustrated = gather_images(names, images, detections)
    counts = [read_rows(joined.table.height), *asked.counts, *answered.counts, *joined.counts, *illustrated.notes]
    return Dataset(stem(path), joined.table, illustrated.images, counts=count_table(counts))


def _merge_questions(parts: list[Part], split: str | None, path: Path) -> Sifted:
    if not parts:
        advice = "name the file, folder or archive of the questions, or read other data with the format 'table'"
        raise FileFormatError(f"questions with question_id and question in {path}", "none", advice)
    tables = [
        part.table.with_columns(split=pl.lit(split or part.split, pl.String), repeats=pl.lit(part.repeats()))
        for part in parts
    ]
    reasons = {"question without an id": pl.col("id").is_null(), "question without text": blank("question")}
    whole = pl.concat(table.select(*_QUESTION, "repeats") for table in tables)
    return _keep_first(whole, "question", reasons, sum(part.strays for part in parts))


def _merge_annotations(parts: list[Part]) -> Sifted:
    tables = (part.table.select(*_ANNOTATION, pl.lit(part.repeats()).alias("repeats")) for part in parts)
    table = pl.concat([pl.DataFrame(schema=_ANNOTATION | {"repeats": pl.Boolean}), *tables])
    reasons = {"annotation without an id": pl.col("id").is_null()}
    return _keep_first(table, "annotation", reasons, sum(part.strays for part in parts if not part.asks()))


def _keep_first(table: pl.DataFrame, kind: str, reasons: Mapping[str, pl.Expr], strays: int) -> Sifted:
    whole, damaged = sift(table, reasons)
    seen = ~pl.col("id").is_first_distinct()
    again = {
        f"{kind} of an OOD test set, read before": seen & pl.col("repeats"),
        f"{kind} with an id seen before": seen,
    }
    once, twice = sift(whole, again)
    return Sifted(once.drop("repeats"), [dropped(f"{kind} that is no record", strays), *damaged, *twice])


def _join(questions: pl.DataFrame, annotations: pl.DataFrame, path: Path) -> Sifted:
    marked = annotations.with_columns(annotated=True)
    joined = questions.join(marked, on="id", how="left", validate="1:1", maintain_order="left")
    bare = joined["annotated"].null_count()
    if annotations.height and bare == joined.height:
        found = f"{questions.height} questions and {annotations.height} annotations that share no question_id"
        raise FileFormatError(f"annotations of the questions in {path}", found, "bring the two files of one split")
    examples, notes = set_aside_choices(fill_majority(clear_blank_answers(joined.drop("annotated"))))
    counts = [
        dropped("annotation without a question", annotations.height - (joined.height - bare)),
        noted("question without an annotation", bare),
        noted("question whose annotation holds no answer", examples["answer"].null_count() - bare),
        noted("question without an image", joined["image"].null_count()),
        *notes,
    ]
    told = [name for name in _OPTIONAL if not examples[name].is_null().all()]
    return Sifted(examples.select("id", "image", "question", "answer", *told), counts)
