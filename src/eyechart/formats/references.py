"""Bring references to one form: one text, and the answers of several people with their weights if there are any.

Soft labels come as a mapping (`{"racing": 1, "riding": 0.667}`), as pairs, as records with a score or as two lists. An
object with other fields is never taken apart by guess: the reader asks for the field. The text is the heaviest or most
frequent of several answers, not the first.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
import polars as pl

from eyechart.base.errors import SettingError
from eyechart.formats.columns import majority
from eyechart.formats.options import literal
from eyechart.formats.rows import CountedTable, noted
from eyechart.language.questions import YES_NO_QUESTION

ENOUGH = 20  # rows that show that a reference is the first of several answers, and not by chance
NUMBER = "number"  # the answer type of references that are measured quantities
_TEXT_FIELDS = ("answer", "answers", "label", "labels", "text", "texts", "ids", "value", "values")
_WEIGHT_FIELDS = ("score", "scores", "weight", "weights", "confidence", "confidences", "prob", "probs")
_LISTED = r"^\s*(?:\[\s*['\"\[{]|\{)"  # texts, pairs or records; a list of numbers is an answer like any other
_WEIGHT = r"\d+(?:\.\d+)?(?:[eE]-?\d+)?"
_NUMBER = r"^\s*-?\d+(?:\.\d+)?\s*$"


class Votes(NamedTuple):
    """The answers to one question, and their weights where these are given."""

    texts: list[str]
    weights: list[float] | None = None


def settle_references(table: pl.DataFrame, origin: str) -> pl.DataFrame:
    """Turn `answer` and `answers` into a text, a list of texts and, for soft labels, a list of weights."""
    for name in ("answers", "answer"):
        if name in table.columns:
            votes = _read_votes(table[name], origin)
            table = table if votes is None else _place_votes(table, name, votes)
    return table


def _place_votes(table: pl.DataFrame, name: str, votes: list[Votes | None]) -> pl.DataFrame:
    texts = pl.Series("answers", [None if one is None else one.texts for one in votes], pl.List(pl.String))
    weights = pl.Series("weights", [None if one is None else one.weights for one in votes], pl.List(pl.Float64))
    best = [None if one is None or not one.weights else one.texts[_heaviest(one.weights)] for one in votes]
    heaviest = pl.Series(best, dtype=pl.String)
    columns = {} if name == "answer" and "answers" in table.columns else {"answers": texts}
    if weights.list.len().max() and columns:
        columns["weights"] = weights
    if name == "answer" or "answer" not in table.columns:
        columns["answer"] = heaviest.zip_with(heaviest.is_not_null(), majority(texts)).alias("answer")
    return table.with_columns(**columns)


def _heaviest(weights: Sequence[float]) -> int:
    return max(range(len(weights)), key=weights.__getitem__)


def _read_votes(column: pl.Series, origin: str) -> list[Votes | None] | None:
    """Read the answers of every row; None if the column holds plain values."""
    if column.dtype == pl.String:
        listed = column.str.contains(_LISTED if column.name == "answer" else r"^\s*[\[{]").fill_null(value=False)
        values = [literal(text) if is_list else text for text, is_list in zip(column, listed, strict=True)]
        if not listed.any() or any(value is None for value, is_list in zip(values, listed, strict=True) if is_list):
            return None
    elif column.dtype.is_nested():
        values = column.to_list()
    else:
        return None
    _check_objects([value for value in values if isinstance(value, dict)], column.name, origin)
    return [_votes(value, column.name, origin) for value in values]


def _votes(value: Any, name: str, origin: str) -> Votes | None:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return _votes_of_object({key: item for key, item in value.items() if item is not None}, name, origin)
    if isinstance(value, list | tuple):
        return _votes_of_list(list(value), name, origin)
    return None if value is None else Votes([_text(value)])


def _votes_of_object(fields: dict[str, Any], name: str, origin: str) -> Votes | None:
    texts = next((fields[key] for key in _TEXT_FIELDS if isinstance(fields.get(key), list)), None)
    if texts is not None:
        weights = next((fields[key] for key in _WEIGHT_FIELDS if isinstance(fields.get(key), list)), None)
        usable = weights is not None and len(weights) == len(texts) and all(map(_is_number, weights))
        return Votes([_text(text) for text in texts], [*map(float, weights)] if usable and weights else None)
    if len(fields) == 1 and not _is_number(*fields.values()):
        return _votes(next(iter(fields.values())), name, origin)
    return Votes(list(fields), [*map(float, fields.values())]) if fields else None


def _votes_of_list(items: list[Any], name: str, origin: str) -> Votes | None:
    items = [item for item in items if item is not None]
    if items and all(isinstance(item, dict) for item in items):
        keys = [next((key for key in _TEXT_FIELDS if key in item), None) for item in items]
        if None in keys:
            raise _ask_for_field(items[0], name, origin)
        weights = [next((item[key] for key in _WEIGHT_FIELDS if key in item), None) for item in items]
        texts = [_text(item[key]) for item, key in zip(items, keys, strict=True) if item[key] is not None]
        return Votes(texts, [*map(float, weights)] if all(map(_is_number, weights)) else None)  # type: ignore[arg-type]
    # Tables write pairs of a text and a number as two texts.
    if items and all(
        isinstance(item, list) and len(item) == 2 and re.fullmatch(_WEIGHT, str(item[1])) for item in items
    ):
        return Votes([_text(text) for text, _ in items], [float(weight) for _, weight in items])
    return Votes([_text(item) for item in items if not isinstance(item, dict | list)])


def _check_objects(objects: list[dict[str, Any]], name: str, origin: str) -> None:
    """Raise an error for objects that are no soft labels and of which more than one field could be the answer."""
    filled = [{key: item for key, item in one.items() if item is not None} for one in objects]
    for fields in filled:
        lists = any(isinstance(fields.get(key), list) for key in _TEXT_FIELDS)
        if not lists and len(fields) > 1 and not all(map(_is_number, fields.values())):
            raise _ask_for_field(fields, name, origin)
    numeric = [fields for fields in filled if fields and all(map(_is_number, fields.values()))]
    alike = len({tuple(sorted(fields)) for fields in numeric}) == 1
    if alike and (len(numeric) > 1 or not all(0 <= value <= 1 for value in numeric[0].values())):
        raise _ask_for_field(numeric[0], name, origin)


def _ask_for_field(fields: dict[str, Any], name: str, origin: str) -> SettingError:
    shown = ", ".join(list(fields)[:5])
    advice = f"say which field with map, such as {name}={name}.{next(iter(fields))}"
    return SettingError(f"a text in column {name!r} of {origin}", f"objects with the fields {shown}", advice)


def _is_pair(item: object) -> bool:
    return isinstance(item, list) and len(item) == 2 and re.fullmatch(_WEIGHT, str(item[1])) is not None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else str(value) if _is_number(value) else orjson.dumps(value).decode()


def takes_first(table: pl.DataFrame) -> bool:
    """Return whether the reference is the first of several answers in all rows."""
    if "answers" not in table.columns or "weights" in table.columns:
        return False
    first = table["answers"].list.drop_nulls().list.first()
    both = first.is_not_null() & table["answer"].is_not_null()
    return int(both.sum()) >= ENOUGH and bool((first == table["answer"]).filter(both).all())


def vote_again(table: pl.DataFrame) -> CountedTable:
    """Replace references that are nothing but the first of several answers by the most frequent ones."""
    voted = majority(table["answers"])
    votes = table.select("answer", "answers", voted=voted).with_row_index("row")
    each = votes.explode("answers", empty_as_null=True, keep_nulls=True).group_by("row", maintain_order=True)
    counts = each.agg((pl.col("answers") == pl.col(name)).sum().alias(name) for name in ("answer", "voted"))
    wrong = table["answer"].is_not_null() & (counts["answer"] < counts["voted"])
    note = noted("reference that was the first answer in all rows, now the most frequent one", int(wrong.sum()))
    return CountedTable(table.with_columns(voted.zip_with(wrong, table["answer"]).alias("answer")), [note])


def says_one_and_zero(table: pl.DataFrame) -> bool:
    """Return whether all open answers are 1 or 0 and most of their questions ask for yes or no."""
    answered = table.filter(pl.col("answer").is_not_null())
    if "choices" in table.columns or not answered.height or not answered["answer"].is_in(["0", "1"]).all():
        return False
    return 2 * int(answered["question"].str.contains(YES_NO_QUESTION).sum()) >= answered.height


def name_yes_no(table: pl.DataFrame) -> CountedTable:
    """Read 1 as yes and 0 as no."""
    named = table.with_columns(pl.col("answer").replace({"1": "yes", "0": "no"}))
    return CountedTable(
        named, [noted("answer 1 or 0 to a yes/no question, read as yes or no", table["answer"].count())]
    )


def holds_measurements(table: pl.DataFrame) -> bool:
    """Return whether all open answers are numbers, some with a fraction."""
    if "answer_type" in table.columns or "answers" in table.columns:
        return False
    answers = table.filter(_is_open(table))["answer"]
    whole = answers.str.contains(_NUMBER).all()
    return len(answers) > 0 and whole and bool(answers.str.contains(".", literal=True).any())


def declare_numbers(table: pl.DataFrame) -> CountedTable:
    """Give open answers the type `number`, for the score of that name."""
    typed = table.with_columns(answer_type=pl.when(_is_open(table)).then(pl.lit(NUMBER)))
    return CountedTable(typed, [noted("answer that is a measured number", typed["answer_type"].count())])


def _is_open(table: pl.DataFrame) -> pl.Expr:
    without_options = pl.col("choices").is_null() if "choices" in table.columns else pl.lit(value=True)
    return without_options & pl.col("answer").is_not_null()
