"""Diagnose one set of options: what solves it without understanding, its neutrality, and its obvious decoys.

Cues, and scorers that learn from options alone or with parts of the rest, are compared with chance on the same
examples. Decoys of a kind give themselves away as often as a scorer ranks the target above them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from eyechart.audits.decoys.adversaries import Way, find_adversaries
from eyechart.audits.decoys.blind import (
    CONTROL,
    CONTROLLED,
    MOST_CONTROLLED,
    CrossValidation,
    score_controls,
)
from eyechart.audits.decoys.cues import follow_cues
from eyechart.audits.decoys.features import SEEN
from eyechart.audits.decoys.options import CHANCE, Flags, chance, pick, where_examples_start
from eyechart.audits.decoys.settings import JUDGED, LEARNED, ORIG, DecoysSettings
from eyechart.audits.decoys.texts import Int64s
from eyechart.audits.decoys.usage import measure_neutrality, usage_table
from eyechart.audits.measures import make_measure
from eyechart.base.hashing import hash_text
from eyechart.data.dataset import Dataset
from eyechart.data.protocols import Engine
from eyechart.data.result import Better, Measure
from eyechart.statistics import Difference, Estimate, adjust, beyond_known, mean, mean_by

SCORE = "choice"  # an option is right or wrong
# Lower is better for all others, since they lack something. This one sees everything; the control must be at chance.
NO_LEAK = (CONTROLLED, CONTROL)
LEARNED_FROM = "learned from {} of other images"
RANDOM_TARGETS = "learned from targets drawn at random"
CONTROLS = 20  # draws of targets for the control of the data's own options; for made ones it is drawn once
OVER = "{} over chance"  # the measures that verdicts on the data rest on
SOLVERS: dict[str, type[pl.DataType]] = {
    "options": pl.String,
    "solver": pl.String,
    "picks": pl.String,
    **dict.fromkeys(
        ("accuracy", "low", "high", "chance", "over_chance", "over_low", "over_high", "p", "q"), pl.Float64
    ),
    "n": pl.Int64,
    "clusters": pl.Int64,
}
KINDS: dict[str, type[pl.DataType]] = {
    "solver": pl.String,
    "kind": pl.String,
    **dict.fromkeys(("value", "low", "high"), pl.Float64),
    "n": pl.Int64,
    "clusters": pl.Int64,
}


class Solver(NamedTuple):
    """A way to pick among a set of options, and its scores on the judged examples: id, cluster, score, chance."""

    options: str
    way: Way
    scores: pl.DataFrame

    @property
    def name(self) -> str:
        """Name the way."""
        return self.way.name

    @property
    def column(self) -> str:
        """Name the column of its scores among the rows."""
        return f"{self.options} {self.name}"


class SolverResult(NamedTuple):
    """How often a solver is right, how far that is above chance, and the adjusted p-value of that."""

    solver: Solver
    accuracy: Estimate
    over: Difference
    q: float

    def measure(self) -> Measure:
        """Return the accuracy as a measure; its p-value is of no difference from chance."""
        name, condition = self.solver.name, self.solver.options
        better: Better = "neither" if name in NO_LEAK else "lower"
        measure = make_measure(
            name, self.accuracy, of=self.solver.column, condition=condition, score=SCORE, better=better
        )
        return replace(
            measure, p=self.over.p, q=self.q, note=f"{measure.note}; p against chance; {self.solver.way.picks}"
        )

    def measure_over(self) -> Measure:
        """Return the distance from chance as a measure."""
        name, condition = OVER.format(self.solver.name), self.solver.options
        measure = make_measure(name, self.over, of=None, condition=condition, score=SCORE, better="lower")
        return replace(measure, q=self.q)

    def row(self) -> dict[str, object]:
        """Return the row of the table of solvers, with chance and the distance from it."""
        return {
            "options": self.solver.options,
            "solver": self.solver.name,
            "picks": self.solver.way.picks,
            "accuracy": self.accuracy.value,
            "low": self.accuracy.low,
            "high": self.accuracy.high,
            "chance": self.accuracy.value - self.over.value,
            "over_chance": self.over.value,
            "over_low": self.over.low,
            "over_high": self.over.high,
            "p": self.over.p,
            "q": self.q,
            "n": self.accuracy.n,
            "clusters": self.accuracy.clusters,
        }


class Diagnosis(NamedTuple):
    """The findings on one set of options."""

    options: str
    sizes: Int64s  # options of each example
    guess: pl.DataFrame  # of the judged examples: id, cluster, chance
    solvers: list[Solver]
    neutrality: dict[str, float | int]
    usage: pl.DataFrame
    kinds: pl.DataFrame

    def chance_column(self) -> pl.DataFrame:
        """Return the chance of each example (id, and a column named after the options)."""
        return self.guess.select("id", pl.col(CHANCE).alias(f"{self.options} {CHANCE}"))

    def score_columns(self) -> Iterator[pl.DataFrame]:
        """Return the scores of each solver (id, and a column named after options and solver)."""
        return (solver.scores.select("id", pl.col("score").alias(solver.column)) for solver in self.solvers)


def diagnose(
    name: str, offers: pl.DataFrame, about: pl.DataFrame, data: Dataset, settings: DecoysSettings, *, engine: Engine
) -> Diagnosis:
    """Apply all cues and scorers to a set of options sorted by `id`.

    `about` has the id, cluster, part, image and question of each example, and how its options were made. It is joined
    to options only where it is needed: joined to all of them, it would take more memory than they do.
    """
    sizes = np.diff(where_examples_start(offers))
    examples = _join_about(chance(offers), about)
    guess = examples.filter(pl.col("part") == JUDGED).select("id", "cluster", CHANCE)
    sampled = _join_about(offers.filter(np.repeat(_sample(examples, settings.most, settings.seed), sizes)), about)
    judged = (sampled["part"] == JUDGED).to_numpy()
    validation = CrossValidation.of(sampled, judged, data, settings)
    scored, scores = sampled.filter(judged), validation.score(engine)
    full = offers.with_columns(examples["question"].gather(np.repeat(np.arange(len(sizes)), sizes)))
    ways = [
        *_by_cues(full, examples),
        *(_by_scorers(scored, scores) if judged.any() else ()),
        *_by_controls(name, sampled, data, settings, engine=engine),
        *(find_adversaries(sampled, validation, settings, engine) if judged.any() else ()),
    ]
    solvers = [Solver(name, way, _join_chance(way.scores, guess)) for way in ways]
    kinds = kinds_table(scored, scores, settings.kinds if name == ORIG else "")
    neutrality = measure_neutrality(offers, settings.seed)
    return Diagnosis(name, sizes, guess, solvers, neutrality, usage_table(offers), kinds)


def hold_against_chance(solvers: Iterable[Solver]) -> list[SolverResult]:
    """Estimate every solver, and adjust the p-values for all of them together."""
    listed = list(solvers)
    right, over = zip(*map(_estimate_solver, listed), strict=True) if listed else ((), ())
    q = adjust([difference.p for difference in over])
    return [SolverResult(*each) for each in zip(listed, right, over, map(float, q), strict=True)]


def _estimate_solver(solver: Solver) -> tuple[Estimate, Difference]:
    """Estimate the accuracy and its distance from chance, over examples or else over draws."""
    scores, known, clusters = (solver.scores[name] for name in ("score", CHANCE, "cluster"))
    right, over = mean(scores, clusters), beyond_known(scores, known, clusters)
    draws = np.array(solver.way.draws)
    if not draws.size:
        return right, over
    spread, freedom = float(draws.std(ddof=1)) / np.sqrt(draws.size), draws.size - 1.0
    # Where nothing can be learned, every draw is the same guess among all options.
    away = over.value / spread if spread > 0 else 0.0
    half, method = float(stdtrit(freedom, 0.975)) * spread, f"t over {draws.size} draws"
    right = right._replace(low=right.value - half, high=right.value + half, se=spread, method=method)
    p = 2 * float(stdtr(freedom, -abs(away)))
    return right, over._replace(low=over.value - half, high=over.value + half, p=p, se=spread, method=method)


def solver_table(results: Iterable[SolverResult]) -> pl.DataFrame:
    """Build the table of solvers."""
    return pl.DataFrame([result.row() for result in results], schema=SOLVERS)


def measure_chance(rows: pl.DataFrame, options: str, score: str) -> Measure:
    """Average the chance of a guess, which is known for these examples: its interval is a point."""
    estimate = mean(rows[CHANCE], rows["cluster"])
    exact = estimate._replace(low=estimate.value, high=estimate.value, method="none, chance is known")
    return make_measure(CHANCE, exact, of=f"{options} {CHANCE}", condition=options, score=score, better="neither")


def _join_chance(scores: pl.DataFrame, guess: pl.DataFrame) -> pl.DataFrame:
    both = guess.join(scores, on="id", how="inner", validate="1:1", maintain_order="left")
    return both.select("id", "cluster", "score", CHANCE)


def _join_about(rows: pl.DataFrame, about: pl.DataFrame) -> pl.DataFrame:
    return rows.join(about, on="id", how="left", validate="m:1", maintain_order="left")


def _sample(examples: pl.DataFrame, most: int, seed: int) -> Flags:
    """Choose `most` learned or judged examples by a hash of their ids, independent of the one that leaves out some."""
    order = pl.Series("order", hash_text("sampled " + examples["id"], seed))
    used = examples.select(pl.when(pl.col("part").is_not_null()).then(order).alias("order")).to_series()
    return (used.rank("ordinal") <= most).fill_null(value=False).to_numpy()


def _by_cues(offers: pl.DataFrame, examples: pl.DataFrame) -> list[Way]:
    """Apply each cue by the rule that is right most often on the learned part."""
    learn, judged = ((examples["part"] == part).fill_null(value=False) for part in (LEARNED, JUDGED))
    if not judged.any() or not learn.any():
        return []
    rules = follow_cues(offers, learn.gather(offers["id"].rle_id()))
    return [Way(cue, picks, scores) for cue, (picks, scores) in rules.items()]


def _by_scorers(offers: pl.DataFrame, scores: pl.DataFrame) -> list[Way]:
    return [Way(name, LEARNED_FROM.format(name), pick(offers, scores[name])) for name in scores.columns]


def _by_controls(
    name: str, sampled: pl.DataFrame, data: Dataset, settings: DecoysSettings, *, engine: Engine
) -> list[Way]:
    """Let scorers learn from targets drawn at random: on the options of the data many times, on made ones once."""
    used, draws = sampled, 1
    if name == ORIG:
        few = _sample(sampled.unique("id", keep="first", maintain_order=True), MOST_CONTROLLED, settings.seed)
        used, draws = sampled.filter(few[sampled["id"].rle_id()]), CONTROLS
    judged = (used["part"] == JUDGED).to_numpy()
    if not judged.any():
        return []
    right = score_controls(used, judged, data, settings, draws=draws, engine=engine)
    accuracies = right.drop("id").mean().row(0) if draws > 1 else ()
    return [Way(CONTROL, RANDOM_TARGETS, right.select("id", score=pl.mean_horizontal(pl.exclude("id"))), accuracies)]


def kinds_table(offers: pl.DataFrame, scores: pl.DataFrame, column: str) -> pl.DataFrame:
    """Estimate P(score of the target > score of the decoy), ties counting half; guessing gives 0.5.

    `column` lists how each option was made, in the order of the data's options.
    """
    if offers.schema.get(column) != pl.List(pl.String):
        return pl.DataFrame(schema=KINDS)
    # Where an option was left out, the list no longer matches the options.
    complete = pl.col(column).list.len() == pl.len().over("id")
    origin = pl.when(complete).then(pl.col(column).list.get(pl.col("place"), null_on_oob=True))
    typed = offers.select("id", "cluster", "target", kind=origin).hstack(scores)
    estimates = pl.concat([_estimate(_wins(typed, solver), solver) for solver in SEEN])
    return estimates.select(pl.col(name).cast(dtype) for name, dtype in KINDS.items())


def _wins(typed: pl.DataFrame, solver: str) -> pl.DataFrame:
    best = pl.col(solver).filter("target").first().over("id")
    win = (best > pl.col(solver)).cast(pl.Float64) + (best == pl.col(solver)).cast(pl.Float64) / 2
    return typed.with_columns(win.alias("win")).filter(~pl.col("target")).drop_nulls("kind")


def _estimate(part: pl.DataFrame, solver: str) -> pl.DataFrame:
    return mean_by(part, "win", ["kind"], "cluster").with_columns(pl.lit(solver).alias("solver"))
