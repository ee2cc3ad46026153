"""Bring back Tables 6 and 7 of the Perceptual Score: three modalities whose label is a*b + c, and two classifiers.

    python benchmarks/perception_synthetic.py [--repeats 5] [--quick] [--examples 1000] [--draws 20] [--record]

Data as in section 4.5, with its slips mended: a and b from N(0, 1), c from N(0, sd) with the printed Var(c) as the
standard deviation, |a*b + c| <= 0.25 rejected, label [a*b + c > 0]; each is multiplied onto a fixed direction of 2000,
1000 and 100 numbers from U(-1, 1); 1,000 train and 1,000 test examples. Donors are the paper's (`uniform`), 20 draws.
The classifiers are scikit-learn's, asked by the audit; the oracle knows the rule. Figures are means over data sets.
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from eyechart import Dataset, Images
from eyechart.audits.perception import PerceptionAudit
from eyechart.data.predictions import Predictions
from eyechart.engines import Local
from eyechart.models.asking import AnswerStep, ask
from record import Row, add_flag
from tables import Layout, lay_out, report

SIZES = {"a": 2000, "b": 1000, "c": 100}
SPREADS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
QUICK = (0.3, 0.5, 0.7, 1.0)
DRAWS = 20
# As printed: Acc, P_a, P_b, P_c, majority.
TABLE_6 = {
    0.0: (48, -0.9, -2.04, 0, 48.3),
    0.1: (50.1, -1.39, 1.14, 0.65, 50.4),
    0.2: (55.8, -0.08, 0.59, 5.86, 50.6),
    0.3: (63.2, 3.65, 1.59, 13.9, 49.4),
    0.4: (66, 1.34, 1.29, 16.16, 50.2),
    0.5: (72.3, 0.61, 1.36, 22.12, 47.5),
    0.6: (76.5, 0.48, 1.02, 27.57, 49.4),
    0.7: (76.6, 0.74, 0.93, 26.34, 51.5),
    0.8: (79.7, 0.47, 0.58, 29.94, 51.1),
    0.9: (79.6, -0.8, -0.76, 30, 47.5),
    1.0: (81.9, 0.27, 0.53, 31.54, 52.2),
}
TABLE_7 = {
    0.0: (100, 49.85, 50.1, 0, 50.4),
    0.1: (99.9, 49.98, 50.02, 0, 48),
    0.2: (98.7, 47.3, 47.28, 1.54, 49.2),
    0.3: (96.2, 41.59, 42.62, 6.24, 51.6),
    0.4: (96.1, 38.21, 37.95, 11.41, 47.1),
    0.5: (95.1, 33.32, 33.63, 17.47, 54.2),
    0.6: (96.7, 31.54, 31.18, 22.14, 51.8),
    0.7: (95.1, 28.34, 28.63, 22.61, 50.3),
    0.8: (94.6, 26.5, 26.55, 25.93, 50.6),
    0.9: (95.3, 23.92, 22.73, 29.08, 47.7),
    1.0: (96.7, 22.47, 21.84, 32.58, 50.1),
}


@dataclass(frozen=True)
class Sample:
    """The scalars of each modality, the directions they are multiplied onto, and the labels."""

    scalars: npt.NDArray[np.float64]
    directions: dict[str, npt.NDArray[np.float64]]
    labels: npt.NDArray[np.bool_]

    def features(self, scalars: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Multiply scalars onto their directions, side by side."""
        return np.hstack(
            [np.outer(column, self.directions[name]) for column, name in zip(scalars.T, SIZES, strict=True)]
        )


def make_sample(spread: float, n: int, seed: int) -> Sample:
    """Draw examples until enough are far from the boundary."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=(20 * n, 3)) * [1, 1, spread]
    value = drawn[:, 0] * drawn[:, 1] + drawn[:, 2]
    kept = np.flatnonzero(np.abs(value) > 0.25)[:n]
    directions = {name: rng.uniform(-1, 1, size) for name, size in SIZES.items()}
    return Sample(drawn[kept], directions, value[kept] > 0)


def make_dataset(sample: Sample, n_train: int) -> Dataset:
    """Name each scalar as the content of a modality; a model looks its numbers up."""
    n = len(sample.labels)
    columns = {name: pl.Series(sample.scalars[:, i]).cast(pl.String) for i, name in enumerate(SIZES)}
    examples = pl.DataFrame(
        {
            "id": [f"{i:05}" for i in range(n)],
            "image": pl.Series([None] * n, dtype=pl.String),
            "question": pl.Series([None] * n, dtype=pl.String),
            "answer": np.where(sample.labels, "1", "0"),
            "split": ["train"] * n_train + ["test"] * (n - n_train),
            **columns,
        }
    )
    return Dataset("synthetic", examples, Images.named(examples["image"]), tuple(SIZES), "id")


@dataclass
class Classifier:
    """Answer with a fitted classifier, or with the rule itself."""

    name: str
    sample: Sample
    fitted: Any = field(default=None)

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:  # noqa: ARG002 - the contract of a model
        """Predict the label of what is shown."""
        scalars = probes.select(pl.col(tuple(SIZES)).cast(pl.Float64)).to_numpy()
        if self.fitted is None:
            predicted = scalars[:, 0] * scalars[:, 1] + scalars[:, 2] > 0
        else:
            predicted = self.fitted.predict(self.sample.features(scalars))
        return pl.DataFrame({"id": probes["id"], "answer": np.where(predicted, "1", "0")})


def fit(kind: str, sample: Sample, n_train: int) -> Classifier:
    """Train a classifier on the first examples."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    if kind == "oracle":
        return Classifier(kind, sample)
    chosen = (
        LogisticRegression(max_iter=1000) if kind == "logistic" else MLPClassifier((100,), max_iter=300, random_state=0)
    )
    return Classifier(kind, sample, chosen.fit(sample.features(sample.scalars[:n_train]), sample.labels[:n_train]))


class Plan(NamedTuple):
    """How many data sets of as many train as test examples, and how many donors of each example."""

    repeats: int
    examples: int
    draws: int


KINDS = ("logistic", "network", "oracle")
SCORES = ("accuracy", *SIZES)


def measure(kind: str, spread: float, seed: int, plan: Plan) -> Row:
    """Audit a classifier on one data set: accuracy, the three scores, the majority's accuracy."""
    audit = PerceptionAudit(donors="uniform", draws=plan.draws, published="tables-6-7", score="exact")
    sample = make_sample(spread, 2 * plan.examples, 100 * seed + round(10 * spread))
    data, model = make_dataset(sample, plan.examples), fit(kind, sample, plan.examples)
    study = audit.study(data, Local())
    step = AnswerStep(model, data.images)
    answers = [part for _, probes in audit.probe(data, study) for part in ask(step, probes, data, Local(), 5000)]
    result = audit.judge(data, study, Predictions(kind, pl.concat(answers)), Local())
    scores = {name: result.measure("perception", name).value for name in SIZES}
    ends = {name: result.measure(name, "plain").value for name in ("accuracy", "majority")}
    return {"classifier": kind, "spread": spread, "seed": seed} | scores | ends


def compare(rows: list[Row], kind: str, printed: Mapping[float, tuple[float, ...]], *, oracle: bool) -> Iterator[str]:
    """Write our means over data sets beside the paper's figures, and beside those of an oracle."""
    found = []
    for spread in dict.fromkeys(row["spread"] for row in rows):
        pairs = zip(_means(rows, kind, spread), printed[spread], strict=False)
        cells = [f"{ours:z.1f}, {theirs:z.1f}" for ours, theirs in pairs]
        known = ", ".join(f"{each:z.1f}" for each in _means(rows, "oracle", spread)[1:])
        found.append({"spread": f"{spread:g}", "cells": " | ".join([*cells, known] if oracle else cells)})
    head = "| Var(c) | Acc: ours, paper | P_a | P_b | P_c |" + (" oracle's P_a, P_b, P_c |" if oracle else "")
    return lay_out(head, "| {spread} | {cells} |", found)


def _means(rows: list[Row], kind: str, spread: float) -> list[float]:
    own = [row for row in rows if (row["classifier"], row["spread"]) == (kind, spread)]
    return [100 * fmean(row[name] for row in own) for name in SCORES]


LAYOUTS: dict[str, Layout] = {
    "6": partial(compare, kind="logistic", printed=TABLE_6, oracle=False),
    "7": partial(compare, kind="network", printed=TABLE_7, oracle=True),
}


def main() -> None:
    """Print Table 6, with logistic regression, and Table 7, with a network of one hidden layer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="data sets")
    parser.add_argument("--quick", action="store_true", help="few spreads")
    parser.add_argument("--spreads", type=float, nargs="+", choices=SPREADS, default=SPREADS)
    parser.add_argument("--examples", type=int, default=1000, help="for training, and as many for the test")
    parser.add_argument("--draws", type=int, default=DRAWS, help="donors of each example")
    add_flag(parser)
    given = parser.parse_args()
    spreads = QUICK if given.quick else tuple(given.spreads)
    plan = Plan(given.repeats, given.examples, given.draws)
    seeds = range(plan.repeats)
    rows = [measure(kind, spread, seed, plan) for kind in KINDS for spread in spreads for seed in seeds]
    report("perception_synthetic", LAYOUTS, rows, kept=given.record)


if __name__ == "__main__":
    main()
