"""Blind baselines: what a fast learned scorer solves from A, Q + A, I + A and I + Q + A (Sect. 3.1).

As in the paper a scorer f(c, i) learns from (example, option) rows whether the option is the target, by the binary
logistic loss, and the option of the highest score is picked. Here f is a logistic regression over sparse features;
the scorer `mlp`, for those who have torch, is the paper's network with one hidden layer,

    f(c, i) = sigmoid(U max(0, W g(c, i)) + b)                                                            (Eq. 1)

where g are the same sparse features and the hidden layer is small; in the paper g are means of word vectors and ResNet
features, and the layer has 8,192 units.

Judged examples are scored by a scorer that has seen no example of their image. It learns from the learned part and from
the judged examples of other images. A control, which must find nothing, learns from targets drawn at random among the
options.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from eyechart.audits.decoys.features import SEEN, HashedFeatures, Matrix, describe, matrix
from eyechart.audits.decoys.options import Flags, Floats, pick
from eyechart.audits.decoys.settings import DecoysSettings
from eyechart.base.errors import MissingExtraError
from eyechart.base.hashing import combine, hash_text, uniform
from eyechart.base.registry import Registry
from eyechart.data.dataset import Dataset
from eyechart.data.protocols import Engine
from eyechart.engines.local import Local

CONTROL = "control"
CONTROLLED = "I+Q+A"  # the scorer that sees most is the one that would overfit most

Scorer = Callable[[Matrix, Flags, Matrix], Floats]  # features and targets to learn from, features to score -> scores
SCORERS: Registry[Scorer] = Registry(
    "scorer",
    {"logistic": "eyechart.audits.decoys.blind:logistic", "mlp": "eyechart.audits.decoys.blind:mlp"},
)

HIDDEN = 64  # units of the network
EPOCHS = 8
BATCH = 256
RATE = 3e-3


def score_blindly(
    offers: pl.DataFrame, judged: Flags, data: Dataset, settings: DecoysSettings, engine: Engine | None = None
) -> pl.DataFrame:
    """Score the judged options from each kind of information (a column each), cross-validated by `cluster`."""
    fold = (uniform(hash_text(offers["cluster"], settings.seed)) * settings.folds).astype(np.int64)
    target = offers["target"].to_numpy()
    tasks = {name: BlindTask(kinds, target) for name, kinds in SEEN.items()}
    tasks[CONTROL] = BlindTask(SEEN[CONTROLLED], drawn_targets(offers, settings.seed))
    validation = CrossValidation(SCORERS.get(settings.scorer), describe(offers, data), tasks, fold, judged)
    return validation.run(engine or Local())


def solved(offers: pl.DataFrame, scores: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Compute how well each scorer solves each example; the control is compared with the targets it learned from."""
    control_offers = offers.with_columns(pl.Series("target", drawn_targets(offers, seed)))
    solutions = offers.select(pl.col("id").unique(maintain_order=True))
    for name in scores.columns:
        picked = pick(control_offers if name == CONTROL else offers, scores[name], name)
        solutions = solutions.join(picked, on="id", validate="1:1", maintain_order="left")
    return solutions


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
    """Score the judged options of one fold with a scorer that learned from the others.

    A row names the task and the fold.

    Each fit is a separate batch, so that any engine can run them.
    """

    learner: Scorer
    features: dict[str, HashedFeatures]
    tasks: dict[str, BlindTask]
    fold: NDArray[np.int64]
    judged: Flags

    def run(self, engine: Engine) -> pl.DataFrame:
        """Run all fits, and return a column of scores for each task, a row for each judged option."""
        scores = {name: np.zeros(len(self.fold)) for name in self.tasks}
        for part in engine.map(self, self._plan()):
            scores[part["task"][0]][part["row"].to_numpy()] = part["score"].to_numpy()
        return pl.DataFrame(scores).filter(self.judged)

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Fit and score (task, row, score); with nothing to learn from, all options score the same."""
        name, fold = batch.row(0)
        kinds, target = self.tasks[name]
        others = self.fold != fold
        scored = ~others & self.judged
        scores = np.zeros(int(scored.sum()))
        if target[others].any():
            features = self._matrix(kinds)
            # The last bit of sums over many features depends on the number of threads, and one thread is fastest here.
            with threadpool_limits(1, "blas"):
                scores = self.learner(features[others], target[others], features[scored])
        return pl.DataFrame({"row": np.flatnonzero(scored), "score": scores}).with_columns(task=pl.lit(name))

    def _plan(self) -> Iterator[pl.DataFrame]:
        for name in self.tasks:
            for fold in np.unique(self.fold[self.judged]).tolist():
                yield pl.DataFrame({"task": [name], "fold": [fold]})

    def _matrix(self, kinds: tuple[str, ...]) -> Matrix:
        """Build the feature matrix; fits of one kind follow each other, so only the last matrix is kept."""
        if kinds not in self._matrices:
            self._matrices.clear()
            self._matrices[kinds] = matrix(self.features, len(self.fold), kinds)
        return self._matrices[kinds]

    @cached_property
    def _matrices(self) -> dict[tuple[str, ...], Matrix]:
        return {}


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
