"""Read answers from any table, from `{id: answer}` and from `{id: [tokens]}`.

A table may be the official VQA results `[{"question_id": 1, "answer": "yes"}]`, GQA's `[{"questionId": ...,
"prediction": ...}]`, or any other whose columns have our names, their usual aliases or the names in a map.
"""

from collections.abc import Sequence

import polars as pl
from polars.exceptions import PolarsError

from eyechart.base.errors import FileFormatError, SettingError
from eyechart.data.tables import ANSWERS, SCORE_KINDS, STATUSES
from eyechart.formats.answer_files import AnswerFile, dataset_error, is_dataset
from eyechart.formats.answers import LogOptions, count_draws, keep_or_count_draws, write_answer
from eyechart.formats.columns import as_key, as_text, as_texts
from eyechart.formats.names import rename
from eyechart.formats.records import Records, stack
from eyechart.formats.rows import CountedTable, dropped, noted

COLUMNS = ("id", "answer", "condition", "ranking", "scores", "draw", "raw", "status", "score_kind", "attention")
ALIASES: dict[str, tuple[str, ...]] = {
    "id": ("question_id", "questionId", "qid", "index"),
    "answer": ("prediction", "pred", "text", "response"),
    "draw": ("epoch", "annotator"),
}
_WORDS = {"status": STATUSES, "score_kind": SCORE_KINDS}


def read_answer_table(files: Sequence[AnswerFile], options: LogOptions) -> CountedTable:
    """Read answers as text: numbers as digits, lists of tokens joined by spaces."""
    sources = [file.source for file in files]
    records = stack([_read_rows(file) for file in files], sources)
    origin = sources[0].name if len(sources) == 1 else f"{sources[0].name} and {len(sources) - 1} more"
    chosen = options.map or {}
    _check_columns(records.table, chosen, origin)
    renamed, counts = rename(records.table, COLUMNS, ALIASES, chosen)
    _require_columns(renamed, records.table, origin)
    table, more = _type_answers(renamed, origin)
    if "draw" in table.columns:
        given = "draw" in chosen or "draw" in records.table.columns
        table = keep_or_count_draws(table) if given else count_draws(table)
    return CountedTable(table, [dropped("entry that is not a record", records.strays), *counts, *more])


def _read_rows(file: AnswerFile) -> Records:
    if file.is_json and not file.is_lines:
        whole = file.value
        if isinstance(whole, dict) and whole and all(map(_is_answer, whole.values())):
            columns = {"id": list(whole), "answer": [write_answer(value) for value in whole.values()]}
            return Records(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))
    return file.table


def _is_answer(value: object) -> bool:
    return not isinstance(value, dict) and not (isinstance(value, list) and any(isinstance(one, dict) for one in value))


def _check_columns(table: pl.DataFrame, chosen: dict[str, str], origin: str) -> None:
    """Raise an error where the reference could be mistaken for the model's answer."""
    if "answer" in chosen:
        return
    names = frozenset(table.columns)
    if is_dataset(names):
        raise dataset_error(origin)
    others = [name for name in ALIASES["answer"] if name in names and name != "text"]
    if "answer" in names and others:
        found = f"answer and {' and '.join(others)}, of which one may be the reference"
        raise SettingError(
            f"one column with the model's answers in {origin}", found, f"say which with map, such as answer={others[0]}"
        )


def _require_columns(table: pl.DataFrame, before: pl.DataFrame, origin: str) -> None:
    for name in ("id", "answer"):
        if name not in table.columns:
            found = f"columns {', '.join(before.columns) or 'none at all'}"
            advice = f"say which it is with map, as in predictions:FILE,{name}=theirs"
            raise SettingError(f"a column {name!r} in {origin}", found, advice)


def _type_answers(table: pl.DataFrame, origin: str) -> CountedTable:
    answers = table["answer"]
    if answers.dtype.is_nested():
        answers = as_texts(answers, origin).list.join(" ", ignore_nulls=True)
    columns = {"id": as_key(table["id"], origin), "answer": as_text(answers, origin)}
    for name in ("condition", "raw", "draw"):
        if name in table.columns:
            columns[name] = as_text(table[name], origin)
    if "ranking" in table.columns:
        columns["ranking"] = as_texts(table["ranking"], origin)
    if "scores" in table.columns:
        columns["scores"] = _type_scores(table["scores"], origin)
    if "attention" in table.columns:
        columns["attention"] = _type_attention(table["attention"], origin)
    counts = []
    for name, known in _WORDS.items():
        if name in table.columns:
            words = table[name]
            if words.dtype == pl.String and words.drop_nulls().is_in(known).all():
                columns[name] = words
            else:
                counts.append(noted(f"column {name!r} holds values other than ours: left out", table.height))
    return CountedTable(pl.DataFrame(columns), counts)


def _type_scores(column: pl.Series, origin: str) -> pl.Series:
    dtype = column.dtype
    names = dtype.inner.to_schema() if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct) else {}
    fields = [pl.element().struct.field(name) for name in ("answer", "score")]
    try:
        return column.list.eval(pl.struct(fields)).cast(ANSWERS.columns["scores"].dtype)
    except PolarsError:
        found = f"{dtype}" if not names else f"records of {', '.join(names)}"
        advice = "write each as a list of {answer, score}"
        raise FileFormatError(f"scored answers in column 'scores' of {origin}", found, advice) from None


def _type_attention(column: pl.Series, origin: str) -> pl.Series:
    try:
        return column.cast(ANSWERS.columns["attention"].dtype)
    except PolarsError:
        advice = "write each as a list with one number for each object, or leave the column out"
        raise FileFormatError(f"numbers in column 'attention' of {origin}", f"{column.dtype}", advice) from None
