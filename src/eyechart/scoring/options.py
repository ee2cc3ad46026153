"""Score options. The target is the text of `answer`, which must be one of `choices`.

A given answer names an option by its text, letter or index, and is right when that option's text is the target's, so a
duplicate of the target counts.
"""

from collections.abc import Callable
from functools import partial

import polars as pl

from eyechart.base.text import clean_answer

_LETTERS = {chr(ord("A") + index): index for index in range(26)}
_LETTER = r"^(?:\(([A-Za-z])\)|([A-Za-z])[.):]?)$"


def compare(option: pl.Expr) -> Callable[[pl.DataFrame], pl.Series]:
    """Score whether the named option is the target."""
    return partial(_is_target, option=option)


def _is_target(table: pl.DataFrame, option: pl.Expr) -> pl.Series:
    answer, choices = pl.col("answer"), pl.col("choices")
    texts = clean_answer(pl.col("answer", "given"))
    clean = table.with_columns(texts, choices.list.eval(clean_answer(pl.element())))
    has_target = answer.is_not_null() & choices.list.contains(answer)
    right = (option == answer).fill_null(value=False)
    return clean.select(pl.when(has_target).then(right.cast(pl.Float64))).to_series()


def names_option(table: pl.DataFrame, how: str = "choice") -> pl.Series:
    """Return which answers name one of their example's options, as the score does or else by text or letter."""
    given = clean_answer(pl.col("given"))
    clean = table.select(given, pl.col("choices").list.eval(clean_answer(pl.element())))
    ways = {"choice-text": by_text, "choice-letter": by_letter, "choice-index": by_index}
    return clean.select(ways.get(how, by_text_or_letter)().is_not_null()).to_series()


def by_text() -> pl.Expr:
    """Find the option whose text was given, null if there is none; the other functions do the same."""
    return pl.when(pl.col("choices").list.contains(pl.col("given"))).then(pl.col("given"))


def by_letter() -> pl.Expr:
    """Find the option whose letter was given: A, a, A., A) or (A)."""
    given = pl.col("given")
    letter = pl.coalesce(given.str.extract(_LETTER, 1), given.str.extract(_LETTER, 2)).str.to_uppercase()
    return _option_at(letter.replace_strict(_LETTERS, default=None, return_dtype=pl.Int64))


def by_text_or_letter() -> pl.Expr:
    """Find the option by text, else by letter: if "A" is the text of an option, it is not the letter of the first."""
    return pl.coalesce(by_text(), by_letter())


def by_index() -> pl.Expr:
    """Find the option whose number, from 0, was given."""
    return _option_at(pl.col("given").str.extract(r"^([0-9]{1,9})$").cast(pl.Int64))


def _option_at(index: pl.Expr) -> pl.Expr:
    return pl.col("choices").list.get(index, null_on_oob=True)
