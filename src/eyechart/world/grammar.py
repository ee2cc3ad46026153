"""Write questions and read them back; the only place that knows how a question is worded."""

import polars as pl

from eyechart.world.vocabulary import FILLERS, MANY, PLURALS, QUESTION_TYPES, THERE, with_article

_SINGULARS = {plural: label for label, plural in PLURALS.items()}
_NAMED_TWICE = tuple(name for name, kind in QUESTION_TYPES.items() if "{second}" in kind.template)
_STEM_KEYS = ("question_type", "first", "second")


def write_questions(parts: pl.DataFrame) -> pl.Series:
    """Word each row of (question_type, first, second, fillers); only the different stems are written one by one."""
    different = parts.select(_STEM_KEYS).unique()
    stems = different.with_columns(pl.Series("stem", [_stem(*row) for row in different.iter_rows()], pl.String))
    worded = parts.join(stems, on=_STEM_KEYS, how="left", nulls_equal=True, validate="m:1", maintain_order="left")
    tail = pl.col("fillers").list.eval(" " + pl.element()).list.join("")
    return worded.select(question=pl.col("stem") + tail + "?").to_series()


def _stem(question_type: str, first: str, second: str | None) -> str:
    if question_type == MANY:
        first = PLURALS[first]
    elif question_type == THERE:
        first = with_article(first)
    return QUESTION_TYPES[question_type].template.format(first=first, second=second)


def parse_questions(questions: pl.Series) -> pl.DataFrame:
    """Read each different question: its type (null where it is none of ours), first and second name, and words."""
    table = pl.DataFrame({"question": questions.cast(pl.String).drop_nulls().unique().sort()})
    found = table.with_columns(
        pl.col("question").str.extract_groups(_pattern(name)).alias(name) for name in QUESTION_TYPES
    )
    firsts = {name: pl.col(name).struct.field("first") for name in QUESTION_TYPES}
    return found.select(
        "question",
        question_type=pl.coalesce(pl.when(first.is_not_null()).then(pl.lit(name)) for name, first in firsts.items()),
        first=pl.coalesce(firsts[MANY].replace(_SINGULARS), *firsts.values()),
        second=pl.coalesce(pl.col(name).struct.field("second") for name in _NAMED_TWICE),
        words=pl.col("question").str.replace_all(r"[,?]", "").str.split(" "),
    )


def _pattern(name: str) -> str:
    """Turn a template into the expression that reads it back, with any fillers behind."""
    article = "an? " if name == THERE else ""
    stem = QUESTION_TYPES[name].template.format(first=rf"{article}(?<first>[a-z]+)", second=r"(?<second>[a-z]+)")
    return rf"^{stem}(?: (?:{'|'.join(FILLERS)}))*\?$"
