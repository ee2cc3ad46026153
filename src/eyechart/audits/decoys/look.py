"""Look at one set of options: cues, blind baselines, neutrality."""

from typing import NamedTuple

import polars as pl

from eyechart.audits.decoys.blind import CONTROL, Learning, score_blindly, solved
from eyechart.audits.decoys.cues import follow_cues
from eyechart.audits.decoys.kinds import kinds_table
from eyechart.audits.decoys.neutrality import measure_neutrality, usage_table
from eyechart.audits.decoys.parts import JUDGED, LEARN
from eyechart.audits.decoys.picking import chance
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


class Look(NamedTuple):
    """What was seen in one set of options."""

    offers: pl.DataFrame
    guess: pl.DataFrame  # id, cluster, part, chance
    solvers: list[Solver]
    neutrality: dict[str, float | int]
    usage: pl.DataFrame
    kinds: pl.DataFrame


def look_at(name: str, offers: pl.DataFrame, data: Dataset, how: Looking, engine: Engine) -> Look:
    """Try everything on a set; `offers` also has `cluster`, `part`, `image` and `question`."""
    known = offers.select("id", "cluster", "part").unique("id", keep="first", maintain_order=True)
    guess = known.join(chance(offers), on="id", validate="1:1", maintain_order="left")
    sampled = offers.filter(_sampled(offers, how))
    scores = score_blindly(sampled, data, Learning(how.folds, how.seed, how.scorer), engine)
    solvers = [*_by_cues(name, offers, guess), *_by_scorers(name, solved(sampled, scores, how.seed), guess)]
    kinds = kinds_table(sampled, scores, how.kinds if name == ORIG else "")
    return Look(offers, guess, solvers, measure_neutrality(offers, how.seed), usage_table(offers), kinds)


def _by_cues(name: str, offers: pl.DataFrame, guess: pl.DataFrame) -> list[Solver]:
    """Follow each cue, and keep its scores on the judged examples."""
    judged = guess.filter(pl.col("part") == JUDGED)
    if not judged.height or not (guess["part"] == LEARN).any():
        return []
    found = follow_cues(offers, (offers["part"] == LEARN).fill_null(value=False))
    return [Solver(name, cue, rule.picks, _joined(rule.scores, judged)) for cue, rule in found.items()]


def _by_scorers(name: str, solutions: pl.DataFrame, guess: pl.DataFrame) -> list[Solver]:
    names = [column for column in solutions.columns if column != "id"]
    said = {column: RANDOM_TARGETS if column == CONTROL else LEARNED.format(column) for column in names}
    return [
        Solver(name, column, said[column], _joined(solutions.select("id", score=column), guess)) for column in names
    ]


def _joined(scores: pl.DataFrame, guess: pl.DataFrame) -> pl.DataFrame:
    both = guess.join(scores, on="id", how="inner", validate="1:1", maintain_order="left")
    return both.select("id", "cluster", "score", CHANCE)


def _sampled(offers: pl.DataFrame, how: Looking) -> pl.Series:
    """Choose at most so many examples by a hash of their ids, unlike the one by which examples get no decoys."""
    ids = offers["id"].unique().sort()
    order = pl.Series("order", hash_text("sampled " + ids, how.seed))
    kept = ids.filter(order.rank("ordinal") <= how.most)
    return offers["id"].is_in(kept.implode())
