"""Read answers from any table, from `{id: answer}` and from `{id: [tokens]}`.

Known are the official VQA results `[{"question_id": 1, "answer": "yes"}]`, GQA's `[{"questionId": ...,
"prediction": ...}]`, and any table whose columns go by our names, by the usual other ones or where a map says.
"""

from collections.abc import Sequence

import polars as pl
from polars.exceptions import PolarsError

from eyechart.errors import FileFormatError, SettingError
from eyechart.readers.columns import as_key, as_text, as_texts
from eyechart.readers.counting import Sifted, dropped, noted
from eyechart.readers.logs.content import Content
from eyechart.readers.logs.draws import count_draws, keep_or_count_draws
from eyechart.readers.logs.log import Log, Wanted, write_answer
from eyechart.readers.logs.mistakes import dataset_error, is_dataset
from eyechart.readers.names import rename
from eyechart.readers.records import Records, stack
from eyechart.tables import ANSWERS, SCORE_KINDS, STATUSES

COLUMNS = ("id", "answer", "condition", "ranking", "scores", "draw", "raw", "status", "score_kind", "attention")
ALIASES: dict[str, tuple[str, ...]] = {
    "id": ("question_id", "questionId", "qid", "index"),
    "answer": ("prediction", "pred", "text", "response"),
    "draw": ("epoch", "annotator"),
}
_WORDS = {"status": STATUSES, "score_kind": SCORE_KINDS}


def read_answer_table(contents: Sequence[Content], wanted: Wanted) -> Log:
    """Read answers as text: numbers written out, lists of tokens joined by spaces."""
    sources = [content.source for content in contents]
    records = stack([_read_rows(content) for content in contents], sources)
    place = sources[0].name if len(sources) == 1 else f"{sources[0].name} and {len(sources) - 1} more"
    chosen = wanted.map or {}
    _check_columns(records.table, chosen, place)
    renamed = rename(records.table, COLUMNS, ALIASES, chosen)
    _require(renamed.table, records.table, place)
    table, notes = _type_answers(renamed.table, place)
    if "draw" in table.columns:
        given = "draw" in chosen or "draw" in records.table.columns
        table = keep_or_count_draws(table) if given else count_draws(table)
    return Log(table, [dropped("entry that is no record", records.strays), *renamed.notes, *notes])


def _read_rows(content: Content) -> Records:
    if content.is_json and not content.is_lines:
        whole = content.value
        if isinstance(whole, dict) and whole and all(map(_is_answer, whole.values())):
            columns = {"id": list(whole), "answer": [write_answer(value) for value in whole.values()]}
            return Records(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))
    return content.table


def _is_answer(value: object) -> bool:
    return not isinstance(value, dict) and not (isinstance(value, list) and any(isinstance(one, dict) for one in value))


def _check_columns(table: pl.DataFrame, chosen: dict[str, str], place: str) -> None:
    """Refuse to guess where the reference may be taken for what the model said."""
    if "answer" in chosen:
        return
    names = frozenset(table.columns)
    if is_dataset(names):
        raise dataset_error(place)
    said = [name for name in ALIASES["answer"] if name in names and name != "text"]
    if "answer" in names and said:
        found = f"answer and {' and '.join(said)}, of which one may be the reference"
        raise SettingError(
            f"one column with the model's answers in {place}", found, f"say which with map, such as answer={said[0]}"
        )


def _require(table: pl.DataFrame, before: pl.DataFrame, place: str) -> None:
    for name in ("id", "answer"):
        if name not in table.columns:
            found = f"columns {', '.join(before.columns) or 'none at all'}"
            advice = f"say which it is with map, as predictions:FILE,{name}=theirs"
            raise SettingError(f"a column {name!r} in {place}", found, advice)


def _type_answers(table: pl.DataFrame, place: str) -> Sifted:
    answers = table["answer"]
    if answers.dtype.is_nested():
        answers = as_texts(answers, place).list.join(" ", ignore_nulls=True)
    columns = {"id": as_key(table["id"], place), "answer": as_text(answers, place)}
    for name in ("condition", "raw", "draw"):
        if name in table.columns:
            columns[name] = as_text(table[name], place)
    if "ranking" in table.columns:
        columns["ranking"] = as_texts(table["ranking"], place)
    if "scores" in table.columns:
        columns["scores"] = _type_scores(table["scores"], place)
    if "attention" in table.columns:
        columns["attention"] = _type_attention(table["attention"], place)
    notes = []
    for name, known in _WORDS.items():
        if name in table.columns:
            words = table[name]
            if words.dtype == pl.String and words.drop_nulls().is_in(known).all():
                columns[name] = words
            else:
                notes.append(noted(f"column {name!r} holds other words than ours: left out", table.height))
    return Sifted(pl.DataFrame(columns), notes)


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


def _type_attention(column: pl.Series, place: str) -> pl.Series:
    try:
        return column.cast(ANSWERS.columns["attention"].dtype)
    except PolarsError:
        advice = "write each as a list with one number for each object, or leave the column out"
        raise FileFormatError(f"numbers in column 'attention' of {place}", f"{column.dtype}", advice) from None
