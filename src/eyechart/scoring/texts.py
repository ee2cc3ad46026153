"""Equality with one reference: as it stands, in its normal form, or as a number."""

import polars as pl

from eyechart.text import clean_answer, normalize_answer


def exact(table: pl.DataFrame) -> pl.Series:
    """Score 1 for the same text."""
    same = (pl.col("given") == pl.col("answer")).fill_null(value=False)
    return table.select(pl.when(pl.col("answer").is_not_null()).then(same.cast(pl.Float64))).to_series()


def exact_normalized(table: pl.DataFrame) -> pl.Series:
    """Score 1 for the same normal form."""
    forms = forms_of(pl.concat([table["given"], table["answer"]]))["normal"]
    given, answer = forms.head(len(table)).alias("given"), forms.tail(len(table)).alias("answer")
    return exact(pl.DataFrame([given, answer]))


def forms_of(texts: pl.Series) -> pl.DataFrame:
    """Give the clean and the normal form of each text; each distinct text is worked on once, for answers repeat."""
    texts = texts.alias("text")
    distinct = texts.unique().to_frame().with_columns(clean=clean_answer(pl.col("text")))
    distinct = distinct.with_columns(normal=normalize_answer(pl.col("clean")))
    return texts.to_frame().join(distinct, on="text", how="left", validate="m:1", maintain_order="left")


def one_minus_mape(table: pl.DataFrame) -> pl.Series:
    """Score 1 - |given - answer| / |answer|; null where either is no number, or the answer is 0."""
    given, answer = _number("given"), _number("answer")
    return table.select(pl.when(answer != 0).then(1 - (given - answer).abs() / answer.abs())).to_series()


def _number(column: str) -> pl.Expr:
    number = clean_answer(pl.col(column)).cast(pl.Float64, strict=False)
    return pl.when(number.is_finite()).then(number)
