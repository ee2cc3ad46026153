"""Blind baselines: what a fast learned scorer solves from A, Q + A, I + A and I + Q + A (Sect. 3.1).

As in the paper a scorer f(c, i) learns from (example, option) rows whether the option is the target, by the binary
logistic loss, and the option of the highest score is picked. Here f is a logistic regression over sparse features;
the scorer `mlp`, for those who have torch, is the paper's network with one hidden layer,

    f(c, i) = sigmoid(U max(0, W g(c, i)) + b)                                                            (Eq. 1)

where g are the same sparse features and the hidden layer is small; in the paper g are means of word vectors and ResNet
features, and the layer has 8,192 units.

Judged examples are scored by a scorer that has seen no example of their image. It learns from the learned part and from
the judged examples of other images.

A control, which must find nothing, learns from targets drawn at random among the options. Its folds teach each other:
examples that offer the same options are right together or wrong together, so that a single control lies further from
chance than the interval over its examples says. What is tested is therefore the mean of several draws, by their spread.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from eyechart.audits.decoys.features import SEEN, HashedFeatures, Matrix, describe, matrix
from eyechart.audits.decoys.options import Flags, Floats, score_picks, where_examples_start
from eyechart.audits.decoys.settings import DecoysSettings
from eyechart.base.errors import MissingExtraError
from eyechart.base.hashing import combine, hash_text, uniform
from eyechart.base.registry import Registry
from eyechart.data.dataset import Dataset
from eyechart.data.protocols import Engine
from eyechart.engines import Local

CONTROL = "control"
CONTROLLED = "I+Q+A"  # the scorer that sees most is the one that would overfit most
MOST_CONTROLLED = 2_000  # examples

Scorer = Callable[[Matrix, Flags, Matrix], Floats]  # features and targets to learn from, features to score -> scores
SCORERS: Registry[Scorer] = Registry(
    "scorer",
    {"logistic": "eyechart.audits.decoys.blind:logistic", "mlp": "eyechart.audits.decoys.blind:mlp"},
)

HIDDEN = 64  # units of the network
EPOCHS = 8
BATCH = 256
RATE = 3e-3
SOLVING = ("sklearn.linear_model", "torch")  # they bring libraries of their own


def score_blindly(
    offers: pl.DataFrame, judged: Flags, data: Dataset, settings: DecoysSettings, engine: Engine | None = None
) -> pl.DataFrame:
    """Score the judged options from each kind of information (a column each), cross-validated by `cluster`."""
    return CrossValidation.of(offers, judged, data, settings).score(engine or Local())


def score_controls(
    offers: pl.DataFrame, judged: Flags, data: Dataset, settings: DecoysSettings, *, draws: int, engine: Engine
) -> pl.DataFrame:
    """Score each judged example by scorers that learned from targets drawn at random (id, and a column for each draw).

    Each is compared with the targets of its own draw.
    """
    targets = {f"draw {draw}": drawn_targets(offers, settings.seed + draw) for draw in range(draws)}
    tasks = {name: BlindTask(SEEN[CONTROLLED], target) for name, target in targets.items()}
    scores = replace(CrossValidation.of(offers, judged, data, settings), tasks=tasks).score(engine)
    scored = offers.filter(judged)
    starts = where_examples_start(scored)
    columns = {name: score_picks(scores[name].to_numpy(), targets[name][judged], starts) for name in targets}
    return pl.DataFrame({"id": scored["id"].gather(starts[:-1]), **columns})


def folds_of(offers: pl.DataFrame, seed: int, folds: int) -> NDArray[np.int64]:
    """Divide options into folds by a hash of (seed, cluster)."""
    return (uniform(hash_text(offers["cluster"], seed)) * folds).astype(np.int64)


def drawn_targets(offers: pl.DataFrame, seed: int) -> Flags:
    """Draw one option of each example by a hash of (seed, id, text)."""
    key = pl.Series("key", combine(hash_text(offers["id"], seed + 1), hash_text(offers["text"])))
    largest = offers.select("id", key).select(pl.col("key") == pl.col("key").max().over("id")).to_series()
    return largest.to_numpy()


class BlindTask(NamedTuple):
    """Which features of the options a scorer sees, and which options it should find."""

    seen: tuple[str, ...]
    target: Flags


@dataclass(frozen=True)
class CrossValidation:
    """Score the judged options of some folds with a scorer that learned from the others.

    A row names the task and the folds. Each fit is a separate batch, so that any engine can run them.
    """

    learner: Scorer
    features: dict[str, HashedFeatures]
    tasks: dict[str, BlindTask]
    fold: NDArray[np.int64]
    judged: Flags

    @classmethod
    def of(cls, offers: pl.DataFrame, judged: Flags, data: Dataset, settings: DecoysSettings) -> Self:
        """Divide the options into folds by a hash of their cluster, to find targets from each kind of information."""
        target = offers["target"].to_numpy()
        tasks = {name: BlindTask(kinds, target) for name, kinds in SEEN.items()}
        fold = folds_of(offers, settings.seed, settings.folds)
        return cls(SCORERS.get(settings.scorer), describe(offers, data), tasks, fold, judged)

    def score(self, engine: Engine) -> pl.DataFrame:
        """Score every judged option by each task (a column each), by what was learned from the other folds."""
        scores = {name: np.zeros(len(self.fold)) for name in self.tasks}
        fits = [(name, (fold,)) for name in self.tasks for fold in np.unique(self.fold[self.judged]).tolist()]
        for fit in self.run(fits, engine):
            scores[fit["task"][0]][fit["row"].to_numpy()] = fit["score"].to_numpy()
        return pl.DataFrame(scores).filter(self.judged)

    def run(self, fits: Iterable[tuple[str, tuple[int, ...]]], engine: Engine) -> Iterable[pl.DataFrame]:
        """Run fits, each given by its task and the folds that it leaves out (row, score, task, folds)."""
        return engine.map(self, (pl.DataFrame({"task": [task], "folds": [list(folds)]}) for task, folds in fits))

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Fit and score (row, score, task, folds); with nothing to learn from, all options score the same."""
        name, folds = batch.row(0)
        kinds, target = self.tasks[name]
        others = ~np.isin(self.fold, folds)
        scored = ~others & self.judged
        scores = np.zeros(int(scored.sum()))
        if target[others].any():
            features = self._matrix(kinds)
            # The last bit of sums over many features depends on the number of threads, and one thread is fastest here.
            with _libraries(tuple(name in sys.modules for name in SOLVING)).limit(limits=1, user_api="blas"):
                scores = self.learner(features[others], target[others], features[scored])
        found = pl.DataFrame({"row": np.flatnonzero(scored), "score": scores})
        return found.with_columns(task=pl.lit(name), folds=pl.lit(folds, pl.List(pl.Int64)))

    def _matrix(self, kinds: tuple[str, ...]) -> Matrix:
        """Build the feature matrix; fits of one kind follow each other, so only the last matrix is kept."""
        if kinds not in self._matrices:
            self._matrices.clear()
            self._matrices[kinds] = matrix(self.features, len(self.fold), kinds)
        return self._matrices[kinds]

    @cached_property
    def _matrices(self) -> dict[tuple[str, ...], Matrix]:
        return {}


@cache
def _libraries(loaded: tuple[bool, ...]) -> ThreadpoolController:  # noqa: ARG001 - once more when others are loaded
    """Find the libraries that compute, which takes as long as a small fit."""
    return ThreadpoolController()


def logistic(train: Matrix, target: Flags, test: Matrix) -> Floats:
    """Fit a logistic regression and return the log-odds of the options to score."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, solver="liblinear", tol=0.01)
    return np.asarray(model.fit(train, target).decision_function(test), dtype=np.float64)


def mlp(train: Matrix, target: Flags, test: Matrix) -> Floats:
    """Train the network of Eq. 1 and return the log-odds of the options to score."""
    try:
        import torch
    except ModuleNotFoundError:
        advice = "pip install 'eyechart[torch]', or take the scorer 'logistic'"
        raise MissingExtraError("torch for the scorer 'mlp'", "none", advice) from None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        first = torch.nn.EmbeddingBag(train.shape[1], HIDDEN, mode="sum")  # W g for sparse g
        last = torch.nn.Linear(HIDDEN, 1)  # U and b
        torch.nn.init.normal_(first.weight, std=0.05)
        wanted = torch.from_numpy(target.astype(np.float32))
        optimizer = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=RATE)
        for _ in range(EPOCHS):
            order = torch.randperm(train.shape[0])
            for start in range(0, len(order), BATCH):
                rows = order[start : start + BATCH]
                odds = last(torch.relu(first(*_bags(train[rows.numpy()])))).squeeze(1)  # Eq. 1
                loss = torch.nn.functional.binary_cross_entropy_with_logits(odds, wanted[rows])
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
                optimizer.step()
        with torch.no_grad():
            odds = last(torch.relu(first(*_bags(test)))).squeeze(1)
        return np.asarray(odds.numpy(), dtype=np.float64)


def _bags(rows: Matrix) -> tuple[object, object, object]:
    """Return the columns of sparse rows, where each row begins, and the weights."""
    import torch

    columns, starts = (torch.from_numpy(part.astype(np.int64)) for part in (rows.indices, rows.indptr[:-1]))
    return columns, starts, torch.from_numpy(rows.data.astype(np.float32))
