"""Blind baselines: what a fast learned scorer solves from A, Q + A, I + A and I + Q + A (Sect. 3.1).

As in the paper a scorer f(c, i) learns from (example, option) rows whether the option is the target, by the binary
logistic loss, and the option of the highest score is picked; here f is a logistic regression over sparse features in
place of the network of Eq. 1, which is the scorer `mlp`. Examples are scored by a scorer that has seen no example of
their image. A control run learns from targets that are drawn at random among the options: it must find nothing.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.decoys.features import SEEN, Matrix, describe
from eyechart.audits.decoys.lessons import Course, Flags, Floats, Lessons, Scorer
from eyechart.audits.decoys.picking import pick
from eyechart.dataset import Dataset
from eyechart.engines.local import Local
from eyechart.hashing import combine, hash_text, uniform
from eyechart.protocols import Engine
from eyechart.registry import Registry

CONTROL = "control"
CONTROLLED = "I+Q+A"  # the scorer that sees most is the one that would overfit most

SCORERS: Registry[Scorer] = Registry(
    "scorer",
    {"logistic": "eyechart.audits.decoys.blind:logistic", "mlp": "eyechart.audits.decoys.network:mlp"},
)


class Learning(NamedTuple):
    """In how many parts, by which seed and by what is learned."""

    folds: int
    seed: int
    scorer: str = "logistic"


def score_blindly(offers: pl.DataFrame, data: Dataset, how: Learning, engine: Engine | None = None) -> pl.DataFrame:
    """Score every option from each kind of information (a column each), cross-validated by `cluster`."""
    fold = (uniform(hash_text(offers["cluster"], how.seed)) * how.folds).astype(np.int64)
    target, drawn = offers["target"].to_numpy(), drawn_targets(offers, how.seed)
    courses = {name: Course(seen, target) for name, seen in SEEN.items()}
    courses[CONTROL] = Course(SEEN[CONTROLLED], drawn)
    lessons = Lessons(SCORERS.get(how.scorer), describe(offers, data), courses, fold)
    return lessons.run(engine or Local())


def solved(offers: pl.DataFrame, scores: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Say of each example how far each scorer solves it; the control is held against the targets it learned from."""
    drawn = offers.with_columns(pl.Series("target", drawn_targets(offers, seed)))
    solutions = offers.select(pl.col("id").unique(maintain_order=True))
    for name in scores.columns:
        found = pick(drawn if name == CONTROL else offers, scores[name], name)
        solutions = solutions.join(found, on="id", validate="1:1", maintain_order="left")
    return solutions


def drawn_targets(offers: pl.DataFrame, seed: int) -> Flags:
    """Draw one option of each example by a hash of (seed, id, text)."""
    lot = pl.Series("lot", combine(hash_text(offers["id"], seed + 1), hash_text(offers["text"])))
    drawn = offers.select("id", lot).select(pl.col("lot") == pl.col("lot").max().over("id")).to_series()
    return drawn.to_numpy()


def logistic(known: Matrix, target: Flags, asked: Matrix) -> Floats:
    """Learn a logistic regression and give the log-odds of what is asked."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, solver="liblinear", tol=0.01)
    return np.asarray(model.fit(known, target).decision_function(asked), dtype=np.float64)
