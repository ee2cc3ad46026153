"""The answers as scores: of each example as it is, and without each modality as the mean over its draws.

Three errors are separated. With n examples, m_i draws of example i and s_i^2 their variance,

    SE_draws^2 = sum_i s_i^2 / m_i / n^2     SE_examples^2 = S^2 - SE_draws^2     SE_donors^2 = SE^2 - S^2

where S is the clustered standard error of the scores P_i, for these donors, and SE that for new donors too (see
`statistics.crossed`). More draws from the same donors reduce only the first.

Beside a mean, the rows have a column of lists: `drawn("without image")` holds for each example what it drew: the
donor's cluster, the score, and the draw's share of the mean. The table `draws` of the result keeps them for comparisons
of models.
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
from eyechart.statistics import mean, paired_difference
from eyechart.statistics.crossed import Draws, gather_draws

UNIT = "unit"  # the number of an example's cluster, with numbers for donors too


class Gifts(NamedTuple):
    """Of every draw of a removal: the clusters of its donors, and whether another answer would be right."""

    donors: pl.DataFrame  # id, k, donor; a row for each modality
    answers: pl.DataFrame  # id, k, other (the donor's reference), another (to the same question)

    def list_beside(self, draws: pl.DataFrame, value: str, column: str) -> pl.DataFrame:
        """List what each example drew from whom, with each draw's share of the mean."""
        weighed = draws.with_columns(share=1 / pl.len().over("id"), kind=pl.lit(0, pl.Int64))
        donors = self.donors.join(weighed, on=["id", "k"], validate="m:1", maintain_order="left")
        term = pl.struct("donor", pl.col(value).alias("value"), "share", "kind")
        return donors.group_by("id", maintain_order=True).agg(term.alias(drawn(column)))


def drawn(column: str) -> str:
    """Name the column with the draws that another column is the mean of."""
    return f"draws of {column}"


def averaged(draws: pl.DataFrame, value: str, column: str, gifts: Gifts | None) -> pl.DataFrame:
    """Average what each example drew, and list the draws if anything was taken from donors.

    The draws have columns id, k and the value; the result has an id, the column and `drawn(column)`.
    """
    means = draws.group_by("id", maintain_order=True).agg(pl.col(value).mean().alias(column))
    if gifts is None:
        return means
    lists = gifts.list_beside(draws, value, column)
    return means.join(lists, on="id", how="left", validate="1:1", maintain_order="left")


def times(column: str, factor: float, kind: int) -> pl.Expr:
    """Multiply what was drawn for a column by a factor, as draws of their own kind."""
    field = pl.element().struct.field
    term = pl.struct(field("donor"), field("value") * factor, field("share"), kind=pl.lit(kind, pl.Int64))
    return pl.col(drawn(column)).list.eval(term)


def draws_of(rows: pl.DataFrame, column: str) -> Draws | None:
    """Collect the draws that a column is the mean of; None if there are none."""
    return gather_draws(rows[UNIT], rows[drawn(column)]) if drawn(column) in rows.columns else None


def draws_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Keep what comparisons need: the cluster's number, and the draws of each column under its name."""
    names = {name: name.removeprefix(drawn("")) for name in rows.columns if name.startswith(drawn(""))}
    return rows.select("id", UNIT, *names).rename(names)


def without_draws(rows: pl.DataFrame) -> pl.DataFrame:
    """Leave out what only intervals need."""
    return rows.drop(UNIT, *(name for name in rows.columns if name.startswith(drawn(""))))


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


def changed_another(name: str) -> str:
    """Name the column of how often the answer changes where the same question has another answer."""
    return f"changed, another answer {name}"


def other_donors(name: str) -> str:
    """Name the column of how often the donor holds another reference answer."""
    return f"other answer {name}"


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
    gifts: dict[Removal, Gifts]

    @property
    def counts(self) -> pl.DataFrame:
        """Count the probes of every condition."""
        return pl.concat([self.plain.counts, *(each.counts for each in self.removed.values())])

    def own_answers(self) -> pl.DataFrame:
        """List the answers to the examples as they are, in a column `own`."""
        return self.plain.answers.select("id", pl.col("given").alias("own"))

    def by_example(self, removal: Removal) -> pl.DataFrame:
        """Average the draws of each example: its score without the modality, and how often its answer changed."""
        draws, gifts = self.removed[removal], self.gifts.get(removal)
        both = draws.answers.join(self.own_answers(), on="id", validate="m:1", maintain_order="left")
        moved = both.select("id", "k", moved=pl.col("given").ne_missing(pl.col("own")).cast(pl.Float64))
        rows = averaged(draws.scores, "score", without(removal.name), gifts)  # Eq. 3
        parts = [averaged(moved, "moved", changed(removal.name), gifts)]
        if gifts is not None:
            # As losses rather than scores, so that where nothing is ever lost the donors add no error.
            lost = averaged(self.losses(draws.scores), "lost", perceived(removal.name), gifts)
            parts.append(lost.drop(perceived(removal.name)))
            known = moved.join(gifts.answers, on=["id", "k"], how="left", validate="1:1", maintain_order="left")
            where = known.filter("another").select("id", "k", "moved")
            parts.append(averaged(where, "moved", changed_another(removal.name), gifts))
            other = known.select("id", "k", pl.col("other").cast(pl.Float64))
            parts.append(averaged(other, "other", other_donors(removal.name), None))
        for part in parts:
            rows = rows.join(part, on="id", how="left", validate="1:1", maintain_order="left")
        return rows

    def losses(self, scores: pl.DataFrame, own: pl.DataFrame | None = None) -> pl.DataFrame:
        """Subtract the score of each draw from that of the example as it is, in a column `lost`."""
        plain = self.plain.scores if own is None else own
        both = scores.join(plain.select("id", own="score"), on="id", validate="m:1", maintain_order="left")
        return both.select("id", "k", lost=pl.col("own") - pl.col("score")).drop_nulls("lost")

    def errors(self, rows: pl.DataFrame) -> pl.DataFrame:
        """List the standard errors of every score, and the mean number of draws."""
        lines = []
        for removal, draws in self.removed.items():
            part = rows.drop_nulls(perceived(removal.name))
            if part.is_empty():
                continue
            lost, cluster = part[perceived(removal.name)], part["cluster"]
            fixed = mean(lost, cluster, kind="differences").se
            total = mean(lost, cluster, kind="differences", draws=draws_of(part, perceived(removal.name))).se
            drawing = draws.error(part) if removal.draws(2) > 1 else 0.0
            items = None if drawing is None else float(np.sqrt(max(fixed**2 - drawing**2, 0.0)))
            donors = float(np.sqrt(max(total**2 - fixed**2, 0.0)))
            n_draws = draws.scores.join(part, on="id", how="semi").height / part.height
            lines.append((removal.name, part.height, n_draws, items, drawing, donors, total))
        numbers = ("draws", "examples_se", "draws_se", "donors_se", "se")
        schema = {"removed": pl.String, "n": pl.Int64} | dict.fromkeys(numbers, pl.Float64)
        return pl.DataFrame(lines, schema=schema, orient="row")

    def repeats(self, rows: pl.DataFrame, draws: int) -> pl.DataFrame:
        """Estimate the score of each repeat alone, whose spread is the +- of the paper."""
        own = rows.select("id", "cluster", UNIT)
        lines = []
        for removal, each in self.removed.items():
            if removal.draws(2) == 1:
                continue
            for repeat in sorted((each.scores["k"] // draws).unique()):
                losses = self.losses(each.scores.filter(pl.col("k") // draws == repeat))
                both = own.join(averaged(losses, "lost", "lost", self.gifts[removal]), on="id", validate="1:1")
                both = both.sort("id")
                found = mean(both["lost"], both["cluster"], kind="differences", draws=draws_of(both, "lost"))
                lines.append((removal.name, repeat, found.value, found.low, found.high, found.n))
        return pl.DataFrame(lines, schema=REPEATS, orient="row")

    def bounds(self, rows: pl.DataFrame, how: str) -> Iterator[Measure]:
        """Bound each score with lost answers by counting these as wrong, and as right.

        An example whose plain answer was lost counts as wrong.
        """
        own = self.plain.with_lost_as(0.0)
        for removal, draws in self.removed.items():
            if not self.plain.lost.height and not draws.lost.height:
                continue
            for word, value in LOST_AS.items():
                losses = self.losses(draws.with_lost_as(value), own)
                means = averaged(losses, "lost", "lost", self.gifts.get(removal))
                both = rows.join(means, on="id", validate="1:1").sort("id")
                zero, gave = pl.zeros(both.height, eager=True), draws_of(both, "lost")
                difference = paired_difference(both["lost"], zero, both["cluster"], draws=gave)
                key = MeasureFields(condition=removal.name, score=how, better="higher")
                yield make_measure(f"perception, lost as {word}", difference, of=None, **key)
