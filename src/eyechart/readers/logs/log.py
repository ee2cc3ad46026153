"""What every reader of logs gives back, and how single values become text."""

from collections.abc import Iterable
from typing import NamedTuple

import orjson
import polars as pl

from eyechart.errors import FileFormatError
from eyechart.readers.columns import EXACT
from eyechart.readers.counting import Count
from eyechart.tables import ANSWERS


class Wanted(NamedTuple):
    """What the caller asks of a log."""

    map: dict[str, str] | None = None  # our column = theirs, for tables
    scorer: str | None = None  # whose answer counts, where several extracted one
    unfinished: bool = False  # take the samples of a run that was not completed


class Log(NamedTuple):
    """A table of answers under our column names, and what became of the entries that are not in it."""

    answers: pl.DataFrame
    counts: list[Count]


class Row(NamedTuple):
    """One answer, as the log has it; a null draw is one that cannot be read."""

    id: str | None
    answer: str | None
    raw: str | None
    status: str
    draw: int | None = 0
    condition: str | None = None
    scores: list[dict[str, object]] | None = None
    score_kind: str | None = None


ROW = {name: ANSWERS.columns[name].dtype for name in Row._fields}
OPTIONAL = ("condition", "scores", "score_kind")


def lay_out(rows: Iterable[Row]) -> pl.DataFrame:
    """Make a table of rows, without the optional columns that none of them fills."""
    table = pl.DataFrame(list(rows), schema=ROW, orient="row")
    return table.drop(name for name in OPTIONAL if table[name].is_null().all())


def write_key(value: object) -> str | None:
    """Write an id as text; what can be no id becomes null."""
    if isinstance(value, float):
        return str(int(value)) if abs(value) < EXACT and value.is_integer() else None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def write_answer(value: object) -> str | None:
    """Write an answer as text: tokens joined by spaces, other values as JSON has them."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(text for text in map(write_answer, value) if text is not None)
    return orjson.dumps(value).decode()


def read_whole_number(value: object) -> int | None:
    """Read a number from 0 that may be written as text; null where it is none."""
    text = write_key(value)
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 19 else None


def member(record: object, *names: str) -> object:
    """Follow names into nested records; null where one leads nowhere."""
    for name in names:
        record = record.get(name) if isinstance(record, dict) else None
    return record


def require_columns(table: pl.DataFrame, names: Iterable[str], place: str) -> None:
    """Refuse a table that is not what its format promises."""
    for name in names:
        if name not in table.columns:
            found = f"columns {', '.join(table.columns) or 'none at all'}"
            raise FileFormatError(f"a column {name!r} in {place}", found, "name another file, or another format")


def check_one_model(models: Iterable[object], place: str) -> None:
    """Refuse answers of several models: nothing would tell them apart."""
    found = sorted({str(model) for model in models if model is not None})
    if len(found) > 1:
        raise FileFormatError(
            f"the answers of one model in {place}", f"those of {', '.join(found)}", "name one model's file"
        )
