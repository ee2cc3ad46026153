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

import numpy as np
import polars as pl

from eyechart.audits.decoys.drawing.lists import Int32s, Int64s
from eyechart.audits.decoys.picking import Flags, Floats, Offered, Values, code_texts, lay_out, score_picks
from eyechart.audits.decoys.prior import count_uses, prior_of
from eyechart.encode.items import number
from eyechart.encode.words import question_words
from eyechart.text import NUMBER_WORDS

Rules = dict[str, Values]  # what a rule picks -> the value of each option
OPENING = 2  # words
_NUMBER = rf"^(\d+([.,]\d+)?|{'|'.join(NUMBER_WORDS)})$"


class Seen(NamedTuple):
    """What cues go by: each different text and question stands once, and options are numbers of them."""

    offered: Offered
    place: Int64s  # of each option
    learn: Flags  # of each option
    questions: pl.Series  # the different ones
    asked: Int32s  # of each option, the number of its question


class Cue(NamedTuple):
    """The rule that a cue settled on, and its score on every example."""

    picks: str
    scores: pl.DataFrame  # id, score


def follow_cues(offers: pl.DataFrame, learn: pl.Series) -> dict[str, Cue]:
    """Settle each cue on the learned examples and score it on all; `offers` also has the `question`.

    `learn` says of each option whether its example may be learned from.
    """
    seen = _see(offers, learn)
    ids = offers["id"].gather(seen.offered.starts[:-1])
    return {name: _settle(seen, make(seen), ids) for name, make in CUES.items()}


def _see(offers: pl.DataFrame, learn: pl.Series) -> Seen:
    offered = lay_out(offers)
    # Words are the same in no question and in an empty one.
    questions = code_texts(offers["question"].gather(offered.starts[:-1]).fill_null(""))
    place = offers["place"].to_numpy()
    return Seen(offered, place, learn.to_numpy(), questions.texts, offered.spread(questions.codes))


def _settle(seen: Seen, rules: Rules, ids: pl.Series) -> Cue:
    """Take the rule that is right most often on the learned part, the first of equals."""
    _, _, target, starts = seen.offered
    scores = {name: pl.Series("score", score_picks(value, target, starts)) for name, value in rules.items()}
    known = pl.Series(seen.learn[starts[:-1]])
    best = max(scores, key=lambda name: scores[name].filter(known).sum())
    return Cue(best, pl.DataFrame([ids, scores[best]]))


def _position(seen: Seen) -> Rules:
    return {f"option {at + 1}": seen.place == at for at in range(seen.place.max(initial=0) + 1)}


def _length(seen: Seen) -> Rules:
    lengths = seen.offered.texts.str.len_chars().to_numpy().astype(np.float64)
    return _both(lengths[seen.offered.codes], "longest", "shortest")


def _overlap(seen: Seen) -> Rules:
    """Take the share of the different words of an option that the question has."""
    # Numba is loaded with the kernels, so only where cues are followed: processes that learn need this file too.
    from eyechart.audits.decoys.likeness import known_words, shared_with_question, words_of

    known = known_words(seen.offered.texts)
    words = words_of(seen.offered.texts, known)
    shared = shared_with_question(words, seen.offered.codes, words_of(seen.questions, known), seen.asked)
    share = _share(shared, words.sizes[seen.offered.codes])
    return _both(share, "most words of the question", "fewest words of the question")


def _agreement(seen: Seen) -> Rules:
    kinds = seen.offered.texts.to_frame("text").select(kind_of(pl.col("text"))).to_series()
    openings = seen.questions.to_frame("question").select(opening_of(pl.col("question")).alias("opening"))
    right = seen.learn & seen.offered.target
    found = openings[seen.asked[right]].with_columns(kinds.gather(seen.offered.codes[right]).alias("kind"))
    usual = (
        found.group_by("opening", "kind")
        .agg(pl.len().alias("n"))
        .sort("opening", "n", "kind", descending=[False, True, False])
        .group_by("opening", maintain_order=True)
        .agg(pl.col("kind").first().alias("usual"))
    )
    wanted = openings.join(usual, on="opening", how="left", validate="m:1", maintain_order="left")["usual"]
    different = kinds.unique()
    have, want = (number(names, different).fill_null(-1).to_numpy() for names in (kinds, wanted))
    return {"of the usual kind": have[seen.offered.codes] == want[seen.asked]}


def _oddness(seen: Seen) -> Rules:
    """Average over the runs of an option the other options of the example that have the run too."""
    from eyechart.audits.decoys.likeness import runs_of, shared_with_others

    runs = runs_of(seen.offered.texts)
    shared = shared_with_others(runs, seen.offered.codes, seen.offered.starts)
    like = _share(shared, runs.sizes[seen.offered.codes])
    return _both(like, "most like the others", "least like the others")


def _prior(seen: Seen) -> Rules:
    priors = prior_of(seen.offered.texts, count_uses(seen.offered, seen.learn)).to_numpy()
    return {"likeliest by Eq. 2": priors[seen.offered.codes]}


def _share(part: Int64s, whole: Int64s) -> Floats:
    """Divide; of nothing the share is 0."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _both(value: Floats, most: str, least: str) -> Rules:
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
CUES: dict[str, Callable[[Seen], Rules]] = {
    PRIOR_RULE: _prior,
    "position": _position,
    "length": _length,
    "question overlap": _overlap,
    "type agreement": _agreement,
    "odd one out": _oddness,
}
