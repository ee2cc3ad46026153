"""Read what LLaVA's scripts write and take.

Answers are `{"question_id", "prompt", "text", "answer_id", "model_id"}`, one per line. Data are conversations,
`[{"from": "human", "value": ...}, {"from": "gpt", "value": ...}]`; messages with `role` and `content` are read alike.
"""

import re
from collections.abc import Sequence
from itertools import count

import polars as pl

from eyechart.base.errors import SettingError
from eyechart.formats.answer_files import AnswerFile
from eyechart.formats.columns import as_key, as_text
from eyechart.formats.log_rows import LogOptions, check_one_model, require_columns
from eyechart.formats.records import stack
from eyechart.formats.rows import CountedTable, drop_rows, dropped

_PICTURE = "<image>"


def read_llava_log(files: Sequence[AnswerFile], options: LogOptions) -> CountedTable:  # noqa: ARG001 - part of the contract
    """Read the text for each question; later rounds, which repeat a question with its options shifted, are dropped."""
    sources = [file.source for file in files]
    records = stack([file.table for file in files], sources)
    table, origin = records.table, sources[0].name
    require_columns(table, ("question_id", "text"), origin)
    if "model_id" in table.columns:
        check_one_model(as_text(table["model_id"], origin), origin)
    rounds = as_text(table["round_id"], origin) if "round_id" in table.columns else pl.lit(None, pl.String)
    answers = table.select(
        as_key(table["question_id"], origin).alias("id"), as_text(table["text"], origin).alias("answer"), round=rounds
    )
    shifted = pl.col("round").cast(pl.Int64, strict=False) > 0
    first, later = drop_rows(answers, {"later round of a question, its options shifted": shifted})
    return CountedTable(first.drop("round"), [dropped("entry that is not a record", records.strays), *later])


def name_turns(table: pl.DataFrame, origin: str) -> pl.DataFrame:
    """Turn conversations of one question and one answer into these two columns, if the table has no question."""
    name = next((name for name in ("conversations", "messages", "conversation") if name in table.columns), None)
    if name is None or "question" in table.columns or not isinstance(table[name].dtype, pl.List):
        return table
    turns = [_turns(value) for value in table[name].to_list()]
    longest = max((len(turn) for _, turn in turns), default=0)
    if longest > 1 or max((len(turn) for turn, _ in turns), default=0) > 1:
        found = f"conversations of several turns in column {name!r}"
        raise SettingError(f"one question and one answer a row in {origin}", found, "write a row for each question")
    asked = [_name_marks(turn[0]) if turn else None for turn, _ in turns]
    said = [turn[0] if turn else None for _, turn in turns]
    columns = {"question": asked, "answer": said}
    kept = {key: values for key, values in columns.items() if key not in table.columns}
    return table.drop(name).with_columns(pl.Series(key, values, pl.String) for key, values in kept.items())


def _name_marks(text: str) -> str:
    """Leave out the marks of pictures; where several stand among the words, they become `<image 1>`, `<image 2>`."""
    words = re.sub(rf"^(?:\s*{_PICTURE})+\s*|\s*(?:{_PICTURE}\s*)+$", "", text)
    if _PICTURE not in words or text.count(_PICTURE) == 1:
        return text.replace(_PICTURE, "").strip()
    number = count(1)
    return re.sub(_PICTURE, lambda _: f"<image {next(number)}>", text).strip()


def _turns(messages: object) -> tuple[list[str], list[str]]:
    """Return what the human asked and what the other one said."""
    sides: dict[bool, list[str]] = {True: [], False: []}
    for message in messages if isinstance(messages, list) else []:
        speaker = message and (message.get("from") or message.get("role"))
        text = message and (message.get("value") or message.get("content"))
        if isinstance(text, list):
            text = "\n".join(part.get("text") or "" for part in text if isinstance(part, dict)).strip()
        if speaker not in (None, "system") and isinstance(text, str):
            sides[speaker in ("human", "user")].append(text)
    return sides[True], sides[False]
