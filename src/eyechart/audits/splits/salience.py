"""The words or objects of an example that are most informative about its answer, and the objects in an image.

About its own answer, by pointwise mutual information (`most_salient`, Eq. 6 and 9):

    MI(w, a) = log( f(w, a) K / (f(w) f(a)) )

f counts the examples that have the word, the answer, or both; K counts all. Within one example a and K are the same
for all candidates, so they are ranked by f(w, a) / f(w), which keeps ties exact.

About the answers to such questions in general, whatever its own answer is (`most_informative`). Within one question
type, with p(a) the share of an answer,

    I(w) = sum_a q(a) log( q(a) / p(a) ),    q(a) = (f(w, a) + s p(a)) / (f(w) + s)

s pseudo-examples without information keep rare candidates from looking informative. Answers that never occur with w
have q(a) = s p(a) / (f(w) + s), so that their part of the sum is known without listing them.

Both are found in batches that any engine can run: count each batch, add up, rank each batch. Counts are whole numbers,
so their sums do not depend on the order of the batches, and all quotients are exactly the same.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from eyechart.data.protocols import Engine
from eyechart.engines import Local

BLOCK = 65_536  # examples of a batch
SURE = 0.5  # the least score at which an object counts as seen; one without a score counts
IMAGINED = 100  # s
KEY, CUE = ("text", "answer"), ("kind", "text")

Listing = Callable[[pl.DataFrame], pl.DataFrame]  # a batch -> its candidates: row, text, answer, counted


def most_salient(candidates: pl.DataFrame) -> pl.DataFrame:
    """Find the best two candidates of each row that has any: columns row, first, second (null where there is none).

    `candidates` has row, text, answer and counted (whether its example is counted in f), each text of a row once. Ties
    go to the more frequent text, and then to the first in the alphabet. A text that no counted example has is ranked
    last.
    """
    texts = pl.Enum(candidates["text"].unique().sort())
    joint = pl.col("counted").sum().over("text", "answer")
    counted = candidates.with_columns(
        pl.col("text").cast(texts), pl.col("answer").cast(pl.Categorical).to_physical()
    ).with_columns(joint.alias("joint"), pl.col("counted").sum().over("text").alias("single"))
    return rank(with_ratio(counted))


def with_ratio(counted: pl.DataFrame) -> pl.DataFrame:
    """Score candidates by the two counts of Eq. 6."""
    return counted.with_columns((pl.col("joint") / pl.col("single")).fill_nan(-1.0).alias("score"))  # Eq. 6, 9


def rank(scored: pl.DataFrame) -> pl.DataFrame:
    """Find the best two candidates of each row of (row, text, score, single), the number of examples with the text."""
    ranked = scored.select("row", "text", "single", "score").sort(
        "row", "score", "single", "text", descending=[False, True, True, False]
    )
    follows = pl.col("row").shift(-1) == pl.col("row")
    second = pl.when(follows).then(pl.col("text").shift(-1))
    best = pl.col("row").ne_missing(pl.col("row").shift())
    return (
        ranked.select(
            "row",
            pl.col("text").cast(pl.String).alias("first"),
            second.cast(pl.String).alias("second"),
            best.alias("best"),
        )
        .filter("best")
        .drop("best")
    )


@dataclass(frozen=True)
class CandidateCounts:
    """Count the examples of a batch that have each text with each answer, or with each longer key."""

    listing: Listing
    key: tuple[str, ...] = KEY

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Count the examples with `counted`."""
        return self.listing(batch).filter("counted").group_by(self.key).agg(pl.len().alias("joint"))


@dataclass(frozen=True)
class SalienceRanking:
    """Rank the candidates of each row of a batch by the counts of all batches."""

    listing: Listing
    joints: pl.DataFrame  # text, answer, joint
    singles: pl.DataFrame  # text, single

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Take the best two; a text that no counted example has counts as 0."""
        candidates = self.listing(batch)
        counted = candidates.join(self.joints, on=KEY, how="left", validate="m:1").join(
            self.singles, on="text", how="left", validate="m:1"
        )
        return rank(with_ratio(counted.with_columns(pl.col("joint", "single").fill_null(0))))


def as_listed(candidates: pl.DataFrame) -> pl.DataFrame:
    """Return a table that already lists candidates."""
    return candidates


def best_two(table: pl.DataFrame, listing: Listing, engine: Engine | None) -> pl.DataFrame:
    """Find the best two candidates of each row that has any; `table` is sorted by row."""
    if engine is None or isinstance(engine, Local):
        return most_salient(listing(table))
    batches = list(cut_by_row(table))
    parts = list(engine.map(CandidateCounts(listing), batches))
    if not parts:
        return most_salient(listing(table))
    joints = pl.concat(parts).group_by(KEY).agg(pl.col("joint").sum())
    singles = joints.group_by("text").agg(pl.col("joint").sum().alias("single"))
    return pl.concat(engine.map(SalienceRanking(listing, joints, singles), batches)).sort("row")


def cut_by_row(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Cut a table sorted by row into batches, never within a row."""
    last = int(table["row"][-1]) if table.height else -1
    edges = np.searchsorted(table["row"].to_numpy(), np.arange(0, last + BLOCK + 1, BLOCK))
    for begin, end in pairwise(edges.tolist()):
        if end > begin:
            yield table[begin:end]


@dataclass(frozen=True)
class InformationRanking:
    """Rank the candidates of each row of a batch by their information over all batches."""

    listing: Listing
    known: pl.DataFrame  # kind, text, single, score

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Take the best two; a candidate that no counted example has is ranked last."""
        scored = self.listing(batch).join(self.known, on=CUE, how="left", validate="m:1")
        return rank(scored.with_columns(pl.col("single").fill_null(0), pl.col("score").fill_null(-1.0)))


def most_informative(table: pl.DataFrame, listing: Listing, engine: Engine | None) -> pl.DataFrame:
    """Find the best two candidates of each row; `table` (row, kind, answer, counted, ...) is sorted by row."""
    table = table.with_columns(pl.col("kind").fill_null(""))
    engine = engine or Local()
    batches = [table] if isinstance(engine, Local) or table.is_empty() else list(cut_by_row(table))
    counts = pl.concat(engine.map(CandidateCounts(listing, (*CUE, "answer")), batches))
    joints = counts.group_by(*CUE, "answer").agg(pl.col("joint").sum())
    answers = table.filter("counted").unique("row").group_by("kind", "answer").agg(pl.len().alias("n"))
    return pl.concat(engine.map(InformationRanking(listing, inform(joints, answers)), batches)).sort("row")


def inform(joints: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """Compute I of every candidate of (kind, text, answer, joint), given how often each (kind, answer) occurs."""
    priors = answers.with_columns((pl.col("n") / pl.col("n").sum().over("kind")).alias("p")).drop("n")
    counted = joints.join(priors, on=["kind", "answer"], validate="m:1").with_columns(
        pl.col("joint").sum().over(CUE).alias("single")
    )
    q = (pl.col("joint") + IMAGINED * pl.col("p")) / (pl.col("single") + IMAGINED)
    terms = counted.with_columns((q * (q / pl.col("p")).log()).alias("term")).sort(
        *CUE, "answer"
    )  # summed in one order
    sums = terms.group_by(CUE, maintain_order=True).agg(
        pl.col("single").first(), pl.col("term").sum(), pl.col("p").sum()
    )
    rest = IMAGINED / (pl.col("single") + IMAGINED)
    unseen = (1 - pl.col("p")).clip(0) * rest * rest.log()
    return sums.select(*CUE, "single", (pl.col("term") + unseen).alias("score"))


def image_labels(images: pl.DataFrame) -> pl.DataFrame:
    """List (image, label), each pair once; a table of images without objects has none."""
    if "objects" not in images.columns:
        return pl.DataFrame(schema={"image": pl.String, "label": pl.String})
    objects = images.select("image", "objects").explode("objects", empty_as_null=False, keep_nulls=False)
    flat = objects.select(
        "image",
        pl.col("objects").struct.field("label").alias("label"),
        pl.col("objects").struct.field("score").alias("score"),
    )
    sure = pl.col("score").is_null() | (pl.col("score") >= SURE)
    return flat.filter(pl.col("label").is_not_null() & sure).select("image", "label").unique()
