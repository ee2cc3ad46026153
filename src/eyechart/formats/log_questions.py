"""Make a dataset of the questions, options and references that a log holds.

The question is the prompt without its options and without marks for pictures; instructions around it stay. A reference
that is a letter is the option that the log lists for it; where the options cannot be read, nobody can tell what the
letter means, and the row is dropped. A question that was asked again is one row.
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats.answer_files import AnswerFile, find_aggregate, recognise
from eyechart.formats.choices import name_answers
from eyechart.formats.columns import fill_majority
from eyechart.formats.images import gather_images
from eyechart.formats.log_folders import keep_newest
from eyechart.formats.log_rows import OPTION_LINE
from eyechart.formats.records import TABLE_FORMATS
from eyechart.formats.rows import (
    CountedTable,
    RowCount,
    count_table,
    drop_damaged,
    drop_empty_columns,
    drop_repeated,
    drop_rows,
    note_gaps,
    noted,
    read_rows,
)
from eyechart.formats.sources import find_sources, stem
from eyechart.formats.vlmeval_pictures import merge_images, name_images

_MARK = re.compile(r"<(?:image|img|video)(?: ?\d+)?>\s*")
_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String,
    "question": pl.String,
    "choices": pl.List(pl.String),
    "answer": pl.String,
    "answers": pl.List(pl.String),
    "image": pl.String,
    "image_path": pl.String,
    "split": pl.String,
}


class LoggedQuestion(NamedTuple):
    """What a log says of a question; pictures are paths, or base64 text."""

    id: str | None
    prompt: str | None
    options: Sequence[str] | None
    references: Sequence[str]
    pictures: Sequence[str] = ()
    split: str | None = None


def find_logs(path: Path, name: str) -> list[AnswerFile]:
    """Find the logs of a tool at a path, those of its newest run."""
    files = [AnswerFile(source) for source in find_sources(path, (*TABLE_FORMATS, ".eval"))]
    logs = [file for file in files if find_aggregate(file) is None and recognise(file) == name]
    if not logs:
        advice = "give the folder of a run, or read other data with the format 'table'"
        raise FileFormatError(f"a log of {name} at {path}", "none", advice)
    return keep_newest({name: logs})[0][name]


def make_dataset(
    path: Path,
    questions: Iterable[LoggedQuestion],
    counts: Sequence[RowCount],
    *,
    pictures: Path | None = None,
    split: str | None = None,
) -> Dataset:
    """Make a dataset; pictures inside the log are written to the folder `pictures`, if any."""
    table = pl.DataFrame([_read_row(question) for question in questions], schema=_SCHEMA, orient="row")
    if split is not None:
        table = table.with_columns(split=pl.lit(split))
    once, again = _keep_first(table)
    rows, images, notes = name_images(once, pictures)
    sound, damaged = drop_damaged(rows.drop("image_path", strict=False))
    settled, unfit = _settle_answers(sound)
    unique, repeats = drop_repeated(settled)
    examples = drop_empty_columns(unique, ("choices", "answers", "split"))
    all_images, gaps = gather_images(merge_images([images], examples), pictures, None, path.parent)
    all_counts = [read_rows(examples.height), *counts, *again, *notes, *damaged, *unfit, *repeats, *note_gaps(examples)]
    return Dataset(stem(path), examples, all_images, counts=count_table([*all_counts, *gaps]))


def _read_row(question: LoggedQuestion) -> tuple[object, ...]:
    prompt, options = question.prompt or "", list(question.options or ()) or None
    start = max((line.start() for line in OPTION_LINE.finditer(prompt) if line[1] == "A"), default=len(prompt))
    text = _MARK.sub("", prompt[:start] if options else prompt).strip()
    references = list(dict.fromkeys(question.references))
    one = references[0] if len(references) == 1 else None
    inside = [picture for picture in question.pictures if picture.startswith("data:")]
    outside = [picture for picture in question.pictures if not picture.startswith("data:")]
    cells = (json.dumps(part) if part else None for part in (inside, outside))
    return (question.id, text, options, one, references if len(references) > 1 else None, *cells, question.split)


def _keep_first(table: pl.DataFrame) -> CountedTable:
    """Keep a question that was asked several times once; it is no other question with the same id."""
    first = pl.struct("id", "question", "choices").is_first_distinct() | pl.col("id").is_null()
    kept = table.filter(first)
    return CountedTable(kept, [noted("question that was asked again", table.height - kept.height)])


def _settle_answers(table: pl.DataFrame) -> CountedTable:
    lettered = pl.col("choices").is_null() & pl.col("answer").str.contains(r"^\(?[A-J]\)?\.?$")
    reason = "row whose answer is a letter, but whose options cannot be read"
    known, lost = drop_rows(table, {reason: lettered.fill_null(value=False)})
    named = name_answers(known, "letter", "text")
    voted = fill_majority(named.table)
    return CountedTable(voted, [*lost, *(count for count in named.counts if count.status == "dropped")])
