"""Read the answers of LLaVA's scripts, `{"question_id", "prompt", "text", "answer_id", "model_id"}`, a line each."""

from collections.abc import Sequence

import polars as pl

from eyechart.readers.columns import as_key, as_text
from eyechart.readers.counting import dropped, sift
from eyechart.readers.logs.content import Content
from eyechart.readers.logs.log import Log, Wanted, check_one_model, require_columns
from eyechart.readers.records import stack


def read_llava(contents: Sequence[Content], wanted: Wanted) -> Log:  # noqa: ARG001 - part of the contract
    """Read each question's text; the further rounds of a question asked with its options shifted are dropped."""
    sources = [content.source for content in contents]
    records = stack([content.table for content in contents], sources)
    table, place = records.table, sources[0].name
    require_columns(table, ("question_id", "text"), place)
    if "model_id" in table.columns:
        check_one_model(as_text(table["model_id"], place), place)
    rounds = as_text(table["round_id"], place) if "round_id" in table.columns else pl.lit(None, pl.String)
    answers = table.select(
        as_key(table["question_id"], place).alias("id"), as_text(table["text"], place).alias("answer"), round=rounds
    )
    shifted = pl.col("round").cast(pl.Int64, strict=False) > 0
    first, later = sift(answers, {"further round of a question, its options shifted": shifted})
    return Log(first.drop("round"), [dropped("entry that is no record", records.strays), *later])
