"""The measures of a model: over all questions, by grounding, by distribution and by group.

Among them are right answers per wrong answer (the paper's c2i), and by how much that falls (Tables 4 and 7, Fig. 5
and 6):

    c2i = sum of scores / sum of (1 - scores) = a / (1 - a), a being the accuracy
    fall from A to B = 1 - c2i_B / c2i_A

c2i rises with a, so the ends of its interval are those of the accuracy's. The fall has the delta method's interval on
the logarithm, log c2i_B - log c2i_A, from the influence of each row, (x - a) / (n a (1 - a)), summed by cluster: rows
of A and B may share images.

Another is how well an importance ranking of the objects matches their relevance (Table 1, appendix D.2). Importance is
what the model itself reports (`attention`: weights or gradients, one number per object) or the effect of leaving an
object out (`without`): by how much the probability of the answer falls or, without scores, whether the answer changes.
Objects that tie at the cut share the remaining places, so that no order of objects is favoured.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
import scipy

from eyechart.audits.grounding.answers import (
    ACCURACIES,
    BEST,
    CELLS,
    CLASSES,
    FALLS,
    GROUNDING,
    PLACES,
    AnswersByCondition,
    by_question,
    fall,
    same_as,
)
from eyechart.audits.grounding.scene import Relevance, Scene
from eyechart.audits.grounding.settings import DROP, REST, WITHOUT
from eyechart.audits.measures import make_measure, measure_groups
from eyechart.data.dataset import Dataset
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.protocols import Engine
from eyechart.data.result import Better, Measure
from eyechart.statistics import Estimate, mean
from eyechart.statistics.intervals import Kind
from eyechart.statistics.rows import arrange, sums

SETS = ("relevant", "irrelevant")
_NOTHING = pl.DataFrame(schema={"id": pl.String, "index": pl.Int64, "importance": pl.Float64})


def match_rankings(
    answers: AnswersByCondition, scene: Scene, relevance: Relevance
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Match every ranking; return one row for each question (id and a column for each method and set), and notes."""
    ids = scene.questions.select("id").with_row_index("row").cast({"row": pl.Int64})
    sets = pl.DataFrame(
        {"row": relevance.rows, "index": relevance.position} | {name: getattr(relevance, name) for name in SETS}
    )
    rows, notes = ids, []
    for method, importance in (("attention", _attention(answers, scene)), (WITHOUT, _left_out(answers))):
        if importance.height:
            by_row = importance.join(ids, on="id", validate="m:1").drop("id")
            ranked = sets.join(by_row, on=["row", "index"], how="left")
            complete = ranked.filter(pl.col("importance").is_not_null().all().over("row"))
            incomplete = importance["id"].n_unique() - complete["row"].n_unique()
            notes += [f"{incomplete:,} questions have no {method} for some of their objects"] if incomplete else []
            rows = rows.join(match_sets(complete, method), on="row", how="left", validate="1:1", maintain_order="left")
    return rows.drop("row"), tuple(notes)


def match_sets(ranked: pl.DataFrame, method: str) -> pl.DataFrame:
    """Match rows of (row, index, importance, relevant, irrelevant) with both sets."""
    parts = [_match_set(ranked.sort("row", "index"), name).rename({"match": f"{method}_{name}"}) for name in SETS]
    return parts[0].join(parts[1], on="row", how="full", coalesce=True, validate="1:1")


def _match_set(ranked: pl.DataFrame, name: str) -> pl.DataFrame:
    importance, member = pl.col("importance"), pl.col(name)
    sized = ranked.with_columns(n=member.sum().over("row")).filter(pl.col("n") > 0)
    ranks = sized.with_columns(rank=importance.rank("min", descending=True).over("row"))
    cut = pl.when(pl.col("rank") <= pl.col("n")).then("importance").min().over("row")
    compared = ranks.with_columns(above=importance > cut, tied=importance == cut)
    share = (pl.col("n") - pl.col("above").sum().over("row")) / pl.col("tied").sum().over("row")
    weighed = compared.with_columns(weight=pl.col("above").cast(pl.Float64) + pl.col("tied") * share)
    hit = (pl.col("weight") * member).sum() / pl.col("n").first()
    return weighed.group_by("row", maintain_order=True).agg(match=hit)


def _attention(answers: AnswersByCondition, scene: Scene) -> pl.DataFrame:
    """Read the attention to each object, if there are as many numbers as objects."""
    table = answers.tables[PLAIN_CONDITION]
    if "attention" not in table.columns:
        return _NOTHING
    n = pl.DataFrame({"id": scene.questions["id"], "n": scene.n_objects})
    fits = pl.col("attention").list.len() == pl.col("n")
    fitting = table.select("id", "attention").drop_nulls().join(n, on="id", validate="m:1").filter(fits)
    flat = fitting.select("id", "attention", index=pl.int_ranges(pl.col("attention").list.len()))
    flat = flat.explode("attention", "index", empty_as_null=False).rename({"attention": "importance"})
    return _mean_by_object(flat)


def _left_out(answers: AnswersByCondition) -> pl.DataFrame:
    """Compute the effect of leaving each object out."""
    parts = [_NOTHING]
    for condition in (name for name in answers.tables if name.startswith(f"{WITHOUT}#")):
        changed = (~same_as(condition)).cast(pl.Float64)
        joined = answers.side_by_side((PLAIN_CONDITION, condition))
        changes = by_question(joined, [pl.coalesce(fall(condition), changed).alias("importance")])
        index = int(condition.removeprefix(f"{WITHOUT}#"))
        parts.append(changes.select("id", pl.lit(index, pl.Int64).alias("index"), "importance"))
    return pl.concat(parts)


def _mean_by_object(flat: pl.DataFrame) -> pl.DataFrame:
    """Average over draws, in a fixed order."""
    ordered = flat.sort("id", "index", "importance")
    return ordered.group_by("id", "index", maintain_order=True).agg(pl.col("importance").mean()).cast(_NOTHING.schema)


SHARES = {
    "grounded": "grounded",
    "not_grounded": "not grounded",
    **CELLS,
    "right_grounded": "right implies grounded",
    "kept": "kept",
    "changed": "changed",
}
GRADED = {"same": "same answer", "accuracy": "accuracy", "fall": "probability lost"}
RATIO = "right to wrong"
METHODS = ("attention", WITHOUT)
LOST = "grounded, lost as not"
IN_SIGHT: dict[str, Better] = {"same answer": "higher", "accuracy": "higher", "probability lost": "lower"}
# A model that relies on the evidence changes its answer where it is hidden; still being right is neither good nor bad.
HIDDEN: dict[str, Better] = {"same answer": "lower", "accuracy": "neither", "probability lost": "higher"}
BETTER: dict[str, Better] = {  # for measures not named here, more is better
    "not grounded": "lower",
    "grounded, wrong": "neither",  # looks in the right place, yet fails
    "not grounded, right": "neither",  # right for another reason
    "not grounded, wrong": "lower",
    "sufficiency": "lower",  # what is lost with the evidence alone
    **dict.fromkeys((f"{method} ranks irrelevant objects first" for method in METHODS), "lower"),
}
_DIFFERENCES = (*FALLS, "fall")


def measure_whole(rows: pl.DataFrame, how: str) -> Iterator[Measure]:
    """Measure over all questions, the grounded share first."""
    for column, name in {**SHARES, **dict(zip(FALLS, FALLS, strict=True))}.items():
        yield from _mean(rows, column, (name, PLAIN_CONDITION), how)
    for condition, column in ACCURACIES.items():
        yield from _mean(rows, column, ("accuracy", condition), how)


def measure_graded(rows: pl.DataFrame, conditions: list[str], how: str) -> Iterator[Measure]:
    """Measure each step of graded deletion."""
    for condition in conditions:
        for part, name in GRADED.items():
            yield from _mean(rows, f"{part} {condition}", (name, condition), how)


def measure_lost(rows: pl.DataFrame, lost: pl.DataFrame, how: str) -> Iterator[Measure]:
    """Measure the grounded share as if no lost answer were grounded."""
    missing = lost.join(rows, on="id", how="anti")
    if missing.height:
        scores = pl.concat([rows["grounded"], pl.repeat(0.0, missing.height, dtype=pl.Float64, eager=True)])
        estimate = mean(scores, pl.concat([rows["cluster"], missing["cluster"]]))
        yield make_measure(LOST, estimate, of=None, condition=PLAIN_CONDITION, score=how, better="higher")


def measure_odds(rows: pl.DataFrame, how: str) -> Iterator[Measure]:
    """Measure right answers per wrong answer by grounding, in and out of distribution if that is known."""
    answered = rows.drop_nulls("acc_all")
    for column, names in GROUNDING.items():
        yield from _odds_by(answered, column, names, how)
        if "place" in rows.columns:
            both = tuple(f"{name}, {place}" for place in PLACES for name in names)
            yield from _odds_by(answered, f"{column}_place", both, how)
            yield from _falls(answered, column, names, how)


def _odds_by(rows: pl.DataFrame, column: str, names: tuple[str, ...], how: str) -> Iterator[Measure]:
    for name in names:
        part = rows.filter(pl.col(column) == name)
        if part.height:
            measure = make_measure(
                RATIO, odds(part), of=None, condition=PLAIN_CONDITION, score=how, unit="ratio", better="higher"
            )
            yield replace(measure, by=column, group=name)


def _falls(rows: pl.DataFrame, column: str, names: tuple[str, ...], how: str) -> Iterator[Measure]:
    """Measure by what share right-to-wrong falls from id to ood, and from grounded to not grounded (Fig. 5, Fig. 6)."""
    for (key, groups), (compared, (start, end)) in (
        ((column, names), ("place", PLACES)),
        (("place", PLACES), (column, names)),
    ):
        for group in groups:
            part = rows.filter(pl.col(key) == group)
            estimate = relative_fall(part.filter(pl.col(compared) == start), part.filter(pl.col(compared) == end))
            if not math.isnan(estimate.value):
                yield Measure(
                    f"{RATIO} lost, {start} to {end}",
                    *estimate,
                    condition=PLAIN_CONDITION,
                    by=key,
                    group=group,
                    score=how,
                    better="lower" if compared == "place" else "neither",  # a loss without grounding is no fault
                    note="95 % interval: delta method on the logarithm",
                )


def measure_places(rows: pl.DataFrame, how: str) -> Iterator[Measure]:
    """Measure accuracy, grounding and the modified grounding in and out of distribution (Tables 3 and 6)."""
    for place in PLACES if "place" in rows.columns else ():
        part = rows.filter(pl.col("place") == place)
        for column, name in (("acc_all", "accuracy"), ("grounded", "grounded"), ("kept", "kept")):
            yield from _grouped(_mean(part, column, (name, PLAIN_CONDITION), how), "place", place)


def measure_rankings(rows: pl.DataFrame, how: str) -> Iterator[Measure]:
    """Measure how well importance matches relevance: overall, by grounding (Table 1), in the best classes (Fig. 3)."""
    groups = [(column, name) for column, names in GROUNDING.items() for name in names if column == "grounding"]
    groups += [(column, BEST) for column in CLASSES]
    for method, part in ((method, part) for method in METHODS for part in SETS):
        column, name = f"{method}_{part}", f"{method} ranks {part} objects first"
        if column in rows.columns:
            yield from _mean(rows, column, (name, PLAIN_CONDITION), how)
            for by, group in groups:
                yield from _grouped(
                    _mean(rows.filter(pl.col(by) == group), column, (name, PLAIN_CONDITION), how), by, group
                )


def measure_by(
    data: Dataset, rows: pl.DataFrame, columns: tuple[str, ...], how: str, engine: Engine
) -> list[pl.DataFrame]:
    """Measure grounding, cells and accuracy for every group of columns of the examples."""
    names = {"grounded": "grounded", **CELLS, ACCURACIES[PLAIN_CONDITION]: "accuracy"}
    likes = [like for column, name in names.items() for like in _mean(rows, column, (name, PLAIN_CONDITION), how)]
    return [
        measure_groups(data, rows.drop_nulls(str(like.of)), like, column, engine)
        for column in columns
        for like in likes
        if like.n
    ]


def _mean(rows: pl.DataFrame, column: str, key: tuple[str, str], how: str) -> Iterator[Measure]:
    """Measure the mean of a column if it has any value."""
    present = rows.drop_nulls(column)
    if present.height or column == "grounded":
        kind: Kind = "differences" if column.partition(" ")[0] in _DIFFERENCES else "scores"
        estimate = mean(present[column], present["cluster"], kind=kind)
        yield make_measure(key[0], estimate, of=column, condition=key[1], score=how, better=_better(*key))


def _better(name: str, condition: str) -> Better:
    if name in IN_SIGHT:
        hidden = condition == REST or condition.startswith(DROP)
        return (HIDDEN if hidden else IN_SIGHT)[name]
    return BETTER.get(name, "higher")


def _grouped(measures: Iterator[Measure], by: str, group: str) -> Iterator[Measure]:
    return (replace(measure, by=by, group=group) for measure in measures)


class Fall(NamedTuple):
    """A relative fall with its interval; NaN where one side is all right or all wrong."""

    value: float
    low: float
    high: float
    n: int
    clusters: int


def odds(rows: pl.DataFrame, column: str = "acc_all") -> Estimate:
    """Estimate right answers per wrong answer; NaN where nothing is wrong."""
    found = mean(rows[column], rows["cluster"])
    value, low, high = (_odds(share) for share in (found.value, found.low, found.high))
    return found._replace(value=value, low=low, high=high, se=math.nan)


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else math.nan


def relative_fall(a: pl.DataFrame, b: pl.DataFrame, column: str = "acc_all") -> Fall:
    """Estimate by what share c2i falls from rows `a` to rows `b`."""
    both = pl.concat([a["cluster"], b["cluster"]])
    shares = [float(np.mean(np.sort(part[column].to_numpy()))) if part.height else math.nan for part in (a, b)]
    if not all(0 < share < 1 for share in shares):
        return Fall(math.nan, math.nan, math.nan, len(both), both.n_unique())
    influence = [
        (part[column].to_numpy() - share) / (part.height * share * (1 - share))
        for part, share in zip((a, b), shares, strict=True)
    ]
    rows = arrange((np.concatenate([-influence[0], influence[1]]),), both)
    by_cluster = sums(rows.columns[0], rows.clusters)
    count = by_cluster.size
    change = math.log(_odds(shares[1])) - math.log(_odds(shares[0]))
    if count < 2:
        return Fall(-math.expm1(change), math.nan, math.nan, len(both), count)
    half = float(scipy.special.stdtrit(count - 1, 0.975) * np.sqrt(np.sum(by_cluster**2) * count / (count - 1)))
    return Fall(-math.expm1(change), -math.expm1(change + half), -math.expm1(change - half), len(both), count)
