"""Cues that need no understanding: each is a rule of one line, chosen on the learned part and scored on the judged one.

position            the place where the target stands most often
length              the longest or the shortest option
question overlap    the option with most or fewest words of the question
type agreement      options of the kind (yes/no, number, one word, more) that questions with this opening usually want
odd one out         the option least or most like the others, by the runs of three letters that it shares with them
prior rule          the option that is oftenest a target for its offers (Eq. 2)
"""

from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from eyechart.audits.decoys.picking import pick
from eyechart.audits.decoys.prior import count_uses, prior_of
from eyechart.encode.words import question_words
from eyechart.text import NUMBER_WORDS

Rules = dict[str, pl.Series]  # what a rule picks -> the value of each option
OPENING = 2  # words
_NUMBER = rf"^(\d+([.,]\d+)?|{'|'.join(NUMBER_WORDS)})$"


class Cue(NamedTuple):
    """The rule that a cue settled on, and its score on every example."""

    picks: str
    scores: pl.DataFrame  # id, score


def follow_cues(offers: pl.DataFrame, learn: pl.Series) -> dict[str, Cue]:
    """Settle each cue on the learned examples and score it on all; `offers` also has the `question`.

    `learn` says of each option whether its example may be learned from.
    """
    return {name: _settle(offers, learn, make(offers, learn)) for name, make in CUES.items()}


def _settle(offers: pl.DataFrame, learn: pl.Series, rules: Rules) -> Cue:
    """Take the rule that is right most often on the learned part, the first of equals."""
    known = offers.filter(learn)
    right = {name: pick(known, value.filter(learn))["score"].sum() for name, value in rules.items()}
    best = max(right, key=lambda name: right[name])
    return Cue(best, pick(offers, rules[best]))


def _position(offers: pl.DataFrame, learn: pl.Series) -> Rules:  # noqa: ARG001 - one signature for all cues
    places = range(int(offers["place"].max() or 0) + 1)  # type: ignore[arg-type]  # a column of whole numbers
    return {f"option {at + 1}": (offers["place"] == at).cast(pl.Float64) for at in places}


def _length(offers: pl.DataFrame, learn: pl.Series) -> Rules:  # noqa: ARG001
    return _both(offers["text"].str.len_chars().cast(pl.Float64), "longest", "shortest")


def _overlap(offers: pl.DataFrame, learn: pl.Series) -> Rules:  # noqa: ARG001
    words, asked = question_words(pl.col("text")), question_words(pl.col("question"))
    share = words.list.set_intersection(asked).list.len() / words.list.n_unique()
    found = offers.select(share.fill_nan(0.0).fill_null(0.0)).to_series()
    return _both(found, "most words of the question", "fewest words of the question")


def _agreement(offers: pl.DataFrame, learn: pl.Series) -> Rules:
    kinds = offers.select("target", kind=kind_of(pl.col("text")), opening=opening_of(pl.col("question")))
    usual = (
        kinds.filter(learn & kinds["target"])
        .group_by("opening", "kind")
        .agg(pl.len().alias("n"))
        .sort("opening", "n", "kind", descending=[False, True, False])
        .group_by("opening", maintain_order=True)
        .agg(pl.col("kind").first().alias("usual"))
    )
    asked = kinds.join(usual, on="opening", how="left", validate="m:1", maintain_order="left")
    agrees = (asked["kind"] == asked["usual"]).fill_null(value=False).cast(pl.Float64)
    return {"of the usual kind": agrees}


def _oddness(offers: pl.DataFrame, learn: pl.Series) -> Rules:  # noqa: ARG001
    """Average over the runs of an option the other options of the example that have the run too."""
    text = pl.col("text").str.to_lowercase()
    padded = pl.concat_str(pl.lit(" "), text, pl.lit(" "))
    runs = offers.select("id", pl.int_range(pl.len()).alias("row"), text=padded)
    at = pl.int_ranges(0, pl.col("text").str.len_chars().cast(pl.Int64) - 2)
    long = runs.with_columns(at.alias("at")).explode("at", empty_as_null=False, keep_nulls=False)
    grams = long.select("id", "row", pl.col("text").str.slice(pl.col("at"), 3).alias("gram")).unique()
    shared = grams.with_columns((pl.len().over("id", "gram") - 1).alias("others"))
    like = shared.group_by("row").agg(pl.col("others").sum() / pl.len())
    found = runs.select("row").join(like, on="row", how="left", validate="1:1", maintain_order="left")["others"]
    return _both(found.fill_null(0.0), "most like the others", "least like the others")


def _prior(offers: pl.DataFrame, learn: pl.Series) -> Rules:
    return {"likeliest by Eq. 2": prior_of(offers["text"], count_uses(offers.filter(learn)))}


def _both(value: pl.Series, most: str, least: str) -> Rules:
    return {most: value, least: -value}


def kind_of(text: pl.Expr) -> pl.Expr:
    """Tell yes/no, numbers, single words and more apart."""
    plain = text.str.to_lowercase().str.strip_chars(" .")
    return (
        pl.when(plain.is_in(["yes", "no"]))
        .then(pl.lit("yes/no"))
        .when(plain.str.contains(_NUMBER))
        .then(pl.lit("number"))
        .when(plain.str.contains(" ", literal=True))
        .then(pl.lit("more"))
        .otherwise(pl.lit("one word"))
    )


def opening_of(question: pl.Expr) -> pl.Expr:
    """Take the first words of a question."""
    return question_words(question).list.head(OPENING).list.join(" ")


PRIOR_RULE = "prior rule"
CUES: dict[str, Callable[[pl.DataFrame, pl.Series], Rules]] = {
    PRIOR_RULE: _prior,
    "position": _position,
    "length": _length,
    "question overlap": _overlap,
    "type agreement": _agreement,
    "odd one out": _oddness,
}
