"""Look at one set of options: cues, blind baselines, neutrality."""

from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.decoys.blind import CONTROL, Learning, score_blindly, solved
from eyechart.audits.decoys.cues import follow_cues
from eyechart.audits.decoys.drawing.lists import Int64s
from eyechart.audits.decoys.kinds import kinds_table
from eyechart.audits.decoys.neutrality import measure_neutrality, usage_table
from eyechart.audits.decoys.parts import JUDGED, LEARN
from eyechart.audits.decoys.picking import Flags, chance, where_examples_start
from eyechart.audits.decoys.sets import ORIG
from eyechart.audits.decoys.solving import CHANCE, Solver
from eyechart.dataset import Dataset
from eyechart.hashing import hash_text
from eyechart.protocols import Engine

LEARNED = "learned from {} of other images"
RANDOM_TARGETS = "learned from targets drawn at random"


class Looking(NamedTuple):
    """How to look: parts of cross-validation, most examples for the baselines, what learns, and the seed."""

    folds: int
    most: int
    scorer: str
    kinds: str
    seed: int


class Known(NamedTuple):
    """The data, and what is known `about` each example: id, cluster, part, image, question, and how options were made.

    It is put beside options only where it is needed: beside all of them it would take more room than they do.
    """

    about: pl.DataFrame
    data: Dataset


class Look(NamedTuple):
    """What was seen in one set of options."""

    sizes: Int64s  # options of each example
    guess: pl.DataFrame  # id, cluster, part, chance
    solvers: list[Solver]
    neutrality: dict[str, float | int]
    usage: pl.DataFrame
    kinds: pl.DataFrame


def look_at(name: str, offers: pl.DataFrame, known: Known, how: Looking, engine: Engine) -> Look:
    """Try everything on a set, whose options are sorted by `id`."""
    sizes = np.diff(where_examples_start(offers))
    each = _beside(chance(offers), known)
    guess = each.select("id", "cluster", "part", CHANCE)
    sampled = _beside(offers.filter(np.repeat(_sampled(guess["id"], how), sizes)), known)
    scores = score_blindly(sampled, known.data, Learning(how.folds, how.seed, how.scorer), engine)
    asked = offers.with_columns(each["question"].gather(np.repeat(np.arange(len(sizes)), sizes)))
    solvers = [*_by_cues(name, asked, guess), *_by_scorers(name, solved(sampled, scores, how.seed), guess)]
    kinds = kinds_table(sampled, scores, how.kinds if name == ORIG else "")
    return Look(sizes, guess, solvers, measure_neutrality(offers, how.seed), usage_table(offers), kinds)


def _beside(rows: pl.DataFrame, known: Known) -> pl.DataFrame:
    return rows.join(known.about, on="id", how="left", validate="m:1", maintain_order="left")


def _by_cues(name: str, offers: pl.DataFrame, guess: pl.DataFrame) -> list[Solver]:
    """Follow each cue, and keep its scores on the judged examples."""
    learn, judged = (_is_in(guess, part) for part in (LEARN, JUDGED))
    if not judged.any() or not learn.any():
        return []
    found = follow_cues(offers, learn.gather(offers["id"].rle_id()))
    shown = guess.filter(judged)
    return [
        Solver(name, cue, rule.picks, shown.select("id", "cluster", rule.scores["score"].filter(judged), CHANCE))
        for cue, rule in found.items()
    ]


def _is_in(guess: pl.DataFrame, part: str) -> pl.Series:
    return (guess["part"] == part).fill_null(value=False)


def _by_scorers(name: str, solutions: pl.DataFrame, guess: pl.DataFrame) -> list[Solver]:
    names = [column for column in solutions.columns if column != "id"]
    said = {column: RANDOM_TARGETS if column == CONTROL else LEARNED.format(column) for column in names}
    return [
        Solver(name, column, said[column], _joined(solutions.select("id", score=column), guess)) for column in names
    ]


def _joined(scores: pl.DataFrame, guess: pl.DataFrame) -> pl.DataFrame:
    both = guess.join(scores, on="id", how="inner", validate="1:1", maintain_order="left")
    return both.select("id", "cluster", "score", CHANCE)


def _sampled(ids: pl.Series, how: Looking) -> Flags:
    """Choose at most so many examples by a hash of their ids, unlike the one by which examples get no decoys."""
    order = pl.Series("order", hash_text("sampled " + ids, how.seed))
    return (order.rank("ordinal") <= how.most).to_numpy()
