"""Read VQA v1 and v2, and data in their form: files of questions and files of annotations, joined by question_id.

A file is `{"questions": [...]}`, `{"annotations": [...]}` (the official form) or a bare list (VQA-VS), alone or in
folders and archives. Every question is read or dropped, every annotation is joined to a question or dropped:
questions = read + dropped questions; annotations = read - read without annotation + dropped annotations.
Questions without an annotation, as in test sets, have no answer. The OOD test sets of VQA-VS repeat examples of its
test split: they come last, so that each example is read once, as one of the test split.
"""

import re
from collections.abc import Mapping, Sized
from pathlib import Path
from typing import NamedTuple

import msgspec
import polars as pl

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats.choices import drop_stray_choices
from eyechart.formats.columns import as_key, as_text, as_texts, fill_majority, fold_texts
from eyechart.formats.description import described
from eyechart.formats.images import gather_images
from eyechart.formats.names import split_of_file
from eyechart.formats.records import Records, tabulate
from eyechart.formats.references import takes_first, vote_again
from eyechart.formats.rows import (
    READ_BEFORE,
    CountedTable,
    blank,
    clear_blank_answers,
    count_table,
    drop_empty_columns,
    drop_rows,
    dropped,
    noted,
    read_rows,
)
from eyechart.formats.sources import SourceFile, decode_json, find_sources, stem

_QUESTION = ("id", "image", "question", "choices", "split")
_ANNOTATION: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String,
    "answer": pl.String,
    "answers": pl.List(pl.String),
    "question_type": pl.String,
    "answer_type": pl.String,
}
_OPTIONAL = ("answers", "choices", "question_type", "answer_type", "split")
# Our column: theirs, and how its values are converted.
_COLUMNS = {
    "id": ("question_id", as_key),
    "image": ("image_id", as_key),
    "question": ("question", as_text),
    "choices": ("multiple_choices", as_texts),
    "question_type": ("question_type", as_text),
    "answer_type": ("answer_type", as_text),
    "answer": ("multiple_choice_answer", as_text),
    "answers": ("answers", as_texts),
}


class _Answer(msgspec.Struct, gc=False):
    answer: str | None = None


class _Entry(msgspec.Struct, gc=False):
    """The fields that are read from a question or an annotation; others are never built."""

    question_id: int | str | None = None
    image_id: int | str | None = None
    question: str | None = None
    multiple_choices: list[str] | None = None
    question_type: str | None = None
    answer_type: str | None = None
    multiple_choice_answer: str | None = None
    answers: list[_Answer] | None = None


class _Vqa2File(msgspec.Struct):
    data_subtype: str | None = None
    questions: list[_Entry] | None = None
    annotations: list[_Entry] | None = None


class Vqa2Records(NamedTuple):
    """A list of records under our names, the split that its file states, and how many entries were not records."""

    table: pl.DataFrame
    split: str | None
    strays: int

    def asks(self) -> bool:
        """Return whether these are questions."""
        return self._holds("question")

    def answers(self) -> bool:
        """Return whether these are annotations; a list may be both."""
        return self._holds("answer") or self._holds("answers")

    def repeats(self) -> bool:
        """Return whether these may repeat examples of another list, as the OOD test sets of VQA-VS do."""
        return (self.split or "").startswith("ood-test")

    def _holds(self, column: str) -> bool:
        return bool((self.table["id"].is_not_null() & self.table[column].is_not_null()).any())


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
    """Read questions and answers; `annotations` is the path of those elsewhere, `split` overrides the files' own.

    `detections` is a file of the objects in each image, `images` a folder of picture files.
    """
    paths = [path] if annotations is None else [path, annotations]
    sources = [source for one in paths for source in find_sources(one, {".json"})]
    lists = sorted((part for source in sources for part in _read_lists(source)), key=Vqa2Records.repeats)
    questions = _merge_questions([part for part in lists if part.asks()], split, path)
    answers = _merge_annotations([part for part in lists if part.answers()])
    examples, unmatched = _join(questions.table, answers.table, path)
    names = examples.select(pl.col("image").drop_nulls().unique().sort())
    all_images, gaps = gather_images(names, images, detections)
    counts = [read_rows(examples.height), *questions.counts, *answers.counts, *unmatched, *gaps]
    return Dataset(stem(path), examples, all_images, counts=count_table(counts))


def _merge_questions(parts: list[Vqa2Records], split: str | None, path: Path) -> CountedTable:
    if not parts:
        advice = "give the file, folder or archive of the questions, or read other data with the format 'table'"
        raise FileFormatError(f"questions with question_id and question in {path}", "none", advice)
    tables = [
        part.table.with_columns(split=pl.lit(split or part.split, pl.String), repeats=pl.lit(part.repeats()))
        for part in parts
    ]
    reasons = {"question without an id": pl.col("id").is_null(), "question without text": blank("question")}
    whole = pl.concat(table.select(*_QUESTION, "repeats") for table in tables)
    return _keep_first(whole, "question", reasons, sum(part.strays for part in parts))


def _merge_annotations(parts: list[Vqa2Records]) -> CountedTable:
    tables = (part.table.select(*_ANNOTATION, pl.lit(part.repeats()).alias("repeats")) for part in parts)
    table = pl.concat([pl.DataFrame(schema=_ANNOTATION | {"repeats": pl.Boolean}), *tables])
    reasons = {"annotation without an id": pl.col("id").is_null()}
    return _keep_first(table, "annotation", reasons, sum(part.strays for part in parts if not part.asks()))


def _keep_first(table: pl.DataFrame, kind: str, reasons: Mapping[str, pl.Expr], strays: int) -> CountedTable:
    whole, damaged = drop_rows(table, reasons)
    repeated = ~pl.col("id").is_first_distinct()
    repeat_reasons = {
        f"{kind} of an OOD test set, {READ_BEFORE}": repeated & pl.col("repeats"),
        f"{kind} with an id seen before": repeated,
    }
    unique, counts = drop_rows(whole, repeat_reasons)
    return CountedTable(unique.drop("repeats"), [dropped(f"{kind} that is not a record", strays), *damaged, *counts])


def _join(questions: pl.DataFrame, annotations: pl.DataFrame, path: Path) -> CountedTable:
    marked = annotations.with_columns(annotated=True)
    joined = questions.join(marked, on="id", how="left", validate="1:1", maintain_order="left")
    bare = joined["annotated"].null_count()
    if annotations.height and bare == joined.height:
        found = f"{questions.height} questions and {annotations.height} annotations that share no question_id"
        raise FileFormatError(f"annotations of the questions in {path}", found, "give both files of one split")
    cleared = clear_blank_answers(joined.drop("annotated"))
    voted, votes = vote_again(cleared) if takes_first(cleared) else CountedTable(cleared, [])
    examples, notes = drop_stray_choices(fill_majority(voted))
    counts = [
        dropped("annotation without a question", annotations.height - (joined.height - bare)),
        noted("question without an annotation", bare),
        noted("question whose annotation holds no answer", examples["answer"].null_count() - bare),
        noted("question without an image", joined["image"].null_count()),
        *notes,
        *votes,
    ]
    columns = ("id", "image", "question", "answer", *_OPTIONAL)
    return CountedTable(drop_empty_columns(examples.select(columns), _OPTIONAL), counts)


def _read_lists(source: SourceFile) -> list[Vqa2Records]:
    """Read the lists of records in a file; there may be none."""
    data = source.read()
    try:
        if re.match(rb"\s*\[", data):
            file = _Vqa2File(questions=msgspec.json.decode(data, type=list[_Entry]))
        else:
            file = msgspec.json.decode(data, type=_Vqa2File)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _read_loosely(source, data)
    lists = [file.questions, file.annotations]
    return [
        _name_columns(Records(_tabulate(entries)), source, file.data_subtype)
        for entries in lists
        if entries is not None
    ]


def _tabulate(entries: list[_Entry]) -> pl.DataFrame:
    """Build columns from well-formed records in a third of the memory of a general parser."""
    texts = ("question", "question_type", "answer_type", "multiple_choice_answer")
    columns = {name: pl.Series([getattr(entry, name) for entry in entries], dtype=pl.String) for name in texts}
    for name in ("question_id", "image_id"):
        ids = (getattr(entry, name) for entry in entries)
        columns[name] = pl.Series([None if value is None else str(value) for value in ids], dtype=pl.String)
    answers = [one.answer for entry in entries for one in entry.answers or ()]
    columns["answers"] = fold_texts(answers, [_size(entry.answers) for entry in entries])
    choices = [text for entry in entries for text in entry.multiple_choices or ()]
    columns["multiple_choices"] = fold_texts(choices, [_size(entry.multiple_choices) for entry in entries])
    return pl.DataFrame(columns)


def _size(values: Sized | None) -> int | None:
    return None if values is None else len(values)


def _read_loosely(source: SourceFile, data: bytes) -> list[Vqa2Records]:
    """Read a file with malformed records: slower, but a bad record does not stop the others."""
    content = decode_json(source, data)
    if isinstance(content, list):
        return [_name_columns(tabulate(content), source, None)]
    if not isinstance(content, dict):
        return []
    lists = [content[name] for name in ("questions", "annotations") if isinstance(content.get(name), list)]
    return [_name_columns(tabulate(entries), source, content.get("data_subtype")) for entries in lists]


def _name_columns(records: Records, source: SourceFile, subtype: object) -> Vqa2Records:
    table, height = records.table, records.table.height
    columns = {
        ours: convert(table[theirs] if theirs in table.columns else pl.repeat(None, height, eager=True), source.name)
        for ours, (theirs, convert) in _COLUMNS.items()
    }
    return Vqa2Records(pl.DataFrame(columns), split_of_file(source.name, subtype), records.strays)
