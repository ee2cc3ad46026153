"""The answers as scores: of each example as it is, and without each modality as the mean over its draws.

Two errors are separated. With n examples, m_i draws of example i and s_i^2 their variance,

    SE_draws^2 = sum_i s_i^2 / m_i / n^2          SE_examples^2 = SE^2 - SE_draws^2

where SE is the clustered standard error of the scores P_i, which includes both. The donor pool is held fixed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from eyechart.audits.measures import MeasureFields, count_unscored, make_measure, score_rows
from eyechart.data.predictions import Predictions
from eyechart.data.probes import Removal
from eyechart.data.protocols import Engine
from eyechart.data.result import Measure
from eyechart.scoring import SCORES
from eyechart.statistics import mean, mean_by, paired_difference

REFERENCES = ("answer", "answers", "choices", "relevance")
LOST_AS = {"wrong": 0.0, "right": 1.0}
WORST = "perception, lost as right"  # as if the modality were not needed
REPEATS = {
    "removed": pl.String,
    "repeat": pl.Int64,
    "perception": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
}


def changed(name: str) -> str:
    """Name the column of how often the answer changes without a modality."""
    return f"changed {name}"


def without(name: str) -> str:
    """Name the column of the scores without a modality."""
    return f"without {name}"


def perceived(name: str) -> str:
    """Name the column of the sample perceptual scores."""
    return f"perception {name}"


class DrawScores(NamedTuple):
    """The scores by example and draw, the answers, the ids without a score, and counts of all probes."""

    scores: pl.DataFrame  # id, k, score
    answers: pl.DataFrame  # id, k, given
    lost: pl.DataFrame  # id, k
    counts: pl.DataFrame

    @classmethod
    def unite(cls, parts: list["DrawScores"]) -> Self:
        """Combine several draws, in the order of ids and draws."""
        scores, answers, lost, counts = (pl.concat(tables) for tables in zip(*parts, strict=True))
        return cls(scores.sort("id", "k"), answers.sort("id", "k"), lost.sort("id", "k"), counts)

    def with_lost_as(self, value: float) -> pl.DataFrame:
        """Return the scores with this value for every lost answer."""
        lost = self.lost.select("id", "k", pl.lit(value).alias("score"))
        return pl.concat([self.scores, lost]).sort("id", "k")

    def error(self, rows: pl.DataFrame) -> float | None:
        """Estimate the standard error due to the draws; None where no example has two of them."""
        scores = self.scores.join(rows, on="id", how="semi").sort("id", "k")
        # Of a list the variance is the same every time; that of a group is added up from parts, one for each thread.
        each = scores.group_by("id", maintain_order=True).agg(pl.len().alias("m"), "score")
        each = each.with_columns(pl.col("score").list.var().alias("spread"))
        if each["spread"].null_count() == each.height:
            return None
        mean_spread = each["spread"].mean()
        squares = each.select((pl.col("spread").fill_null(mean_spread) / pl.col("m")).sum()).item()
        return float(np.sqrt(squares)) / each.height


@dataclass(frozen=True)
class AnswerScorer:
    """Score the answers of a model to the examples with their references."""

    examples: pl.DataFrame
    how: str
    predictions: Predictions
    engine: Engine

    def score(self, condition: str, k: int, ids: pl.Series) -> DrawScores:
        """Score the answers under one condition, draw k, to the examples that were asked."""
        examples = self.examples.join(ids.to_frame("id"), on="id", how="semi", maintain_order="left")
        answered = self.predictions.beside(examples, condition)
        rows = score_rows(answered, self.how, engine=self.engine)
        draw = pl.lit(k).alias("k")
        first = answered.table.group_by("id", maintain_order=True).agg(pl.col("given").first())
        return DrawScores(
            rows.select("id", draw, pl.col("accuracy").alias("score")),
            first.select("id", draw, "given"),
            examples.select("id", draw).join(rows, on="id", how="anti"),
            count_unscored(answered, rows).with_columns(pl.lit(condition).alias("condition")),
        )


def referenced(examples: pl.DataFrame, how: str) -> pl.DataFrame:
    """Keep the columns of the examples that the score reads."""
    needed = {name for name in SCORES[how].needs if name in REFERENCES} | {"answer"}
    return examples.select("id", "cluster", *sorted(needed)).sort("id")


@dataclass(frozen=True)
class ModelScores:
    """The scores of a model on the examples as they are, and under each removal."""

    plain: DrawScores
    removed: dict[Removal, DrawScores]

    def own_answers(self) -> pl.DataFrame:
        """List the answers to the examples as they are, in a column `own`."""
        return self.plain.answers.select("id", pl.col("given").alias("own"))

    def by_example(self, removal: Removal) -> pl.DataFrame:
        """Average the draws of each example: its score without the modality, and how often its answer changed."""
        draws = self.removed[removal]
        scores = draws.scores.group_by("id", maintain_order=True).agg(
            pl.col("score").mean().alias(without(removal.name))  # Eq. 3
        )
        both = draws.answers.join(self.own_answers(), on="id", validate="m:1", maintain_order="left")
        differs = pl.col("given").ne_missing(pl.col("own")).cast(pl.Float64).mean()
        moved = both.group_by("id", maintain_order=True).agg(differs.alias(changed(removal.name)))
        return scores.join(moved, on="id", how="left", validate="1:1", maintain_order="left")

    def errors(self, rows: pl.DataFrame) -> pl.DataFrame:
        """List both standard errors of every score, and the mean number of draws."""
        lines = []
        for removal, draws in self.removed.items():
            part = rows.drop_nulls(perceived(removal.name))
            if part.is_empty():
                continue
            total = mean(part[perceived(removal.name)], part["cluster"], kind="differences").se
            drawing = draws.error(part) if removal.draws(2) > 1 else 0.0
            items = None if drawing is None else float(np.sqrt(max(total**2 - drawing**2, 0.0)))
            n_draws = draws.scores.join(part, on="id", how="semi").height / part.height
            lines.append((removal.name, part.height, n_draws, items, drawing, total))
        schema = {"removed": pl.String, "n": pl.Int64, "draws": pl.Float64, "examples_se": pl.Float64}
        return pl.DataFrame(lines, schema=schema | {"draws_se": pl.Float64, "se": pl.Float64}, orient="row")

    def repeats(self, rows: pl.DataFrame, draws: int) -> pl.DataFrame:
        """Estimate the score of each repeat alone, whose spread is the +- of the paper."""
        own = self.plain.scores.select("id", pl.col("score").alias("own")).join(rows.select("id", "cluster"), on="id")
        parts = []
        for removal, each in self.removed.items():
            if removal.draws(2) == 1:
                continue
            losses = each.scores.join(own, on="id", validate="m:1", maintain_order="left").with_columns(
                (pl.col("k") // draws).cast(pl.Int64).alias("repeat"), (pl.col("own") - pl.col("score")).alias("lost")
            )
            means = mean_by(losses.drop_nulls("lost"), "lost", ["repeat"], "cluster", kind="differences")
            renamed = means.rename({"value": "perception"})
            parts.append(renamed.select(pl.lit(removal.name).alias("removed"), *list(REPEATS)[1:]))
        return pl.concat([pl.DataFrame(schema=REPEATS), *parts])

    def bounds(self, rows: pl.DataFrame, how: str) -> Iterator[Measure]:
        """Bound each score with lost answers by counting these as wrong, and as right.

        An example whose plain answer was lost counts as wrong.
        """
        own = self.plain.with_lost_as(0.0).select("id", pl.col("score").alias("own"))
        for removal, draws in self.removed.items():
            if not self.plain.lost.height and not draws.lost.height:
                continue
            for word, value in LOST_AS.items():
                means = draws.with_lost_as(value).group_by("id", maintain_order=True).agg(pl.col("score").mean())
                both = rows.join(own, on="id", validate="1:1").join(means, on="id", validate="1:1").sort("id")
                difference = paired_difference(both["own"], both["score"], both["cluster"])
                key = MeasureFields(condition=removal.name, score=how, better="higher")
                yield make_measure(f"perception, lost as {word}", difference, of=None, **key)
