"""Read the answers of LLaVA's scripts, `{"question_id", "prompt", "text", "answer_id", "model_id"}`, one per line."""

from collections.abc import Sequence

import polars as pl

from eyechart.formats.answer_files import AnswerFile
from eyechart.formats.columns import as_key, as_text
from eyechart.formats.log_rows import LogOptions, check_one_model, require_columns
from eyechart.formats.records import stack
from eyechart.formats.rows import CountedTable, drop_rows, dropped


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
