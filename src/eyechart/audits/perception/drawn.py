"""The answers as scores: of each example as it is, and without each modality as the mean over its draws.

Two errors are kept apart. With n examples, m_i draws of example i and s_i^2 their variance,

    SE_draws^2 = sum_i s_i^2 / m_i / n^2          SE_examples^2 = SE^2 - SE_draws^2

where SE is the clustered standard error of the scores P_i, which holds both. The donor pool is held fixed.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.measuring import count_unscored, score_rows
from eyechart.audits.perception.removals import Removal
from eyechart.predictions import Predictions
from eyechart.protocols import Engine
from eyechart.scoring import SCORES, score
from eyechart.statistics import mean, mean_by

REFERENCES = ("answer", "answers", "choices", "relevance")


class Drawn(NamedTuple):
    """Scores by example and draw, what was answered, which ids have no score, and what became of all probes."""

    scores: pl.DataFrame  # id, k, score
    said: pl.DataFrame  # id, k, said
    lost: pl.DataFrame  # id, k
    counts: pl.DataFrame


class Given(NamedTuple):
    """All answers: to the examples as they are, and under each removal."""

    plain: Drawn
    removed: dict[Removal, Drawn]


class Judged(NamedTuple):
    """The examples with their references, how they are scored, the answers, and where they are scored."""

    examples: pl.DataFrame
    how: str
    predictions: Predictions
    engine: Engine

    def read(self, condition: str, k: int, ids: pl.Series) -> Drawn:
        """Score the answers of one condition to the examples that were asked."""
        asked = self.examples.join(ids.to_frame("id"), on="id", how="semi", maintain_order="left")
        answered = self.predictions.beside(asked, condition)
        rows = score_rows(answered, self.how, engine=self.engine)
        draw = pl.lit(k).alias("k")
        first = answered.table.group_by("id", maintain_order=True).agg(pl.col("given").first().alias("said"))
        return Drawn(
            rows.select("id", draw, pl.col("accuracy").alias("score")),
            first.select("id", draw, "said"),
            asked.select("id", draw).join(rows, on="id", how="anti"),
            count_unscored(answered, rows).with_columns(pl.lit(condition).alias("condition")),
        )


def referenced(examples: pl.DataFrame, how: str) -> pl.DataFrame:
    """Keep what the score reads of the examples."""
    needed = {name for name in SCORES[how].needs if name in REFERENCES} | {"answer"}
    return examples.select("id", "cluster", *sorted(needed)).sort("id")


def put_together(parts: list[Drawn]) -> Drawn:
    """Unite several draws, in the order of ids and draws."""
    scores, said, lost, counts = (pl.concat(tables) for tables in zip(*parts, strict=True))
    return Drawn(scores.sort("id", "k"), said.sort("id", "k"), lost.sort("id", "k"), counts)


def by_example(given: Given, removal: Removal) -> pl.DataFrame:
    """Average the draws of each example: its score without the modality, and how often its answer changed."""
    drawn = given.removed[removal]
    scores = drawn.scores.group_by("id", maintain_order=True).agg(
        pl.col("score").mean().alias(without(removal.name))  # Eq. 3
    )
    own = given.plain.said.select("id", pl.col("said").alias("own"))
    both = drawn.said.join(own, on="id", validate="m:1", maintain_order="left")
    other = pl.col("said").ne_missing(pl.col("own")).cast(pl.Float64).mean()
    moved = both.group_by("id", maintain_order=True).agg(other.alias(changed(removal.name)))
    return scores.join(moved, on="id", how="left", validate="1:1", maintain_order="left")


def changed(name: str) -> str:
    """Name the column of how often the answer is another without a modality."""
    return f"changed {name}"


def without(name: str) -> str:
    """Name the column of the scores without a modality."""
    return f"without {name}"


def perceived(name: str) -> str:
    """Name the column of the sample perceptual scores."""
    return f"perception {name}"


def draws_error(drawn: Drawn, rows: pl.DataFrame) -> float | None:
    """Estimate the standard error that the draws bring in; None where no example has two of them."""
    seen = drawn.scores.join(rows, on="id", how="semi").sort("id", "k")
    # Of a list the variance is the same every time; that of a group is put together from parts, one for each thread.
    each = seen.group_by("id", maintain_order=True).agg(pl.len().alias("m"), "score")
    each = each.with_columns(pl.col("score").list.var().alias("spread"))
    if each["spread"].null_count() == each.height:
        return None
    usual = each["spread"].mean()
    squares = each.select((pl.col("spread").fill_null(usual) / pl.col("m")).sum()).item()
    return float(np.sqrt(squares)) / each.height


def errors_table(rows: pl.DataFrame, removals: dict[Removal, Drawn]) -> pl.DataFrame:
    """Lay out both standard errors of every score, and the mean number of draws."""
    lines = []
    for removal, drawn in removals.items():
        part = rows.drop_nulls(perceived(removal.name))
        if part.is_empty():
            continue
        total = mean(part[perceived(removal.name)], part["cluster"], kind="differences").se
        drawing = draws_error(drawn, part) if removal.draws(2) > 1 else 0.0
        items = None if drawing is None else float(np.sqrt(max(total**2 - drawing**2, 0.0)))
        draws = drawn.scores.join(part, on="id", how="semi").height / part.height
        lines.append((removal.name, part.height, draws, items, drawing, total))
    schema = {"removed": pl.String, "n": pl.Int64, "draws": pl.Float64, "examples_se": pl.Float64}
    return pl.DataFrame(lines, schema=schema | {"draws_se": pl.Float64, "se": pl.Float64}, orient="row")


def repeats_table(rows: pl.DataFrame, given: Given, draws: int) -> pl.DataFrame:
    """Give the score of each repeat alone, whose spread is the +- of the paper."""
    own = given.plain.scores.select("id", pl.col("score").alias("own")).join(rows.select("id", "cluster"), on="id")
    parts = []
    for removal, drawn in given.removed.items():
        if removal.draws(2) == 1:
            continue
        each = drawn.scores.join(own, on="id", validate="m:1", maintain_order="left").with_columns(
            (pl.col("k") // draws).cast(pl.Int64).alias("repeat"), (pl.col("own") - pl.col("score")).alias("lost")
        )
        found = mean_by(each.drop_nulls("lost"), "lost", ["repeat"], "cluster", kind="differences").rename(
            {"value": "perception"}
        )
        parts.append(found.select(pl.lit(removal.name).alias("removed"), *list(REPEATS)[1:]))
    return pl.concat([pl.DataFrame(schema=REPEATS), *parts])


REPEATS = {
    "removed": pl.String,
    "repeat": pl.Int64,
    "perception": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
}


def text_only_scores(examples: pl.DataFrame, answers: pl.Series, how: str) -> pl.Series:
    """Score another model's answers that stand in a column of the examples."""
    return score(examples.with_columns(answers.cast(pl.String).alias("given")), how)
