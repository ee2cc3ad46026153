"""Read answers to questions without options: yes or no, the only number, or a short text."""

import polars as pl

from eyechart.base.text import NUMBER_WORDS
from eyechart.language.labels import words
from eyechart.language.phrases import strip_markup, strip_opinion
from eyechart.language.questions import YES_NO_QUESTION

_COUNTING_QUESTION = r"(?i)^\W*(?:how many|what number|what is the number)\b"
_YES_NO = (
    r"(?i)^\W*(yes|no)(?:\W*$|\s*[,.;:!\n*-]+\s*[^\s\d]|\s+(?:it|there|this|that|they|he|she|i|we|you|the)(?:'|\b))"
)
_BOTH = r"(?i)^\W*(?:yes|no)\b\W*(?:(?:and|or)\b\W*)?(?:yes|no)\b"
_SMALL = ("zero", *list(NUMBER_WORDS)[2:], "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen",
          "seventeen", "eighteen", "nineteen", "twenty")  # fmt: skip
_NUMBER = rf"^(?:-?\d+(?:\.\d+)?|{'|'.join(_SMALL)})$"


_SCALED = r"\b(?:hundreds?|thousands?|millions?|billions?|trillions?|dozens?|percent)\b"  # 5 million is not 5
_ONE_COUNTED = (  # not "one of them", "no one", "how one looks at it"
    r"(?i)^\W*(?:only |just )?one(?:\W*$|\s+[^o\W])|\b(?:is|are|see|say|has|have|only|just|exactly|count)\s+one\b"
)


def read_open(texts: pl.DataFrame, expects: str, most: int) -> pl.DataFrame:
    """Read answers (`row`, `answer`) from texts (`row`, `text`, `question`, `choices`) that are nothing but answers.

    What is expected may be left to the question (`any`); `most` is the number of words of a short answer.
    """
    text, kind = pl.col("text"), _expected(expects)
    yes_no = pl.when(kind == "yes/no").then(find_yes_no(text))
    number = pl.when(kind == "number").then(find_only_number(text))
    line = strip_opinion(strip_markup(text.str.extract(r"(?m)^([^\n]*[^\s\"'#>*.!,;:`_][^\n]*)$")))
    short = pl.when(line.str.count_matches(r"\S+") <= most).then(line)
    answer = pl.coalesce(yes_no, number) if expects in {"yes/no", "number"} else pl.coalesce(yes_no, number, short)
    read = texts.with_columns(answer=answer)
    options = texts.select("row", "choices", words=words(text)).drop_nulls("choices").explode("choices")
    same = options.filter((words(pl.col("choices")) == pl.col("words")) & (pl.col("words") != ""))
    same = same.group_by("row").agg(pl.col("choices").first().alias("option"))
    read = read.join(same, on="row", how="left", validate="1:1")
    return read.select("row", answer=pl.coalesce("option", "answer")).filter(pl.col("answer") != "")


def find_yes_no(text: pl.Expr) -> pl.Expr:
    """Return the yes or no that a text is or begins with, in small letters; null where it says both, or neither."""
    plain = strip_opinion(text)
    return pl.when(~plain.str.contains(_BOTH)).then(plain.str.extract(_YES_NO).str.to_lowercase())


def find_only_number(text: pl.Expr) -> pl.Expr:
    """Return the one number in a text, in digits or as a word up to twenty; null if there are none or several."""
    numbers = words(text).str.extract_all(r"[^ ]+").list.eval(pl.element().filter(pl.element().str.contains(_NUMBER)))
    is_pronoun = (numbers.list.first() == "one") & ~strip_opinion(text).str.contains(_ONE_COUNTED)
    values = numbers.list.eval(pl.element().replace(NUMBER_WORDS)).list.n_unique()
    is_scaled = words(text).str.contains(_SCALED)
    return pl.when((values == 1) & ~is_pronoun & ~is_scaled).then(numbers.list.sort().list.first())


def _expected(expects: str) -> pl.Expr:
    """Return what a question asks for, if that is left to the question."""
    if expects != "any":
        return pl.lit(expects)
    question = pl.col("question").fill_null("")
    counting = pl.when(question.str.contains(_COUNTING_QUESTION)).then(pl.lit("number")).otherwise(pl.lit("text"))
    return pl.when(question.str.contains(YES_NO_QUESTION)).then(pl.lit("yes/no")).otherwise(counting)
