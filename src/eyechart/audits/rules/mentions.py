"""Which answers of rules a question names or offers: whoever guesses gives these more often than others.

`which is bigger, the star or the boat?` names `star` and `boat`, and a list of choices offers each of them. Agreement
with a rule on such a question is compared with questions that name or offer the answer in the same way.
"""

import polars as pl

from eyechart.base.text import clean_answer, normalize_answer

NEITHER, NAMED, OFFERED, BOTH = "neither", "named", "offered", "named and offered"
MOST_WORDS = 5  # of an answer that is looked for in questions


def normal_form(column: str) -> pl.Expr:
    """Return the form in which answers are compared."""
    return normalize_answer(clean_answer(pl.col(column)))


def mentioned_answers(examples: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """List the answers (`answer`, `normal`) that each example, numbered in order, names or offers."""
    numbered = examples.with_row_index("example").with_columns(pl.col("example").cast(pl.Int32))
    named = _named(numbered, answers).with_columns(pl.lit(value=True).alias("is_named"))
    offered = _offered(numbered, answers).with_columns(pl.lit(value=True).alias("is_offered"))
    mentions = named.join(offered, on=["example", "answer"], how="full", coalesce=True, validate="1:1")
    kind = pl.when(pl.col("is_named") & pl.col("is_offered")).then(pl.lit(BOTH)).when("is_named").then(pl.lit(NAMED))
    return mentions.select("example", "answer", kind.otherwise(pl.lit(OFFERED)).alias("mention")).sort(
        "example", "answer"
    )


def with_mentions(pairs: pl.DataFrame, mentions: pl.DataFrame) -> pl.DataFrame:
    """Add to pairs of an example and an answer whether it is named or offered."""
    joined = pairs.join(mentions, on=["example", "answer"], how="left", validate="m:1", maintain_order="left")
    return joined.with_columns(pl.col("mention").fill_null(NEITHER))


def _named(examples: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """Find the answers whose words follow each other in the question."""
    words = examples.select("example", normal_form("question").str.split(" ").alias("text"))
    words = words.explode("text", empty_as_null=False, keep_nulls=False).filter(pl.col("text") != "")
    sizes = answers.with_columns((pl.col("normal").str.count_matches(" ") + 1).alias("size"))
    found = [
        words.select("example", pl.concat_str(*_next(size), separator=" ").alias("normal")).join(part, on="normal")
        for (size,), part in sizes.partition_by("size", as_dict=True, include_key=False).items()
        if size <= MOST_WORDS
    ]
    none = pl.DataFrame(schema={"example": pl.Int32, "answer": pl.String})
    return pl.concat([none, *(each.select("example", "answer") for each in found)]).unique()


def _next(size: int) -> list[pl.Expr]:
    return [pl.col("text").shift(-step).over("example") for step in range(size)]


def _offered(examples: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """Find the answers among the choices."""
    if "choices" not in examples.columns:
        return pl.DataFrame(schema={"example": pl.Int32, "answer": pl.String})
    options = examples.select("example", "choices").explode("choices", empty_as_null=False, keep_nulls=False)
    options = options.with_columns(normal_form("choices").alias("normal"))
    return options.join(answers, on="normal").select("example", "answer").unique()
