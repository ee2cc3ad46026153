"""The measures of a judgement, each with the per-example column it is the mean of.

drop, c        accuracy on all judged examples - on the tail of c = (1 - n_c / N) (accuracy on the rest - on the tail)
OOD mean, drop of all sets, and of the language, visual and multimodal ones: see `contributions`
union drop     the drop on the examples that are in any of the tails
gap, c; matched gap, c; pooled gap: head against tail within strata, see `within`
largest gap    the largest gap of a concept, with an interval that holds for all of them together (Bonferroni)
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
import scipy

from eyechart.audits.measuring import measured
from eyechart.audits.splits.contributions import drop_from_all, set_mean
from eyechart.audits.splits.names import FAMILIES, HEAD, TAIL, VAL, parts_of
from eyechart.audits.splits.within import Sides, gap_contributions, number_strata
from eyechart.probes import OWN
from eyechart.result import Measure
from eyechart.statistics import Estimate, adjust, difference, mean
from eyechart.statistics.moments import Kind
from eyechart.statistics.rows import Bools, Floats

UNION, POOLED = "union", "pooled gap"
LEVEL = 0.95
TYPE, ANSWER = "stratum type", "stratum answer"
GROUP = "group of "  # before the name of a concept


class Scored(NamedTuple):
    """The scored rows of one part, sorted by id, and how they were scored.

    rows: id, cluster, accuracy, for each concept head, tail or null, and its group where it is known; TYPE and ANSWER.
    """

    rows: pl.DataFrame
    concepts: tuple[str, ...]
    how: str


class Measured(NamedTuple):
    """Measures, and the rows with the columns they are means of."""

    measures: list[Measure]
    rows: pl.DataFrame


def measure_judged(scored: Scored) -> Measured:
    """Measure accuracies, means over sets, drops and gaps."""
    tails = tail_sets(scored)
    union = np.logical_or.reduce(list(tails.values())) if tails else np.zeros(scored.rows.height, np.bool_)
    side = pl.Series(UNION, union).replace_strict({True: TAIL}, default=None, return_dtype=pl.String)
    rows = scored.rows.with_columns(side)
    accuracies = list(measure_accuracy(rows, (*scored.concepts, UNION), scored.how))
    if not tails:
        return Measured(accuracies, rows)
    sets = {**tails, UNION: union}
    columns = {**_means(scored, tails), **_gaps(scored), **_drops(scored, sets)}
    rows = rows.with_columns(pl.Series(name, values).fill_nan(None) for name, values in columns.items())
    found = [_column_mean(rows, name, scored.how) for name in columns if name not in _drops_of(sets)]
    drops = [_drop(rows, name, inside, scored.how) for name, inside in sets.items()]
    more = [*_with_q(found), *_with_q(drops), *_pooled(scored), *_largest(rows, scored)]
    return Measured([*accuracies, *(one for one in more if np.isfinite(one.value))], rows)


def measure_validation(scored: Scored) -> Measured:
    """Measure what models are selected by: accuracy on val, and the mean over its OOD sets."""
    tails = tail_sets(scored)
    rows = scored.rows
    if tails:
        rows = rows.with_columns(pl.Series("OOD mean", set_mean(rows["accuracy"].to_numpy(), list(tails.values()))))
    found = list(measure_accuracy(rows, scored.concepts, scored.how))
    found += [_column_mean(rows, "OOD mean", scored.how)] if tails else []
    named = {name: VAL + name for name in ("accuracy", "OOD mean", *scored.concepts) if name in rows.columns}
    return Measured([_of_validation(one) for one in found], rows.rename(named))


def _of_validation(one: Measure) -> Measure:
    by = None if one.by is None else VAL + one.by
    return replace(one, name=VAL + one.name, of=f"{VAL}{one.of}", by=by)


def tail_sets(scored: Scored) -> dict[str, Bools]:
    """Mark the rows of each OOD test set that has any."""
    marked = {name: (scored.rows[name] == TAIL).fill_null(value=False).to_numpy() for name in scored.concepts}
    return {name: inside for name, inside in marked.items() if inside.any()}


def measure_accuracy(rows: pl.DataFrame, concepts: tuple[str, ...], how: str) -> Iterator[Measure]:
    """Measure the accuracy on all rows, and on head and tail of each concept."""
    whole = measured("accuracy", mean(rows["accuracy"], rows["cluster"]), of="accuracy", condition=OWN, score=how)
    yield whole
    for concept in concepts:
        for side in (HEAD, TAIL):
            part = rows.filter(pl.col(concept) == side)
            if part.height:
                found = mean(part["accuracy"], part["cluster"])
                one = measured("accuracy", found, of="accuracy", condition=OWN, score=how)
                yield replace(one, by=concept, group=side)


def _means(scored: Scored, tails: dict[str, Bools]) -> dict[str, Floats]:
    """Give the contributions to the mean over all sets and over each family of them, and to the drops."""
    scores = scored.rows["accuracy"].to_numpy()
    families = {", " + name: [tails[one] for one in members if one in tails] for name, members in FAMILIES.items()}
    found = {}
    for name, sets in {"": list(tails.values()), **families}.items():
        if sets:
            found[f"OOD mean{name}"] = set_mean(scores, sets)
            found[f"OOD drop{name}"] = drop_from_all(scores, sets)
    return found


def _drops(scored: Scored, sets: dict[str, Bools]) -> dict[str, Floats]:
    scores = scored.rows["accuracy"].to_numpy()
    return {name: drop_from_all(scores, [sets[concept]]) for name, concept in _drops_of(sets).items()}


def _drops_of(sets: dict[str, Bools]) -> dict[str, str]:
    return {_drop_name(concept): concept for concept in sets}


def _drop_name(concept: str) -> str:
    return "union drop" if concept == UNION else f"drop, {concept}"


def _gaps(scored: Scored) -> dict[str, Floats]:
    """Give the contributions to the gap and the matched gap of each concept that has both sides in a stratum."""
    found = {}
    for concept in scored.concepts:
        # The question type cannot be held fixed where it is the concept itself.
        matched = [ANSWER] if parts_of(concept) == ("QT",) else [TYPE, ANSWER]
        for name, strata in ((f"gap, {concept}", _own_strata(scored, concept)), (f"matched gap, {concept}", matched)):
            inside = scored.rows[concept].is_not_null()
            part = gap_contributions(_sides(scored.rows.filter(inside), concept, strata))
            if part is not None:
                found[name] = np.full(scored.rows.height, np.nan)
                found[name][inside.to_numpy()] = part
    return found


def _own_strata(scored: Scored, concept: str) -> list[str]:
    """Name the columns of the groups of a concept, by question type; published sets come without groups."""
    return [name for name in (GROUP + concept, TYPE) if name in scored.rows.columns]


def _sides(rows: pl.DataFrame, concept: str, strata: list[str]) -> Sides:
    tail = (rows[concept] == TAIL).cast(pl.Float64).to_numpy()
    return Sides(rows["accuracy"].to_numpy(), tail, number_strata(rows, strata))


def _pooled(scored: Scored) -> list[Measure]:
    """Measure the gap over the examples of all concepts under each other."""
    parts, clusters, before = [], [], 0
    for concept in scored.concepts:
        rows = scored.rows.drop_nulls(concept)
        one = _sides(rows, concept, _own_strata(scored, concept))
        parts.append(one._replace(strata=one.strata + before))
        clusters.append(rows["cluster"])
        before += int(one.strata.max(initial=-1)) + 1
    found = gap_contributions(Sides(*(np.concatenate(columns) for columns in zip(*parts, strict=True))))
    if found is None:
        return []
    used = ~np.isnan(found)
    whole = _within(mean(found[used], pl.concat(clusters).filter(pl.Series(used)), kind="differences"), -1)
    return [measured(POOLED, whole, of=None, condition=OWN, score=scored.how)]


def _column_mean(rows: pl.DataFrame, name: str, how: str) -> Measure:
    part = rows.drop_nulls(name)
    kind: Kind = "scores" if name.startswith("OOD mean") else "differences"
    found = _within(mean(part[name], part["cluster"], kind=kind), 0 if kind == "scores" else -1)
    p = None if kind == "scores" else _p(found)
    return replace(measured(name, found, of=name, condition=OWN, score=how), p=p)


def _p(found: Estimate) -> float | None:
    """Give the p-value of the clustered t test; none where there is no spread."""
    if not found.se > 0:
        return None
    return 2 * float(scipy.special.stdtr(found.clusters - 1, -abs(found.value) / found.se))


def _drop(rows: pl.DataFrame, concept: str, inside: Bools, how: str) -> Measure:
    """Measure a drop as (1 - n_c / N) (rest - tail), which has an interval also where there are no mistakes."""
    tail, rest = rows.filter(pl.Series(inside)), rows.filter(pl.Series(~inside))
    found = difference(rest["accuracy"], tail["accuracy"], rest["cluster"], tail["cluster"])
    share = rest.height / rows.height
    scaled = found._replace(value=found.value * share, low=found.low * share, high=found.high * share)
    return measured(_drop_name(concept), scaled, of=_drop_name(concept), condition=OWN, score=how)


def _with_q(measures: list[Measure]) -> list[Measure]:
    """Correct the p-values of each kind of measure for their number (Holm)."""
    found: list[Measure] = []
    for kind in dict.fromkeys(one.name.partition(",")[0] for one in measures):
        same = [one for one in measures if one.name.partition(",")[0] == kind]
        q = adjust([np.nan if one.p is None else one.p for one in same], "holm")
        found += [replace(one, q=None if np.isnan(each) else float(each)) for one, each in zip(same, q, strict=True)]
    return found


def _largest(rows: pl.DataFrame, scored: Scored) -> list[Measure]:
    """Bound the largest gap: all intervals hold together with 95 %, so their largest ends bound it."""
    names = {name: f"gap, {name}" for name in scored.concepts if f"gap, {name}" in rows.columns}
    level = 1 - (1 - LEVEL) / max(len(names), 1)
    every = {name: _gap_at(rows.drop_nulls(column), column, level) for name, column in names.items()}
    known = {name: one for name, one in every.items() if np.isfinite(one.low)}
    if not known:
        return []
    surest = max(known, key=lambda name: (known[name].low, name))
    one = known[surest]
    high = max(other.high for other in known.values())
    note = f"{surest}; interval for the largest of {len(known)} gaps, Bonferroni"
    found = Measure("largest gap", one.value, one.low, high, one.n, one.clusters, condition=OWN, note=note)
    return [replace(found, score=scored.how)]


def _gap_at(part: pl.DataFrame, column: str, level: float) -> Estimate:
    return _within(mean(part[column], part["cluster"], level=level, kind="differences"), -1)


def _within(found: Estimate, least: int) -> Estimate:
    """Cut an interval where no mean of scores, or no difference of two, can be; contributions may lie beyond."""
    return found._replace(low=float(np.clip(found.low, least, 1)), high=float(np.clip(found.high, least, 1)))
