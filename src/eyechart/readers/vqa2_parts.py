"""Read the files of VQA v1 and v2: what each holds is told by its content, its split by what it says of itself."""

import re
from collections.abc import Sized
from typing import NamedTuple

import msgspec
import polars as pl

from eyechart.readers.columns import as_key, as_text, as_texts, fold_texts
from eyechart.readers.records import Records, tabulate
from eyechart.readers.source import Source, decode_json
from eyechart.readers.split_names import shorten_split, split_name

_LISTS = ("questions", "annotations")


class _Answer(msgspec.Struct, gc=False):
    answer: str | None = None


class _Entry(msgspec.Struct, gc=False):
    """The fields of a question or an annotation that are read; the others are never built."""

    question_id: int | str | None = None
    image_id: int | str | None = None
    question: str | None = None
    multiple_choices: list[str] | None = None
    question_type: str | None = None
    answer_type: str | None = None
    multiple_choice_answer: str | None = None
    answers: list[_Answer] | None = None


class _File(msgspec.Struct):
    data_subtype: str | None = None
    questions: list[_Entry] | None = None
    annotations: list[_Entry] | None = None


# Our column: theirs, and how its values become ours.
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


class Part(NamedTuple):
    """One list of records under our names, the split it says it is, and how many entries were no records."""

    table: pl.DataFrame
    split: str | None
    strays: int

    def asks(self) -> bool:
        """Say whether these are questions."""
        return self._holds("question")

    def answers(self) -> bool:
        """Say whether these are annotations; one list may be both."""
        return self._holds("answer") or self._holds("answers")

    def repeats(self) -> bool:
        """Say whether these may be examples of another part once more, as the OOD test sets of VQA-VS are."""
        return (self.split or "").startswith("ood-test")

    def _holds(self, column: str) -> bool:
        return bool((self.table["id"].is_not_null() & self.table[column].is_not_null()).any())


def read_parts(source: Source) -> list[Part]:
    """Read the lists of records in a file, of which there may be none."""
    data = source.read()
    try:
        if re.match(rb"\s*\[", data):
            file = _File(questions=msgspec.json.decode(data, type=list[_Entry]))
        else:
            file = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _read_loosely(source, data)
    lists = [file.questions, file.annotations]
    return [_part(Records(_tabulate(entries)), source, file.data_subtype) for entries in lists if entries is not None]


def _tabulate(entries: list[_Entry]) -> pl.DataFrame:
    """Lay records of the right form out as columns, with a third of the memory that a general parser takes."""
    texts = ("question", "question_type", "answer_type", "multiple_choice_answer")
    columns = {name: pl.Series([getattr(entry, name) for entry in entries], dtype=pl.String) for name in texts}
    for name in ("question_id", "image_id"):
        found = (getattr(entry, name) for entry in entries)
        columns[name] = pl.Series([None if value is None else str(value) for value in found], dtype=pl.String)
    said = [one.answer for entry in entries for one in entry.answers or ()]
    columns["answers"] = fold_texts(said, [_size(entry.answers) for entry in entries])
    offered = [text for entry in entries for text in entry.multiple_choices or ()]
    columns["multiple_choices"] = fold_texts(offered, [_size(entry.multiple_choices) for entry in entries])
    return pl.DataFrame(columns)


def _size(values: Sized | None) -> int | None:
    return None if values is None else len(values)


def _read_loosely(source: Source, data: bytes) -> list[Part]:
    """Read a file in which some record breaks the form; slower, but one bad record does not cost the others."""
    content = decode_json(source, data)
    if isinstance(content, list):
        return [_part(tabulate(content), source, None)]
    if not isinstance(content, dict):
        return []
    lists = [content[name] for name in _LISTS if isinstance(content.get(name), list)]
    return [_part(tabulate(entries), source, content.get("data_subtype")) for entries in lists]


def _part(records: Records, source: Source, subtype: object) -> Part:
    table, height = records.table, records.table.height
    columns = {
        ours: bring(table[theirs] if theirs in table.columns else pl.repeat(None, height, eager=True), source.name)
        for ours, (theirs, bring) in _COLUMNS.items()
    }
    return Part(pl.DataFrame(columns), _split_name(source.name, subtype), records.strays)


def _split_name(name: str, subtype: object) -> str | None:
    """Take the split from the file's own word, else from its name: val2014 and Val-Ques.json are val."""
    if isinstance(subtype, str) and subtype:
        return shorten_split(re.sub(r"20\d\d$", "", subtype.lower()))
    return split_name(name)
