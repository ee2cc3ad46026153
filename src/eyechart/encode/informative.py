"""The words or objects of an example that tell most about the answers to such questions, whatever its own answer is.

Within one question type, with p(a) the share of an answer and f the counts of `salient`,

    I(w) = sum_a q(a) log( q(a) / p(a) ),    q(a) = (f(w, a) + s p(a)) / (f(w) + s)

s imagined examples that know nothing keep rare candidates from looking telling. Answers that never go with w
have q(a) = s p(a) / (f(w) + s), so that their part of the sum is known without listing them.
"""

from dataclasses import dataclass

import polars as pl

from eyechart.encode.salient import rank
from eyechart.encode.salient_parted import Listing, Tally, cut_by_row
from eyechart.engines.local import Local
from eyechart.protocols import Engine

IMAGINED = 100
CUE = ("kind", "text")


@dataclass(frozen=True)
class Informed:
    """Rank the candidates of each row of a batch by what is known of all."""

    listing: Listing
    known: pl.DataFrame  # kind, text, single, score
    ties: str

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Take the best two; a candidate that no counted example has comes last."""
        found = self.listing(batch).join(self.known, on=CUE, how="left", validate="m:1")
        return rank(found.with_columns(pl.col("single").fill_null(0), pl.col("score").fill_null(-1.0)), self.ties)


def most_informative(table: pl.DataFrame, listing: Listing, ties: str, engine: Engine | None) -> pl.DataFrame:
    """Find the best two candidates of each row; `table` (row, kind, answer, counted, ...) is sorted by row."""
    table = table.with_columns(pl.col("kind").fill_null(""))
    where = engine or Local()
    batches = [table] if isinstance(where, Local) or table.is_empty() else list(cut_by_row(table))
    counts = pl.concat(where.map(Tally(listing, (*CUE, "answer")), batches))
    joints = counts.group_by(*CUE, "answer").agg(pl.col("joint").sum())
    answers = table.filter("counted").unique("row").group_by("kind", "answer").agg(pl.len().alias("n"))
    return pl.concat(where.map(Informed(listing, inform(joints, answers), ties), batches)).sort("row")


def inform(joints: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """Measure I of every candidate of (kind, text, answer, joint), given how often each (kind, answer) occurs."""
    usual = answers.with_columns((pl.col("n") / pl.col("n").sum().over("kind")).alias("p")).drop("n")
    told = joints.join(usual, on=["kind", "answer"], validate="m:1").with_columns(
        pl.col("joint").sum().over(CUE).alias("single")
    )
    q = (pl.col("joint") + IMAGINED * pl.col("p")) / (pl.col("single") + IMAGINED)
    terms = told.with_columns((q * (q / pl.col("p")).log()).alias("term")).sort(*CUE, "answer")  # summed in one order
    sums = terms.group_by(CUE, maintain_order=True).agg(
        pl.col("single").first(), pl.col("term").sum(), pl.col("p").sum()
    )
    rest = IMAGINED / (pl.col("single") + IMAGINED)
    unseen = (1 - pl.col("p")).clip(0) * rest * rest.log()
    return sums.select(*CUE, "single", (pl.col("term") + unseen).alias("score"))
