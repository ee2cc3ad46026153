"""Show how often the 95 % intervals of the perception audit cover the truth for new examples and new donors.

    python benchmarks/perception_coverage.py [--repeats 1000] [--record]

A cell is a world whose truth is known in closed form: a picture has a mood for each question, the answer is that mood
in nine of ten cases and any other answer else, and the model says the mood of the picture it is shown, four times that
of another. In a mixture it reads only some questions and says the most frequent answer to the rest. The scores are
simulated directly and given to the statistics that the audit calls; `fixed` are the same intervals with the donors
taken as given, as before.
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eyechart.statistics import Draws, mean, paired_difference, ratio
from record import Row, add_flag
from tables import Layout, lay_out, report

DRAWS = 4
RIGHT = 0.9  # of the answers are the mood
ALIKE = 0.7  # of the questions of an image have the mood of the image
MEASURES = ("perception", "perception / model", "perception / task", "accuracy without")


@dataclass(frozen=True)
class Cell:
    """A world: the probabilities of the moods, images, questions of each, and the share that the model reads."""

    moods: tuple[float, ...]
    images: int
    questions: int
    read: float = 1.0

    def truth(self) -> dict[str, float]:
        """Compute the true measures."""
        p = np.array(self.moods)
        y = RIGHT * p + (1 - RIGHT) * (1 - p) / (p.size - 1)
        most = float(y[0])
        lost, accuracy = self.read * (RIGHT - float(p @ y)), self.read * RIGHT + (1 - self.read) * most
        return dict(zip(MEASURES, (lost, lost / accuracy, lost / (1 - most), accuracy - lost), strict=True))


MANY = tuple(np.full(20, 0.05).tolist())
CELLS = {
    "yes / no, 80 : 20, one question": Cell((0.8, 0.2), 600, 1),
    "yes / no, 80 : 20": Cell((0.8, 0.2), 150, 2),
    "yes / no, 65 : 35": Cell((0.65, 0.35), 150, 2),
    "yes / no, 50 : 50": Cell((0.5, 0.5), 150, 2),
    "20 answers": Cell(MANY, 150, 2),
    "skewed answers": Cell((0.5, 0.2, 0.1, 0.1, 0.05, 0.05), 150, 2),
    "yes / no, 65 : 35, five questions": Cell((0.65, 0.35), 100, 5),
    "yes / no, 80 : 20, reads three of ten": Cell((0.8, 0.2), 150, 2, 0.3),
    "yes / no, 65 : 35, reads seven of ten": Cell((0.65, 0.35), 150, 2, 0.7),
}


class Sample(NamedTuple):
    """The scores of a sample with and without the picture, the majority's, and what was drawn."""

    plain: npt.NDArray[np.float64]
    without: npt.NDArray[np.float64]
    majority: npt.NDArray[np.float64]
    draws: Draws


def draw_sample(cell: Cell, rng: np.random.Generator) -> Sample:
    """Draw pictures, questions, answers and donors."""
    kinds, shape = len(cell.moods), (cell.images, cell.questions)
    whole = rng.choice(kinds, (cell.images, 1), p=cell.moods)
    moods = np.where(rng.random(shape) < ALIKE, whole, rng.choice(kinds, shape, p=cell.moods))
    own, question = np.repeat(np.arange(cell.images), cell.questions), np.tile(np.arange(cell.questions), cell.images)
    mood = moods[own, question]
    answer = np.where(rng.random(own.size) < RIGHT, mood, (mood + rng.integers(1, kinds, own.size)) % kinds)
    donor = rng.integers(0, cell.images - 1, (own.size, DRAWS))
    donor += donor >= own[:, None]
    reads = rng.random(own.size) < cell.read
    says = np.where(reads[:, None], moods[donor, question[:, None]], 0)
    scores = (says == answer[:, None]).astype(np.float64)
    row = np.repeat(np.arange(own.size), DRAWS)
    share, kind = np.full(row.size, 1 / DRAWS), np.zeros(row.size, np.int64)
    draws = Draws(own, row, donor.ravel(), scores.ravel(), share, kind)
    plain = (np.where(reads, mood, 0) == answer).astype(np.float64)
    return Sample(plain, scores.mean(axis=1), (answer == 0).astype(np.float64), draws)


def estimate(sample: Sample, *, fixed: bool) -> Iterator[tuple[float, float, float]]:
    """Estimate every measure with its interval, as the audit does."""
    plain, without, majority, draws = sample
    lost = None if fixed else draws._replace(value=plain[draws.row] - draws.value)
    clusters = draws.clusters
    yield paired_difference(plain, without, clusters, flips=9, draws=lost)[:3]
    yield ratio(plain - without, plain, clusters, draws=500, taken=lost)[:3]
    yield ratio(plain - without, 1 - majority, clusters, draws=500, taken=lost)[:3]
    yield mean(without, clusters, draws=None if fixed else draws)[:3]


def measure_cell(name: str, repeats: int) -> Iterator[Row]:
    """Count for every measure how often its intervals cover the truth."""
    cell, rng = CELLS[name], np.random.default_rng(list(CELLS).index(name))
    samples = [draw_sample(cell, rng) for _ in range(repeats)]
    found, fixed = ([list(estimate(each, fixed=alone)) for each in samples] for alone in (False, True))
    for index, (measure, truth) in enumerate(cell.truth().items()):
        own, old = ([each[index] for each in several] for several in (found, fixed))
        covered, before = (fmean(low <= truth <= high for _, low, high in each) for each in (own, old))
        estimates = {"truth": truth, "mean": fmean(value for value, _, _ in own), "covered": covered, "fixed": before}
        widths = {"width": fmean(high - low for _, low, high in own), "width fixed": fmean(b - a for _, a, b in old)}
        numbers = {key: round(value, 6) for key, value in (estimates | widths).items()}
        yield {"cell": name, "images": cell.images, "repeats": repeats, "measure": measure} | numbers


def lay_out_coverage(rows: list[Row]) -> Iterator[str]:
    """Write how often the intervals cover the truth."""
    head = "| world | images | measure | truth | mean | coverage | donors as given | width | donors as given |"
    line = "| {cell} | {images} | {measure} | {truth:points} | {mean:points} | {covered:points} | {fixed:points} "
    return lay_out(head, line + "| {width:points} | {width fixed:points} |", rows)


LAYOUTS: dict[str, Layout] = {"coverage": lay_out_coverage}


def main() -> None:
    """Print the table, and the mean coverage with the error that the number of repeats leaves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=1000, help="samples of each cell")
    add_flag(parser)
    given = parser.parse_args()
    rows = [row for name in CELLS for row in measure_cell(name, given.repeats)]
    report("perception_coverage", LAYOUTS, rows, kept=given.record)
    error = 100 * math.sqrt(0.95 * 0.05 / given.repeats)
    print(f"mean coverage {100 * fmean(row['covered'] for row in rows):.1f}; of one cell +- {error:.1f}")


if __name__ == "__main__":
    main()
