"""Types of questions for data that bring none: the longest listed prefix a question begins with.

A list is given, or learned: every beginning of one to four words that enough of the questions share.
"""

import polars as pl

from eyechart.encode.words import question_words

OTHER = "none of the above"  # what VQA calls a question that begins with no listed prefix
LONGEST = 4  # words of a learned prefix
SHARE = 0.005  # of the questions that must begin with a learned prefix


def learn_prefixes(questions: pl.Series, share: float = SHARE) -> pl.Series:
    """List the beginnings that at least this share of the questions, and two of them, have."""
    words = _words(questions)
    starts = pl.concat([_start(words, n) for n in range(1, LONGEST + 1)]).drop_nulls()
    counts = starts.value_counts(name="n")
    return counts.filter(pl.col("n") >= max(2, share * len(questions)))["prefix"].sort()


def question_types(questions: pl.Series, prefixes: pl.Series) -> pl.Series:
    """Give each question its longest prefix of the list; words are compared, in lower case."""
    listed = _joined(_words(prefixes)).drop_nulls().unique()
    words = _words(questions)
    longest = max(listed.str.count_matches(" ").to_list(), default=-1) + 1
    found = [_listed(_start(words, n), listed).alias(str(n)) for n in range(longest, 0, -1)]
    empty = pl.Series([None] * len(questions), dtype=pl.String)
    return pl.DataFrame([*found, empty.alias("none")]).select(pl.coalesce(pl.all()).fill_null(OTHER)).to_series()


def _words(texts: pl.Series) -> pl.Series:
    return texts.to_frame("text").select(question_words(pl.col("text"))).to_series()


def _joined(words: pl.Series) -> pl.Series:
    return words.list.join(" ")


def _start(words: pl.Series, n: int) -> pl.Series:
    """Join the first n words; null where a question has fewer."""
    joined = _joined(words.list.head(n)).alias("prefix")
    return joined.set(words.list.len() < n, None)


def _listed(starts: pl.Series, listed: pl.Series) -> pl.Series:
    return starts.set(~starts.is_in(listed.implode()), None)
