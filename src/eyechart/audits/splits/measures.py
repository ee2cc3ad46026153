"""The measures of a judgement, each the mean of a per-example column; see `gaps` for the formulas.

drop, c        accuracy on all judged examples - on the tail of c = (1 - n_c / N) (accuracy on the rest - on the tail)
OOD mean, OOD drop: over all sets, and over the language, visual and multimodal ones
union drop     the drop on the examples in any of the tails
gap, c; matched gap, c: head against tail within strata
pooled gap     one gap over the tested concepts, those with enough rare answers for a verdict
largest gap    the largest gap of a tested concept, with an interval that holds for all of them together (Bonferroni)
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.measures import MeasureFields, make_measure
from eyechart.audits.splits.gaps import (
    LEVEL,
    ScaledContrast,
    Sides,
    WeightedSum,
    difference_of_sides,
    doubtful_sides,
    drop_from_all,
    gap_contributions,
    gap_weights,
    mean_of_rows,
    number_strata,
    set_mean,
    set_weights,
)
from eyechart.audits.splits.settings import FAMILIES, HEAD, TAIL, VAL, parts_of
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.result import Measure
from eyechart.statistics import Difference, Estimate, adjust, difference, mean
from eyechart.statistics.rows import Bools, Floats, Ints

UNION, POOLED = "union", "pooled gap"
TYPE, ANSWER = "stratum type", "stratum answer"
GROUP = "group of "  # before the name of a concept


class Scored(NamedTuple):
    """The scored rows of one part, sorted by id, and how they were scored.

    rows: id, cluster, accuracy, for each concept head, tail or null, and its group where it is known; TYPE and ANSWER.
    """

    rows: pl.DataFrame
    concepts: tuple[str, ...]
    how: str
    tested: tuple[str, ...] = ()  # the concepts that take part in the verdict

    def tails(self) -> dict[str, Bools]:
        """Mark the rows of each non-empty OOD test set."""
        marked = {name: (self.rows[name] == TAIL).fill_null(value=False).to_numpy() for name in self.concepts}
        return {name: members for name, members in marked.items() if members.any()}


class Measured(NamedTuple):
    """Measures, the rows with the columns they average, and the weights of the scores if a measure is a weighted sum.

    weights: id, score, and the weight of each score, named after those columns.
    """

    measures: list[Measure]
    rows: pl.DataFrame
    weights: pl.DataFrame


def measure_judged(scored: Scored) -> Measured:
    """Measure accuracies, means over sets, drops and gaps."""
    tails = scored.tails()
    union = np.logical_or.reduce(list(tails.values())) if tails else np.zeros(scored.rows.height, np.bool_)
    side = pl.Series(UNION, union).replace_strict({True: TAIL}, default=None, return_dtype=pl.String)
    rows = scored.rows.with_columns(side)
    accuracies = list(measure_accuracy(rows, (*scored.concepts, UNION), scored.how))
    if not tails:
        return Measured(accuracies, rows, weights_table(scored.rows, {}))
    sets = {**tails, UNION: union}
    families = _families(tails)
    means = {f"OOD mean{name}": _mean_over(scored, each) for name, each in families.items()}
    contrasts = {f"OOD drop{name}": _drop_over(scored, each) for name, each in families.items()} | _gaps(scored)
    sums = means | contrasts | {_drop_name(name): _drop_over(scored, [members]) for name, members in sets.items()}
    rows = rows.with_columns(pl.Series(name, weighted.contributions).fill_nan(None) for name, weighted in sums.items())
    pairs = {name: doubtful_sides(weighted.weights, rows) for name, weighted in contrasts.items()}
    estimates = [_mean(rows, name, weighted.weights, scored.how) for name, weighted in means.items()]
    estimates += [_contrast(rows, name, pair, scored.how) for name, pair in pairs.items()]
    drops = [_drop(rows, name, members, scored.how) for name, members in sets.items()]
    others = [*_with_q(estimates), *_with_q(drops), *_pooled(scored), *_largest(rows, scored, pairs)]
    measures = [*accuracies, *(weighted for weighted in others if np.isfinite(weighted.value))]
    return Measured(measures, rows, weights_table(scored.rows, sums))


def measure_validation(scored: Scored) -> Measured:
    """Measure the criteria of model selection: accuracy on val, and the mean over its OOD sets."""
    tails = scored.tails()
    rows, sums = scored.rows, {}
    measures = list(measure_accuracy(rows, scored.concepts, scored.how))
    if tails:
        weighted = _mean_over(scored, list(tails.values()))
        rows = rows.with_columns(pl.Series("OOD mean", weighted.contributions).fill_nan(None))
        sums = {f"{VAL}OOD mean": weighted}
        measures.append(_mean(rows, "OOD mean", weighted.weights, scored.how))
    renamed = {name: VAL + name for name in ("accuracy", "OOD mean", *scored.concepts) if name in rows.columns}
    weights = weights_table(rows, sums)
    return Measured([_of_validation(measure) for measure in measures], rows.rename(renamed), weights)


def weights_table(rows: pl.DataFrame, sums: dict[str, WeightedSum]) -> pl.DataFrame:
    """List the weight of each score in each sum."""
    return rows.select("id", pl.col("accuracy").alias("score"), *(pl.Series(k, v.weights) for k, v in sums.items()))


def _of_validation(one: Measure) -> Measure:
    by = None if one.by is None else VAL + one.by
    return replace(one, name=VAL + one.name, of=f"{VAL}{one.of}", by=by)


def measure_accuracy(rows: pl.DataFrame, concepts: tuple[str, ...], how: str) -> Iterator[Measure]:
    """Measure the accuracy on all rows, and on head and tail of each concept."""
    like = MeasureFields(condition=PLAIN_CONDITION, score=how, better="higher")
    yield make_measure("accuracy", mean(rows["accuracy"], rows["cluster"]), of="accuracy", **like)
    for concept in concepts:
        for side in (HEAD, TAIL):
            part = rows.filter(pl.col(concept) == side)
            if part.height:
                one = make_measure("accuracy", mean(part["accuracy"], part["cluster"]), of="accuracy", **like)
                yield replace(one, by=concept, group=side)


def _families(tails: dict[str, Bools]) -> dict[str, list[Bools]]:
    """Return all sets together, and those of each non-empty family."""
    families = {", " + name: [tails[one] for one in members if one in tails] for name, members in FAMILIES.items()}
    return {name: sets for name, sets in {"": list(tails.values()), **families}.items() if sets}


def _mean_over(scored: Scored, sets: list[Bools]) -> WeightedSum:
    return WeightedSum(set_weights(sets), set_mean(scored.rows["accuracy"].to_numpy(), sets))


def _drop_over(scored: Scored, sets: list[Bools]) -> WeightedSum:
    every = 1 / scored.rows.height
    return WeightedSum(every - set_weights(sets), drop_from_all(scored.rows["accuracy"].to_numpy(), sets))


def _drop_name(concept: str) -> str:
    return "union drop" if concept == UNION else f"drop, {concept}"


def _gaps(scored: Scored) -> dict[str, WeightedSum]:
    """Write the gap and the matched gap of each concept with both sides in a stratum as sums over the examples."""
    gaps = {}
    for concept in scored.concepts:
        # The question type cannot be held fixed where it is the concept itself.
        matched = [ANSWER] if parts_of(concept) == ("QT",) else [TYPE, ANSWER]
        for name, strata in ((f"gap, {concept}", _own_strata(scored, concept)), (f"matched gap, {concept}", matched)):
            sides, of = _sides(scored.rows, concept, strata)
            part = gap_contributions(sides)
            if part is not None:
                gaps[name] = WeightedSum(np.zeros(scored.rows.height), np.full(scored.rows.height, np.nan))
                gaps[name].weights[of], gaps[name].contributions[of] = gap_weights(sides), part
    return gaps


def _own_strata(scored: Scored, concept: str) -> list[str]:
    """Name the columns of a concept's groups, by question type; published sets have no groups."""
    return [name for name in (GROUP + concept, TYPE) if name in scored.rows.columns]


def _sides(rows: pl.DataFrame, concept: str, strata: list[str]) -> tuple[Sides, Ints]:
    """Return the examples on either side of a concept, and the numbers of their rows."""
    inside = rows[concept].is_not_null()
    part = rows.filter(inside)
    tail = (part[concept] == TAIL).cast(pl.Float64).to_numpy()
    sides = Sides(part["accuracy"].to_numpy(), tail, number_strata(part, strata))
    return sides, np.flatnonzero(inside.to_numpy())


def _pooled(scored: Scored) -> list[Measure]:
    """Measure one gap over the examples of all tested concepts, stacked."""
    if not scored.tested:
        return []
    parts, numbers, before = [], [], 0
    for concept in scored.tested:
        concept_sides, of = _sides(scored.rows, concept, _own_strata(scored, concept))
        parts.append(concept_sides._replace(strata=concept_sides.strata + before))
        numbers.append(of)
        before += int(concept_sides.strata.max(initial=-1)) + 1
    sides, of = Sides(*(np.concatenate(columns) for columns in zip(*parts, strict=True))), np.concatenate(numbers)
    contributions = gap_contributions(sides)
    if contributions is None:
        return []
    used = ~np.isnan(contributions)
    spread = _clip(mean(contributions[used], scored.rows["cluster"].gather(of[used]), kind="differences"), -1)
    # An example may be head of one concept and tail of another: only its total weight counts.
    weights = np.bincount(of, weights=gap_weights(sides), minlength=scored.rows.height).astype(np.float64)
    estimate = difference_of_sides(doubtful_sides(weights, scored.rows), spread)
    return [
        replace(
            make_measure(POOLED, estimate, of=None, condition=PLAIN_CONDITION, score=scored.how, better="lower"), p=None
        )
    ]


def _mean(rows: pl.DataFrame, name: str, weights: Floats, how: str) -> Measure:
    part = rows.drop_nulls(name)
    estimate = mean_of_rows(weights, rows, _clip(mean(part[name], part["cluster"]), 0))
    return make_measure(name, estimate, of=name, condition=PLAIN_CONDITION, score=how, better="higher")


def _contrast(rows: pl.DataFrame, name: str, pair: ScaledContrast | None, how: str) -> Measure:
    estimate = _contrast_at(rows, name, pair, LEVEL)
    measure = make_measure(name, estimate, of=name, condition=PLAIN_CONDITION, score=how, better="lower")
    return replace(measure, p=None if np.isnan(estimate.p) else estimate.p)


def _contrast_at(rows: pl.DataFrame, name: str, pair: ScaledContrast | None, level: float) -> Difference:
    part = rows.drop_nulls(name)
    spread = _clip(mean(part[name], part["cluster"], level=level, kind="differences"), -1)
    return difference_of_sides(pair, spread, level)


def _drop(rows: pl.DataFrame, concept: str, in_tail: Bools, how: str) -> Measure:
    """Measure a drop as (1 - n_c / N) (rest - tail), which has an interval even without mistakes."""
    tail, rest = rows.filter(pl.Series(in_tail)), rows.filter(pl.Series(~in_tail))
    gap = difference(rest["accuracy"], tail["accuracy"], rest["cluster"], tail["cluster"])
    share = rest.height / rows.height
    scaled = gap._replace(value=gap.value * share, low=gap.low * share, high=gap.high * share)
    return make_measure(
        _drop_name(concept), scaled, of=_drop_name(concept), condition=PLAIN_CONDITION, score=how, better="lower"
    )


def _with_q(measures: list[Measure]) -> list[Measure]:
    """Correct the p-values of each kind of measure for their number (Holm)."""
    corrected: list[Measure] = []
    for kind in dict.fromkeys(measure.name.partition(",")[0] for measure in measures):
        same = [measure for measure in measures if measure.name.partition(",")[0] == kind]
        q = adjust([np.nan if measure.p is None else measure.p for measure in same], "holm")
        corrected += [
            replace(measure, q=None if np.isnan(each) else float(each)) for measure, each in zip(same, q, strict=True)
        ]
    return corrected


def _largest(rows: pl.DataFrame, scored: Scored, pairs: dict[str, ScaledContrast | None]) -> list[Measure]:
    """Bound the largest gap: all intervals hold together at 95 %, so their largest ends bound it."""
    names = {name: f"gap, {name}" for name in scored.tested if f"gap, {name}" in pairs}
    level = 1 - (1 - LEVEL) / max(len(names), 1)
    every = {name: _contrast_at(rows, column, pairs[column], level) for name, column in names.items()}
    bounded = {name: largest_gap for name, largest_gap in every.items() if np.isfinite(largest_gap.low)}
    if not bounded:
        return []
    surest = max(bounded, key=lambda name: (bounded[name].low, name))
    largest_gap = bounded[surest]
    high = max(contrast.high for contrast in bounded.values())
    note = f"{surest}; interval for the largest of {len(bounded)} gaps, Bonferroni"
    largest = Measure(
        "largest gap",
        largest_gap.value,
        largest_gap.low,
        high,
        largest_gap.n,
        largest_gap.clusters,
        condition=PLAIN_CONDITION,
        note=note,
    )
    return [replace(largest, score=scored.how, better="lower")]


def _clip(estimate: Estimate, least: int) -> Estimate:
    """Clip an interval to the range of a mean of scores (from 0) or of a difference of two (from -1)."""
    return estimate._replace(low=float(np.clip(estimate.low, least, 1)), high=float(np.clip(estimate.high, least, 1)))
