"""Train on sets of one size with more and more head examples, and score heads and tails (Fig. 7 of VQA-VS).

    python benchmarks/splits_head_share.py [--images 4000] [--concepts QT,KW,KO] [--steps 600] [--shares 0.1 0.5]

The planted world is divided as always; of its train split as many examples are drawn as make every share possible, by
`eyechart read resplit ... --set recipe=head-share`. Heads and tails of the test split are the same for all of them, and
the last epoch is judged, so that nothing is chosen by a split that resembles either. All trainings take as many steps.
"""

import argparse
import math
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from eyechart.audits.splits import SplitsAudit
from eyechart.audits.splits.resplit import ResplitSettings, make_resplit
from eyechart.data.dataset import Dataset
from eyechart.data.result import Result
from eyechart.formats import read
from eyechart.runs.verbs import audit
from eyechart.zoo.train.trainer import TrainingRequest, train_into

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
BATCH = 64
WATCHED = 200  # examples of val that the trainer scores after each epoch; nothing is chosen by them here


class Point(NamedTuple):
    """One training: its concept, size and share of heads, and what came of it."""

    concept: str
    size: int
    share: float
    result: Result
    seconds: float

    def line(self) -> str:
        """Write a row of the table."""
        measures = self.result.measures.filter(pl.col("name") == "accuracy")
        accuracy = {(one["by"], one["group"]): one for one in measures.iter_rows(named=True)}
        cells = (accuracy[key] for key in ((None, None), (self.concept, "head"), (self.concept, "tail")))
        points = " | ".join(f"{100 * c['value']:.1f} [{100 * c['low']:.1f}, {100 * c['high']:.1f}]" for c in cells)
        return f"| {self.concept} | {self.size:,} | {self.share:.0%} | {points} | {self.seconds:.0f} s |"


def curve(data: Dataset, concept: str, shares: Sequence[float], model: str, steps: int) -> Iterator[Point]:
    """Train with every share of heads of one concept and judge on its heads and tails."""
    for share in shares:
        began = time.perf_counter()
        drawn = make_resplit(data, "head-share", ResplitSettings(share=share, concept=concept))
        size = int((drawn.examples["split"] == "train").sum())
        epochs = math.ceil(steps * BATCH / size)
        wanted = TrainingRequest(model, epochs=epochs, batch=BATCH, rate=0.005, hidden=128, patience=None, device="cpu")
        with tempfile.TemporaryDirectory() as folder:
            train_into(Path(folder), _to_train(drawn), wanted, lambda _: None)
            trained = f"zoo:{folder},weights=last,device=cpu"
            result = audit(data, trained, [SplitsAudit(concepts=(concept,))])["splits"]
        yield Point(concept, size, share, result, time.perf_counter() - began)


def _to_train(drawn: Dataset) -> Dataset:
    """Keep train and a little of val: scoring the rest after every epoch would take most of the time."""
    few = pl.int_range(pl.len()).over("split") < WATCHED
    return drawn.take((pl.col("split") == "train") | ((pl.col("split") == "val") & few))


def main() -> None:
    """Print a row for each training."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=4000)
    parser.add_argument("--model", default="updn")
    parser.add_argument("--concepts", default="QT,KW,KO")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES, help="of heads among the train examples")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    data = read("world", seed=options.seed, images=options.images)
    print("| concept | train examples | heads among them | all judged | head | tail | |\n|---|---|---|---|---|---|---|")
    for concept in options.concepts.split(","):
        for point in curve(data, concept, options.shares, options.model, options.steps):
            print(point.line(), flush=True)


if __name__ == "__main__":
    main()
