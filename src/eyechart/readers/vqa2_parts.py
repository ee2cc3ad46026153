"""Read the files of VQA v1 and v2: what each holds is told by its content, its split by what it says of itself."""

import re
from pathlib import PurePosixPath
from typing import NamedTuple

import polars as pl
from polars.exceptions import PolarsError

from eyechart.readers.columns import as_key, as_text, as_texts
from eyechart.readers.records import Records, tabulate
from eyechart.readers.source import Source, decode_json

_FIELDS: dict[str, pl.DataType | type[pl.DataType]] = {
    "question_id": pl.String,
    "image_id": pl.String,
    "question": pl.String,
    "multiple_choices": pl.List(pl.String),
    "question_type": pl.String,
    "answer_type": pl.String,
    "multiple_choice_answer": pl.String,
    "answers": pl.List(pl.Struct({"answer": pl.String})),
}
_LISTS = ("questions", "annotations")
_OFFICIAL = {"data_subtype": pl.String} | dict.fromkeys(_LISTS, pl.List(pl.Struct(_FIELDS)))
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
_SPLITS = (
    r"_([a-z]+(?:-[a-z]+)*)20\d\d_",  # v2_mscoco_test-dev2015_questions
    r"^(.+)-(?:ques|ans)$",  # OOD-Test-QT-Ques
    r"(?<![a-z])(train|training|val|valid|validation|test|testdev|trainval|minival|nominival)(?![a-z])",
)
_SHORT = {"training": "train", "valid": "val", "validation": "val"}


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

    def _holds(self, column: str) -> bool:
        return bool((self.table["id"].is_not_null() & self.table[column].is_not_null()).any())


def read_parts(source: Source) -> list[Part]:
    """Read the lists of records in a file, of which there may be none."""
    data = source.read()
    try:
        if re.match(rb"\s*\[", data):
            return [_part(Records(pl.read_json(data, schema=_FIELDS)), source, None)]
        whole = pl.read_json(data, schema=_OFFICIAL)
    except PolarsError:
        return _read_loosely(source, data)
    return [_part(Records(_unfold(whole[name])), source, whole["data_subtype"][0]) for name in _LISTS]


def _unfold(column: pl.Series) -> pl.DataFrame:
    return column.explode(empty_as_null=False, keep_nulls=False).struct.unnest()


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
        own = re.sub(r"20\d\d$", "", subtype.lower())
        return _SHORT.get(own, own)
    plain = PurePosixPath(name).name.lower().split(".json")[0]
    matches = (re.search(pattern, plain) for pattern in _SPLITS)
    found = next((match[1] for match in matches if match), None)
    return None if found is None else _SHORT.get(found, found)
