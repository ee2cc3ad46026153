"""Read a model's answers from a file, whoever wrote it.

Known are the official VQA results `[{"question_id": 1, "answer": "yes"}]`, GQA's `[{"questionId": ...,
"prediction": ...}]`, `{id: answer}`, `{id: [tokens]}`, and any table whose columns go by our names, by the usual other
ones or where a map says. Rows in = rows read + rows dropped; which ids a dataset misses is for the caller to say.
"""

from pathlib import Path
from typing import NamedTuple

import orjson
import polars as pl
from polars.exceptions import PolarsError

from eyechart.errors import FileFormatError, SettingError
from eyechart.readers.columns import as_key, as_text, as_texts
from eyechart.readers.counting import Sifted, count_table, dropped, noted, read_rows, sift
from eyechart.readers.names import rename
from eyechart.readers.records import TABLE_FORMATS, Records, entries_of, read_records, stack, tabulate
from eyechart.readers.source import Source, decode_json, find_sources
from eyechart.tables import ANSWERS

COLUMNS = ("id", "answer", "condition", "ranking", "scores")
ALIASES: dict[str, tuple[str, ...]] = {
    "id": ("question_id", "questionId", "qid", "index"),
    "answer": ("prediction", "pred", "text", "response"),
}


class PredictionFile(NamedTuple):
    """Answers by id (and condition, where the file names one), and what became of every row."""

    answers: pl.DataFrame
    counts: pl.DataFrame


def read_predictions(path: Path, map: dict[str, str] | None = None) -> PredictionFile:  # noqa: A002 - as in read_table
    """Read answers as text: numbers written out, lists of tokens joined by spaces."""
    sources = find_sources(path, TABLE_FORMATS)
    records = stack([_read_answers(source) for source in sources], sources)
    renamed = rename(records.table, COLUMNS, ALIASES, map)
    for name in ("id", "answer"):
        if name not in renamed.table.columns:
            found = f"columns {', '.join(records.table.columns) or 'none at all'}"
            raise SettingError(
                f"a column {name!r} in {path}", found, f"say which it is with map, such as {name}=theirs"
            )
    typed = _type_answers(renamed.table, str(path))
    sound, lost = sift(typed, {"answer without an id": pl.col("id").is_null()})
    once, again = _keep_first(sound)
    strays = dropped("entry that is no record", records.strays)
    silent = noted("id with no answer", once["answer"].null_count())
    return PredictionFile(once, count_table([read_rows(once.height), strays, *lost, *again, silent, *renamed.notes]))


def _read_answers(source: Source) -> Records:
    if source.suffix != ".json":
        return read_records(source)
    content = decode_json(source, source.read())
    if isinstance(content, dict) and content and all(map(_is_answer, content.values())):
        columns = {"id": list(content), "answer": [_write_answer(value) for value in content.values()]}
        return Records(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))
    return tabulate(entries_of(source, content))


def _is_answer(value: object) -> bool:
    return not isinstance(value, dict) and not (isinstance(value, list) and any(isinstance(one, dict) for one in value))


def _write_answer(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(text for text in map(_write_answer, value) if text is not None)
    return orjson.dumps(value).decode()


def _type_answers(table: pl.DataFrame, place: str) -> pl.DataFrame:
    answers = table["answer"]
    if answers.dtype.is_nested():
        answers = as_texts(answers, place).list.join(" ", ignore_nulls=True)
    columns = {"id": as_key(table["id"], place), "answer": as_text(answers, place)}
    if "condition" in table.columns:
        columns["condition"] = as_text(table["condition"], place)
    if "ranking" in table.columns:
        columns["ranking"] = as_texts(table["ranking"], place)
    if "scores" in table.columns:
        columns["scores"] = _type_scores(table["scores"], place)
    return pl.DataFrame(columns)


def _type_scores(column: pl.Series, place: str) -> pl.Series:
    dtype = column.dtype
    names = dtype.inner.to_schema() if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct) else {}
    fields = [pl.element().struct.field(name) for name in ("answer", "score")]
    try:
        return column.list.eval(pl.struct(fields)).cast(ANSWERS.columns["scores"].dtype)
    except PolarsError:
        found = f"{dtype}" if not names else f"records of {', '.join(names)}"
        advice = "write each as a list of {answer, score}"
        raise FileFormatError(f"scored answers in column 'scores' of {place}", found, advice) from None


def _keep_first(table: pl.DataFrame) -> Sifted:
    """Keep the first answer to each id under each condition, and say whether the others agree with it."""
    key = [name for name in ("id", "condition") if name in table.columns]
    again = ~pl.struct(key).is_first_distinct()
    same = pl.col("answer").eq_missing(pl.col("answer").first().over(key))
    return sift(table, {"id answered before, same answer": again & same, "id answered before, other answer": again})
