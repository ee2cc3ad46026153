"""Read the files of VisDial: rounds of dialogs, with the texts that their numbers stand for."""

import re
from typing import NamedTuple, TypeAlias

import polars as pl
from polars.exceptions import PanicException, PolarsError

from eyechart.readers.source import Source, decode_json
from eyechart.readers.split_names import shorten_split, split_name

_Schema: TypeAlias = dict[str, pl.DataType | type[pl.DataType]]

_ROUND: _Schema = {
    "question": pl.Int64,
    "answer": pl.Int64,
    "answer_options": pl.List(pl.Int64),
    "gt_index": pl.Int64,
}
_DIALOG: _Schema = {"image_id": pl.String, "caption": pl.String, "dialog": pl.List(pl.Struct(_ROUND))}
_DATA: _Schema = {
    "questions": pl.List(pl.String),
    "answers": pl.List(pl.String),
    "dialogs": pl.List(pl.Struct(_DIALOG)),
}
_FILE: _Schema = {"split": pl.String, "data": pl.Struct(_DATA)}
_MOST = 2**31  # no list of texts is longer


class Part(NamedTuple):
    """The rounds of a file, and how many of its dialogs had none."""

    rounds: pl.DataFrame
    empty: int


def read_part(source: Source) -> Part | None:
    """Read the dialogs of a file; one of another form, such as dense annotations, holds none."""
    data = source.read()
    try:
        file = pl.read_json(data, schema=_FILE)
    except (PolarsError, PanicException):
        file = pl.DataFrame([_clean(decode_json(source, data))], schema=_FILE)
    lists = file["data"].struct.unnest()
    if lists.height != 1 or lists["dialogs"].null_count():
        return None
    questions, answers, entries = (lists[name].explode(empty_as_null=False, keep_nulls=False) for name in _DATA)
    dialogs = entries.struct.unnest().with_row_index("number")
    rounds = dialogs.explode("dialog", empty_as_null=False, keep_nulls=False)
    empty = dialogs.height - rounds["number"].n_unique()
    spelt = _spell(rounds, questions, answers).with_columns(
        split=pl.lit(_split(source.name, file["split"][0]), pl.String)
    )
    return Part(_recall(spelt).drop("number"), empty)


def _spell(rounds: pl.DataFrame, questions: pl.Series, answers: pl.Series) -> pl.DataFrame:
    """Put texts for numbers; a number that no text has becomes null."""
    field = pl.col("dialog").struct.field
    return rounds.select(
        "number",
        "caption",
        whole=pl.col("dialog").is_not_null(),
        image="image_id",
        round=pl.int_range(pl.len()).over("number") + 1,
        question=_text_at(field("question"), questions),
        answer=_text_at(field("answer"), answers),
        choices=field("answer_options").list.eval(_text_at(pl.element(), answers)),
        right=field("gt_index"),
    )


def _text_at(index: pl.Expr, texts: pl.Series) -> pl.Expr:
    if texts.is_empty():
        return pl.when(index.is_null()).then(pl.lit(None, pl.String))
    # Looking numbers up like this needs far less memory in lists than gathering them.
    return index.replace_strict(pl.int_range(len(texts), eager=True), texts, default=None, return_dtype=pl.String)


def _recall(rounds: pl.DataFrame) -> pl.DataFrame:
    """Write down for each round what was said in those before it."""
    said = pl.any_horizontal(pl.col("question", "answer").is_not_null())
    asked, replied = pl.lit("Q: ") + pl.col("question"), pl.lit("A: ") + pl.col("answer")
    line = pl.when(said).then(pl.concat_str(asked, replied, separator=" ", ignore_nulls=True))
    lines = line.over("number", mapping_strategy="join")
    earlier = lines.list.head(pl.col("round") - 1).list.drop_nulls()
    return rounds.with_columns(history=earlier.list.join("\n"))


def _split(name: str, own: str | None) -> str | None:
    return shorten_split(re.sub(r"20\d\d$", "", own.lower())) if own else split_name(name)


def _clean(content: object) -> dict[str, object]:
    """Keep of a decoded file what has the right form, so that one bad value does not cost the others."""
    file = _record(content)
    data = _record(file.get("data"))
    dialogs = data.get("dialogs")
    return {
        "split": _text(file.get("split")),
        "data": {
            "questions": _texts(data.get("questions")),
            "answers": _texts(data.get("answers")),
            "dialogs": [_dialog(one) for one in dialogs] if isinstance(dialogs, list) else None,
        },
    }


def _record(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _dialog(value: object) -> dict[str, object] | None:
    if not isinstance(value, dict):
        return None
    rounds = value.get("dialog")
    return {
        "image_id": _text(value.get("image_id")),
        "caption": _text(value.get("caption")),
        "dialog": [_round(one) for one in rounds] if isinstance(rounds, list) else None,
    }


def _round(value: object) -> dict[str, object] | None:
    if not isinstance(value, dict):
        return None
    options = value.get("answer_options")
    return {
        "question": _index(value.get("question")),
        "answer": _index(value.get("answer")),
        "answer_options": [_index(one) for one in options] if isinstance(options, list) else None,
        "gt_index": _index(value.get("gt_index")),
    }


def _texts(value: object) -> list[str | None]:
    return [_text(one) for one in value] if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def _index(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < _MOST else None
