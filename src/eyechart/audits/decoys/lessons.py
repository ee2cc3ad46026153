"""Cross-validated fits, each a batch that any engine can learn: one kind of information, one part left out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from threadpoolctl import threadpool_limits

from eyechart.audits.decoys.features import Block, Matrix, matrix
from eyechart.protocols import Engine

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Scorer = Callable[[Matrix, Flags, Matrix], Floats]  # features and targets to learn from, features to score -> scores


class Course(NamedTuple):
    """What is seen of the options, and which of them are to be found."""

    seen: tuple[str, ...]
    target: Flags


@dataclass(frozen=True)
class Lessons:
    """Score the options of one part by what the others teach, for a course and a part named in a row."""

    learner: Scorer
    blocks: dict[str, Block]
    courses: dict[str, Course]
    fold: npt.NDArray[np.int64]

    @cached_property
    def _features(self) -> dict[tuple[str, ...], Matrix]:
        return {}

    def __call__(self, lesson: pl.DataFrame) -> pl.DataFrame:
        """Learn and score (course, row, score); with nothing to learn from all options are alike."""
        name, part = lesson.row(0)
        seen, target = self.courses[name]
        here = self.fold == part
        scores = np.zeros(int(here.sum()))
        if target[~here].any():
            features = self._see(seen)
            # Sums over many features depend on the number of threads in their last bit, and one is the fastest here.
            with threadpool_limits(1, "blas"):
                scores = self.learner(features[~here], target[~here], features[here])
        return pl.DataFrame({"row": np.flatnonzero(here), "score": scores}).with_columns(course=pl.lit(name))

    def _see(self, seen: tuple[str, ...]) -> Matrix:
        """Lay out the features; lessons of one kind come after each other, so only the last are kept."""
        if seen not in self._features:
            self._features.clear()
            self._features[seen] = matrix(self.blocks, len(self.fold), seen)
        return self._features[seen]

    def run(self, engine: Engine) -> pl.DataFrame:
        """Take all lessons: a column of scores for each course."""
        scores = {name: np.zeros(len(self.fold)) for name in self.courses}
        for found in engine.map(self, self._plan()):
            scores[found["course"][0]][found["row"].to_numpy()] = found["score"].to_numpy()
        return pl.DataFrame(scores)

    def _plan(self) -> Iterator[pl.DataFrame]:
        for name in self.courses:
            for part in np.unique(self.fold).tolist():
                yield pl.DataFrame({"course": [name], "part": [part]})
