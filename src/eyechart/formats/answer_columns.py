"""Convert the columns of a table of answers, as people write them, to the types of ours."""

import polars as pl
from polars.exceptions import PolarsError

from eyechart.base.errors import FileFormatError, SettingError
from eyechart.data.tables import ANSWERS, SCORE_KINDS, STATUSES
from eyechart.formats.columns import as_key, as_text, as_texts
from eyechart.formats.rows import CountedTable, noted

_WORDS = {"status": STATUSES, "score_kind": SCORE_KINDS}


def _as_answers(column: pl.Series, origin: str) -> pl.Series:
    """Convert answers to text: tokens joined by spaces; of objects only a named field."""
    if isinstance(column.dtype, pl.Struct):
        fields = column.struct.fields
        found = f"objects with the fields {', '.join(fields)}"
        advice = f"say which field with map, as in answer={column.name}.{fields[0]}"
        raise SettingError(f"a text as each answer in {origin}", found, advice)
    if column.dtype.is_nested():
        return as_texts(column, origin).list.join(" ", ignore_nulls=True)
    return as_text(column, origin)


def type_answers(table: pl.DataFrame, origin: str) -> CountedTable:
    """Convert the columns of a table of answers that we know; others are left out."""
    columns = {"id": as_key(table["id"], origin), "answer": _as_answers(table["answer"], origin)}
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
