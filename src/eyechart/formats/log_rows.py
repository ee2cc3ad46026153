"""Build a table of answers from the samples of a log: what all log readers share.

A log reader is a function `reader(files, options) -> CountedTable`: it turns files of one format into one table of
answers under our column names. What it cannot use it drops and counts (see `rows`); where it cannot go on it raises a
FileFormatError.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from string import ascii_uppercase
from typing import NamedTuple, TypeAlias

import orjson
import polars as pl

from eyechart.base.errors import FileFormatError
from eyechart.data.tables import ANSWERS
from eyechart.formats.answer_files import AnswerFile
from eyechart.formats.columns import EXACT
from eyechart.formats.option_lines import find_last_end
from eyechart.formats.rows import RowCount, dropped, noted

Sample: TypeAlias = dict[str, object]


class LogOptions(NamedTuple):
    """Options of the caller for reading a log."""

    map: dict[str, str] | None = None  # our column = theirs, for tables
    scorer: str | None = None  # whose answer counts, where several extracted one
    unfinished: bool = False  # take the samples of a run that was not completed


class AnswerRow(NamedTuple):
    """One answer as logged; a null draw is one that cannot be read."""

    id: str | None
    answer: str | None
    raw: str | None
    status: str
    draw: int | None = 0
    condition: str | None = None
    scores: list[dict[str, object]] | None = None
    score_kind: str | None = None
    options: list[str] | None = None  # as the model was shown them: what the letters in its answer mean


ROW = {name: ANSWERS.columns[name].dtype for name in AnswerRow._fields if name != "options"}
ROW["options"] = pl.List(pl.String)
OPTIONAL = ("condition", "scores", "score_kind", "options")
OPTION_LINE = re.compile(r"^[ \t]*\(?([A-Z])[).:](?:[ \t]+\S|[ \t]*$)", re.MULTILINE)


def read_samples(files: Sequence[AnswerFile]) -> tuple[list[Sample], list[RowCount]]:
    """Read the records of all files, and count the entries that are not records."""
    entries = [entry for file in files for entry in file.records]
    samples = [entry for entry in entries if isinstance(entry, dict)]
    return samples, [dropped("entry that is not a record", len(entries) - len(samples))]


def tabulate_answers(rows: Iterable[AnswerRow]) -> pl.DataFrame:
    """Build a table of rows, without optional columns that are empty throughout."""
    table = pl.DataFrame(list(rows), schema=ROW, orient="row")
    return table.drop(name for name in OPTIONAL if table[name].is_null().all())


def keep_or_count_draws(table: pl.DataFrame) -> pl.DataFrame:
    """Keep draws that are whole numbers from 0, with 0 for an empty one; number any others."""
    draw = table["draw"]
    numbers = draw.cast(pl.Int64, strict=False)
    if numbers.null_count() > draw.null_count() or (numbers < 0).any():
        return count_draws(table)
    return table.with_columns(numbers.fill_null(0))


def count_draws(table: pl.DataFrame) -> pl.DataFrame:
    """Replace the epochs or annotators of each id under each condition by 0, 1, ..., in their order.

    Numbers are sorted as numbers even where they are written as text; an empty value comes first.
    """
    key = [name for name in ("id", "condition") if name in table.columns]
    draw = table["draw"]
    numbers = draw.cast(pl.Int64, strict=False)
    order = numbers if numbers.null_count() == draw.null_count() else draw.cast(pl.String)
    # A rank leaves nulls out, so whether there is a value is ranked with it.
    ranked = table.with_columns(draw=pl.struct(order.is_not_null().alias("exists"), order.alias("value")))
    return ranked.with_columns(pl.col("draw").rank("dense").over(key).cast(pl.Int64) - 1)


def write_key(value: object) -> str | None:
    """Convert an id to text; None where the value cannot be an id."""
    if isinstance(value, float):
        return str(int(value)) if abs(value) < EXACT and value.is_integer() else None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def write_answer(value: object) -> str | None:
    """Convert an answer to text: tokens joined by spaces, other values as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(text for text in map(write_answer, value) if text is not None)
    return orjson.dumps(value).decode()


def read_whole_number(value: object) -> int | None:
    """Read a whole number of at least 0, perhaps written as text; return None for anything else."""
    text = write_key(value)
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 19 else None


def member(record: object, *names: str) -> object:
    """Follow names into nested records; return None where one is missing."""
    for name in names:
        record = record.get(name) if isinstance(record, dict) else None
    return record


def require_columns(table: pl.DataFrame, names: Iterable[str], origin: str) -> None:
    """Check that a table has the columns of its format."""
    for name in names:
        if name not in table.columns:
            found = f"columns {', '.join(table.columns) or 'none at all'}"
            raise FileFormatError(f"a column {name!r} in {origin}", found, "give another file, or another format")


def check_one_model(models: Iterable[object], origin: str) -> None:
    """Check that all answers come from one model: those of several could not be distinguished."""
    names = sorted({str(model) for model in models if model is not None})
    if len(names) > 1:
        raise FileFormatError(
            f"the answers of one model in {origin}", f"answers of {', '.join(names)}", "give one model's file"
        )


def read_options(prompt: object) -> list[str] | None:
    """List the options of a prompt, after the letters A, B, C, ... at the beginnings of lines; None if there are none.

    The last A counts, since examples with options of their own may come before the question. Options of several lines
    are not read where nothing says where the last one ends.
    """
    if not isinstance(prompt, str):
        return None
    lines = list(OPTION_LINE.finditer(prompt))
    start = max((at for at, line in enumerate(lines) if line[1] == "A"), default=0)
    block = lines[start:]
    if len(block) < 2 or [line[1] for line in block] != list(ascii_uppercase[: len(block)]):
        return None
    options = [prompt[line.end(1) + 1 : after.start()].strip() for line, after in pairwise(block)]
    last = block[-1].end(1) + 1
    end = find_last_end(prompt, last, options)
    options.append("" if end is None else prompt[last:end].strip())
    return options if all(options) else None


def read_text(content: object) -> str | None:
    """Read the text of a chat message: a text, or parts of which some are texts; None if there is none."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        texts = [text for text in parts if isinstance(text, str)]
        return "\n".join(texts) if texts else None
    return content if isinstance(content, str) else None


def list_pictures(content: object) -> list[str]:
    """List the pictures of a chat message: paths, addresses or base64 text, in any of the usual parts."""
    parts = content if isinstance(content, list) else []
    places = (("image_url", "url"), ("image_url",), ("image",), ("location",), ("path",))
    found = (next((one for place in places if isinstance(one := member(part, *place), str)), None) for part in parts)
    return [one for one in found if one is not None]


def settle_ids(
    named: Sequence[str | None], numbers: Sequence[str | None], parts: Sequence[str]
) -> tuple[list[str | None], list[RowCount]]:
    """Take the ids that a log names, or in parts that name none the numbers of the rows, and tell the parts apart."""
    naming = {part for key, part in zip(named, parts, strict=True) if key is not None}
    counted = [part not in naming for part in parts]
    ids = [number if bare else key for key, number, bare in zip(named, numbers, counted, strict=True)]
    told, counts = tell_apart(ids, parts)
    return told, [noted("id is the row's number in its dataset", sum(counted)), *counts]


def tell_apart(ids: Sequence[str | None], parts: Sequence[str]) -> tuple[list[str | None], list[RowCount]]:
    """Put the name of its part before each id if any id occurs in several parts: a count starts again in each."""
    seen = {(key, part) for key, part in zip(ids, parts, strict=True) if key is not None}
    if len({key for key, _ in seen}) == len(seen):
        return list(ids), []
    told = [None if key is None else f"{part}-{key}" for key, part in zip(ids, parts, strict=True)]
    return told, [noted("id begins with the name of its file: the ids of the files overlap", len(told))]
