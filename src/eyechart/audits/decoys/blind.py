"""Blind baselines: what a fast learned scorer solves from A, Q + A, I + A and I + Q + A (Sect. 3.1).

As in the paper a scorer f(c, i) learns from (example, option) rows whether the option is the target, by the binary
logistic loss, and the option of the highest score is picked; here f is a logistic regression over sparse features in
place of the network of Eq. 1, which is the scorer `mlp`. Examples are scored by a scorer that has seen no example of
their image. A control run learns from targets that are drawn at random among the options: it must find nothing.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from eyechart.audits.decoys.features import SEEN, Matrix, describe, matrix
from eyechart.audits.decoys.picking import pick
from eyechart.dataset import Dataset
from eyechart.hashing import combine, hash_text, uniform
from eyechart.registry import Registry

CONTROL = "control"
CONTROLLED = "I+Q+A"  # the scorer that sees most is the one that would overfit most

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Scorer = Callable[[Matrix, Flags, Matrix], Floats]  # features and targets to learn from, features to score -> scores

SCORERS: Registry[Scorer] = Registry(
    "scorer",
    {"logistic": "eyechart.audits.decoys.blind:logistic", "mlp": "eyechart.audits.decoys.network:mlp"},
)


def score_blindly(offers: pl.DataFrame, data: Dataset, folds: int, seed: int, scorer: str = "logistic") -> pl.DataFrame:
    """Score every option from each kind of information (a column each), cross-validated by `cluster`."""
    learner = SCORERS.get(scorer)
    blocks = describe(offers, data)
    fold = (uniform(hash_text(offers["cluster"], seed)) * folds).astype(np.int64)
    target = offers["target"].to_numpy()
    scores = {}
    for name, seen in SEEN.items():
        features = matrix(blocks, offers.height, seen)
        scores[name] = _cross_validate(learner, features, target, fold)
        if name == CONTROLLED:
            scores[CONTROL] = _cross_validate(learner, features, drawn_targets(offers, seed), fold)
    return pl.DataFrame(scores)


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


def _cross_validate(learner: Scorer, features: Matrix, target: Flags, fold: npt.NDArray[np.int64]) -> Floats:
    """Score each fold by what the others teach; with nothing to learn from all options are alike."""
    scores = np.zeros(len(target))
    for each in np.unique(fold):
        here = fold == each
        if target[~here].any():
            scores[here] = learner(features[~here], target[~here], features[here])
    return scores
