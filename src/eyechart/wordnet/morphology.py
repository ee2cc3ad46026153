"""Base forms of words, as NLTK finds them: the word itself, and irregular forms from a list, else suffix rules."""

import polars as pl

NOUN_SUFFIXES = (
    ("s", ""),
    ("ses", "s"),
    ("ves", "f"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
)
ADJECTIVE_SUFFIXES = (("er", ""), ("est", ""), ("er", "e"), ("est", "e"))
Suffixes = tuple[tuple[str, str], ...]


def base_forms(words: pl.Series, suffixes: Suffixes, exceptions: pl.DataFrame) -> pl.DataFrame:
    """List what each distinct lower-case word may be a form of, sensible or not; columns word, base.

    `exceptions` has the columns word and base.
    """
    table = words.to_frame("word")
    irregular = table.join(exceptions, on="word", how="inner")
    regular = table.join(exceptions, on="word", how="anti")
    stripped = [_replace_suffix(regular, old, new) for old, new in suffixes]
    return pl.concat([table.with_columns(base="word"), irregular, *stripped]).unique()


def _replace_suffix(table: pl.DataFrame, old: str, new: str) -> pl.DataFrame:
    ending = table.filter(pl.col("word").str.ends_with(old))
    return ending.with_columns((pl.col("word").str.head(-len(old)) + new).alias("base"))
