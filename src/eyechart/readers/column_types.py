"""Bring every column of an examples table that we know into its type."""

from collections.abc import Callable

import polars as pl
from polars.exceptions import PolarsError

from eyechart.errors import FileFormatError
from eyechart.readers.columns import as_key, as_text, as_texts
from eyechart.readers.counting import Count, Sifted, noted
from eyechart.readers.evidence import as_evidence
from eyechart.readers.objects import Objects, as_objects
from eyechart.tables import EVIDENCE

_PLAIN: dict[str, Callable[[pl.Series, str], pl.Series]] = {
    **dict.fromkeys(("id", "image"), as_key),
    **dict.fromkeys(("question", "answer", "question_type", "answer_type", "split", "path"), as_text),
    **dict.fromkeys(("answers", "choices", "relevance"), as_texts),
}
_SEEN: dict[str, Callable[[pl.Series, str], Objects]] = {"objects": as_objects, "evidence": as_evidence}


def type_columns(table: pl.DataFrame, place: str) -> Sifted:
    """Type what can be typed; a list that cannot be read becomes null and is noted."""
    counts: list[Count] = []
    for name in (name for name in _PLAIN if name in table.columns):
        typed = _PLAIN[name](table[name], place)
        lost = typed.null_count() - table[name].null_count()
        counts.append(noted(f"value of {name!r} that cannot be read, left out", lost))
        table = table.with_columns(typed.alias(name))
    for name in (name for name in _SEEN if name in table.columns):
        found = _SEEN[name](table[name], place)
        counts += found.notes
        table = table.with_columns(found.column.alias(name))
    return Sifted(_finish(table, place), counts)


def _finish(table: pl.DataFrame, place: str) -> pl.DataFrame:
    if "evidence" in table.columns:
        pair = pl.struct(pl.element().struct.field("label"), pl.element().struct.field("box"))
        table = table.with_columns(pl.col("evidence").list.eval(pair).cast(pl.List(EVIDENCE)))
    if "relevance" in table.columns:
        try:
            table = table.with_columns(pl.col("relevance").cast(pl.List(pl.Float64)))
        except PolarsError:
            found = "something else in some row"
            raise FileFormatError(
                f"numbers in column 'relevance' of {place}", found, "write lists of numbers"
            ) from None
    return table
