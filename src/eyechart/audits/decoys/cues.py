"""Cues that need no understanding: each is a one-line rule, chosen on the learned part and scored on the judged part.

position            the place where the target is most often
length              the longest or the shortest option
question overlap    the option with most or fewest words of the question
type agreement      options of the kind (yes/no, number, one word, more) that questions with this opening usually want
odd one out         the option least or most like the others, by the runs of three letters that it shares with them
prior rule          the option that is most often a target, given how often it is offered (Eq. 2)
"""

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from eyechart.audits.decoys.features import opening_of
from eyechart.audits.decoys.options import Flags, Floats, Offered, Values, lay_out, score_picks
from eyechart.audits.decoys.texts import (
    Int32s,
    Int64s,
    code_texts,
    known_words,
    runs_of,
    shared_with_others,
    shared_with_question,
    words_of,
)
from eyechart.audits.decoys.usage import count_uses, prior_of
from eyechart.base.text import NUMBER_WORDS
from eyechart.language.answers import number

Rules = dict[str, Values]  # what a rule picks -> the value of each option
_NUMBER = rf"^(\d+([.,]\d+)?|{'|'.join(NUMBER_WORDS)})$"


class CueInputs(NamedTuple):
    """The inputs of cues: the distinct texts and questions, and options as their numbers."""

    offered: Offered
    place: Int64s  # of each option
    learn: Flags  # of each option
    questions: pl.Series  # the different ones
    asked: Int32s  # of each option, the number of its question

    @classmethod
    def of(cls, offers: pl.DataFrame, learn: pl.Series) -> Self:
        """Replace the texts and questions of options by numbers."""
        offered = lay_out(offers)
        # Words are the same in no question and in an empty one.
        questions, codes = code_texts(offers["question"].gather(offered.starts[:-1]).fill_null(""))
        return cls(offered, offers["place"].to_numpy(), learn.to_numpy(), questions, offered.spread(codes))


def follow_cues(offers: pl.DataFrame, learn: pl.Series) -> dict[str, tuple[str, pl.DataFrame]]:
    """Choose the rule of each cue on the learned examples; return its name and its scores (id, score) on all.

    `offers` also has the `question`; `learn` says of each option whether its example may be learned from.
    """
    inputs = CueInputs.of(offers, learn)
    ids = offers["id"].gather(inputs.offered.starts[:-1])
    chosen = {name: _choose_rule(inputs, make_rules(inputs)) for name, make_rules in CUES.items()}
    return {name: (picks, pl.DataFrame([ids, scores])) for name, (picks, scores) in chosen.items()}


def _choose_rule(inputs: CueInputs, rules: Rules) -> tuple[str, pl.Series]:
    """Take the rule that is right most often on the learned part; ties go to the first."""
    _, _, target, starts = inputs.offered
    scores = {name: pl.Series("score", score_picks(value, target, starts)) for name, value in rules.items()}
    learned = pl.Series(inputs.learn[starts[:-1]])
    best = max(scores, key=lambda name: scores[name].filter(learned).sum())
    return best, scores[best]


def _position(inputs: CueInputs) -> Rules:
    return {f"option {i + 1}": inputs.place == i for i in range(inputs.place.max(initial=0) + 1)}


def _length(inputs: CueInputs) -> Rules:
    lengths = inputs.offered.texts.str.len_chars().to_numpy().astype(np.float64)
    return _both(lengths[inputs.offered.codes], "longest", "shortest")


def _overlap(inputs: CueInputs) -> Rules:
    """Compute the share of an option's distinct words that are in the question."""
    vocabulary = known_words(inputs.offered.texts)
    words = words_of(inputs.offered.texts, vocabulary)
    shared = shared_with_question(words, inputs.offered.codes, words_of(inputs.questions, vocabulary), inputs.asked)
    share = _share(shared, words.sizes[inputs.offered.codes])
    return _both(share, "most words of the question", "fewest words of the question")


def _agreement(inputs: CueInputs) -> Rules:
    kinds = inputs.offered.texts.to_frame("text").select(kind_of(pl.col("text"))).to_series()
    openings = inputs.questions.to_frame("question").select(opening_of(pl.col("question")).alias("opening"))
    right = inputs.learn & inputs.offered.target
    wanted_kinds = openings[inputs.asked[right]].with_columns(kinds.gather(inputs.offered.codes[right]).alias("kind"))
    usual = (
        wanted_kinds.group_by("opening", "kind")
        .agg(pl.len().alias("n"))
        .sort("opening", "n", "kind", descending=[False, True, False])
        .group_by("opening", maintain_order=True)
        .agg(pl.col("kind").first().alias("usual"))
    )
    wanted = openings.join(usual, on="opening", how="left", validate="m:1", maintain_order="left")["usual"]
    different = kinds.unique()
    have, want = (number(names, different).fill_null(-1).to_numpy() for names in (kinds, wanted))
    return {"of the usual kind": have[inputs.offered.codes] == want[inputs.asked]}


def _oddness(inputs: CueInputs) -> Rules:
    """Count the other options that share each run of an option, and average over its runs."""
    runs = runs_of(inputs.offered.texts)
    shared = shared_with_others(runs, inputs.offered.codes, inputs.offered.starts)
    like = _share(shared, runs.sizes[inputs.offered.codes])
    return _both(like, "most like the others", "least like the others")


def _prior(inputs: CueInputs) -> Rules:
    priors = prior_of(inputs.offered.texts, count_uses(inputs.offered, inputs.learn)).to_numpy()
    return {"likeliest by Eq. 2": priors[inputs.offered.codes]}


def _share(part: Int64s, whole: Int64s) -> Floats:
    """Divide, with 0 / 0 = 0."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _both(value: Floats, most: str, least: str) -> Rules:
    return {most: value, least: -value}


def kind_of(text: pl.Expr) -> pl.Expr:
    """Classify texts as yes/no, numbers, single words or more."""
    lower = text.str.to_lowercase().str.strip_chars(" .")
    return (
        pl.when(lower.is_in(["yes", "no"]))
        .then(pl.lit("yes/no"))
        .when(lower.str.contains(_NUMBER))
        .then(pl.lit("number"))
        .when(lower.str.contains(" ", literal=True))
        .then(pl.lit("more"))
        .otherwise(pl.lit("one word"))
    )


PRIOR_RULE = "prior rule"
CUES: dict[str, Callable[[CueInputs], Rules]] = {
    PRIOR_RULE: _prior,
    "position": _position,
    "length": _length,
    "question overlap": _overlap,
    "type agreement": _agreement,
    "odd one out": _oddness,
}
