"""Split questions and other texts into words, and find types of questions for data without any.

Words are split by the `basic_english` rules of torchtext, which the authors of VQA-CE used. Lower case; `'` and `.`
become words; `"` goes; `<br />`, `;` and `:` become spaces; `,` `(` `)` `!` `?` become words. So "Man's hat?" is
man ' s hat ?, and hyphens and slashes stay inside words.

The type of a question is the longest listed prefix that it begins with. The list is given, or learned: every prefix of
one to four words that enough questions share.
"""

from collections.abc import Iterator

import polars as pl

_REPLACED = {
    "'": " ' ",
    '"': "",
    ".": " . ",
    "<br />": " ",
    ",": " , ",
    "(": " ( ",
    ")": " ) ",
    "!": " ! ",
    "?": " ? ",
    ";": " ",
    ":": " ",
}


BLOCK = 65_536  # questions whose words are listed at once: lists for all would take many times the memory of the texts


def blocks(n: int) -> Iterator[slice]:
    """Divide n questions into blocks."""
    return (slice(start, min(start + BLOCK, n)) for start in range(0, max(n, 1), BLOCK))


def question_words(question: pl.Expr) -> pl.Expr:
    """List the words of each text in order, repeats included; a null or blank text has none."""
    text = question.fill_null("").str.to_lowercase()
    for mark, filler in _REPLACED.items():
        text = text.str.replace_all(mark, filler, literal=True)
    return text.str.extract_all(r"[^\s\x1c-\x1f]+")


# Begins by asking for yes or no, or does so behind an introduction: "According to the image, does it fly?"
YES_NO_QUESTION = (
    r"(?i)(?:^\W*|[,.:;]\s+)"
    r"(?:is|are|was|were|am|do|does|did|can|could|has|have|had|will|would|should|may|might|must)(?:n't)?\b"
)
OTHER = "none of the above"  # what VQA calls a question that begins with no listed prefix
LONGEST = 4  # most words in a learned prefix
SHARE = 0.005  # smallest share of questions that begin with a learned prefix


def learn_prefixes(questions: pl.Series, share: float = SHARE) -> pl.Series:
    """List the prefixes of at least this share of the questions, and at least two of them."""
    words = _words(questions)
    starts = pl.concat([_start(words, n) for n in range(1, LONGEST + 1)]).drop_nulls()
    counts = starts.value_counts(name="n")
    return counts.filter(pl.col("n") >= max(2, share * len(questions)))["prefix"].sort()


def question_types(questions: pl.Series, prefixes: pl.Series) -> pl.Series:
    """Return the longest listed prefix of each question; words are compared in lower case."""
    listed = _join(_words(prefixes)).drop_nulls().unique()
    words = _words(questions)
    longest = max(listed.str.count_matches(" ").to_list(), default=-1) + 1
    matches = [_keep_listed(_start(words, n), listed).alias(str(n)) for n in range(longest, 0, -1)]
    empty = pl.Series([None] * len(questions), dtype=pl.String)
    return pl.DataFrame([*matches, empty.alias("none")]).select(pl.coalesce(pl.all()).fill_null(OTHER)).to_series()


def _words(texts: pl.Series) -> pl.Series:
    return texts.to_frame("text").select(question_words(pl.col("text"))).to_series()


def _join(words: pl.Series) -> pl.Series:
    return words.list.join(" ")


def _start(words: pl.Series, n: int) -> pl.Series:
    """Join the first n words; null if a question has fewer."""
    joined = _join(words.list.head(n)).alias("prefix")
    return joined.set(words.list.len() < n, None)


def _keep_listed(starts: pl.Series, listed: pl.Series) -> pl.Series:
    return starts.set(~starts.is_in(listed.implode()), None)
