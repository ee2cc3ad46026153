"""The words or objects of an example that tell most about its own answer, by pointwise mutual information.

    MI(w, a) = log( f(w, a) K / (f(w) f(a)) )

f counts the examples that have the word, the answer, or both; K counts all. Within one example a and K are the same
for all candidates, so they are ranked by f(w, a) / f(w), which leaves equal ones exactly equal.
"""

import polars as pl

TIES: dict[str, tuple[str, bool]] = {"frequent": ("single", True), "rare": ("single", False), "text": ("text", False)}


def most_salient(candidates: pl.DataFrame, ties: str = "frequent") -> pl.DataFrame:
    """Find the best two candidates of each row that has any: columns row, first, second (null where there is none).

    `candidates` has row, text, answer and counted (whether its example is counted in f), each text of a row once. Of
    equals the more frequent text wins, or the rarer, and then the first in the alphabet. A text that no counted
    example has comes last.
    """
    texts = pl.Enum(candidates["text"].unique().sort())
    joint = pl.col("counted").sum().over("text", "answer")
    counted = candidates.with_columns(
        pl.col("text").cast(texts), pl.col("answer").cast(pl.Categorical).to_physical()
    ).with_columns(joint.alias("joint"), pl.col("counted").sum().over("text").alias("single"))
    return rank(with_ratio(counted), ties)


def with_ratio(counted: pl.DataFrame) -> pl.DataFrame:
    """Score candidates by the two counts of Eq. 6."""
    return counted.with_columns((pl.col("joint") / pl.col("single")).fill_nan(-1.0).alias("score"))  # Eq. 6, 9


def rank(scored: pl.DataFrame, ties: str) -> pl.DataFrame:
    """Find the best two candidates of each row of (row, text, score, single), the number of examples with the text."""
    ranked = scored.select("row", "text", "single", "score").sort(
        "row", "score", TIES[ties][0], "text", descending=[False, True, TIES[ties][1], False]
    )
    follows = pl.col("row").shift(-1) == pl.col("row")
    second = pl.when(follows).then(pl.col("text").shift(-1))
    best = pl.col("row").ne_missing(pl.col("row").shift())
    return (
        ranked.select(
            "row",
            pl.col("text").cast(pl.String).alias("first"),
            second.cast(pl.String).alias("second"),
            best.alias("best"),
        )
        .filter("best")
        .drop("best")
    )
