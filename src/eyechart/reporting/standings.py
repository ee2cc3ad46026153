"""Rank the models of one or several runs by each audit, with the uncertainty of the ranks, as plain values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import polars as pl

from eyechart.base.errors import DataError
from eyechart.base.files import adapter, our_version
from eyechart.base.registry import unknown_name
from eyechart.data.result import Better, Key, Result, State, name_measure, speak
from eyechart.data.store import Store
from eyechart.reporting.collect import (
    collect_hidings,
    columns_of,
    draw_together,
    find_facts,
    outline_result,
    read_learned,
)
from eyechart.reporting.comparison_table import TextGrid, format_difference, with_way
from eyechart.reporting.contents import Comparison, Facts, Origin, describe_outdated
from eyechart.reporting.drawing import Drawing, plain
from eyechart.reporting.glance import NOTHING, Glance, sum_up
from eyechart.reporting.grid import format_p
from eyechart.reporting.overall import Overall, Remedies, verdicts_of
from eyechart.reporting.pairing import tell_pair
from eyechart.reporting.sections import Caution, Learned
from eyechart.reporting.standings_charts import best_first, better_of, draw_standings, is_under
from eyechart.runs.comparison import JudgedModel, compare, list_judged_models

OLDER = "An older version, which did not record which way is better, judged these models: values without ranks."
LEADERS = ("audit", "measure", "best", "value [interval]", "n", "leads in")


@dataclass(frozen=True)
class Entrant:
    """A compared model: its name in the comparison and in its run, and the run its results are from."""

    name: str
    model: str
    run: str
    command: str
    seed: int
    learned: Learned | None
    overall: Overall

    @classmethod
    def of(cls, judged: JudgedModel, remedies: Remedies) -> Self:
        """Read what a run recorded about a judged model."""
        origin, learned = Origin.of(judged.run.manifest), read_learned(judged.run, judged.model)
        overall = Overall.of(judged.model, verdicts_of(judged.results), remedies)
        named = replace(overall, model=judged.name)
        return cls(judged.name, judged.model, str(judged.run.folder), origin.command, origin.seed, learned, named)


@dataclass(frozen=True)
class Standing:
    """One model by the headline measure of an audit, and its difference from the base."""

    name: str
    state: State
    rank: int | None
    first: float | None  # the share of bootstrap samples in which it leads
    text: str
    n: int
    clusters: int | None
    difference: str | None
    common: int | None  # examples that both have
    q: float | None
    cautions: tuple[Caution, ...]

    @classmethod
    def of(cls, row: dict[str, Any], result: Result, learned: Learned | None) -> Self:
        """Build a model's standing from its row of a compared table."""
        return cls(
            name=row["model"],
            state=result.verdict.state,
            rank=row["rank"],
            first=plain(row["first"]),
            text=speak(row),
            n=row["n"],
            clusters=row["clusters"],
            difference=format_difference(row),
            common=row["common"],
            q=plain(row["q"]),
            cautions=learned.cautions(result.audit) if learned else (),
        )

    def cells(self) -> tuple[str, ...]:
        """Format the standing as the cells of a ranking."""
        return (
            _count_or_dash(self.rank),
            self.name + "".join(f" (⚠ {caution.short})" for caution in self.cautions),
            self.text,
            f"{self.n:,}",
            _count_or_dash(self.clusters),
            "-" if self.first is None else _percent(self.first),
            self.difference or "-",
            _count_or_dash(self.common),
            format_p(self.q) or "-",
        )


@dataclass(frozen=True)
class AuditRanking:
    """Models ranked and side by side by one audit."""

    audit: str
    base: str
    measure: str
    better: Better
    sentence: str
    standings: tuple[Standing, ...]
    drawings: tuple[Drawing, ...]
    whole: TextGrid
    groups: TextGrid
    records: tuple[dict[str, Any], ...]  # every value and difference, as numbers
    together: tuple[Drawing, ...] = ()  # what the audit makes of all of them

    def leader(self) -> tuple[str, ...]:
        """Format the model with the best value as the cells of LEADERS."""
        best = [standing for standing in self.standings if standing.rank == 1]
        measure = with_way(self.measure, self.better)
        if not best:
            return self.audit, measure, "-", "-", "-", "-"
        share = _percent(sum(standing.first or 0 for standing in best))
        return self.audit, measure, " and ".join(each.name for each in best), best[0].text, f"{best[0].n:,}", share


@dataclass(frozen=True)
class Standings:
    """Everything a page of comparisons shows, in the order of the page."""

    title: str
    version: str
    command: str
    facts: Facts
    entrants: tuple[Entrant, ...]
    contests: tuple[AuditRanking, ...]
    left_out: tuple[str, ...]  # what is not compared, and why
    glance: Glance = NOTHING  # models by audits
    found: str = ""  # of the two models a reader would compare
    outdated: str = ""  # how many of the results an older version made

    def leaders(self) -> TextGrid:
        """List which model has the best value by each audit."""
        return TextGrid("Leading models", LEADERS, tuple(ranking.leader() for ranking in self.contests))


def collect_standings(
    runs: Sequence[Store], audits: Sequence[str] = (), base: str | None = None, command: str = ""
) -> Standings:
    """Rank the models of runs on the same data, and list the audits that cannot be compared, with the reasons."""
    judged = list_judged_models(runs)
    by_audit = {
        name: _of_audit(judged, name) for name in dict.fromkeys(name for each in judged for name in each.results)
    }
    for name in audits:
        if name not in by_audit:
            raise unknown_name("audit with results", name, tuple(by_audit))
    if base is not None and base not in (names := [each.name for each in judged]):
        raise unknown_name("model to compare with", base, tuple(names))
    chosen = {name: by_audit[name] for name in audits or by_audit}
    left_out = {name: reason for name, results in chosen.items() if (reason := _why_not(results, base))}
    if len(left_out) == len(chosen):
        advice = "judge at least two models by the same audit with the same settings"
        raise DataError("results that can be compared", "; ".join(left_out.values()) or "none", advice)
    by_run = {run: Remedies.of(run) for run in dict.fromkeys(each.run for each in judged)}
    entrants = tuple(Entrant.of(each, by_run[each.run]) for each in judged)
    learned = {entrant.name: entrant.learned for entrant in entrants}
    kept = {name: results for name, results in chosen.items() if name not in left_out}
    glance = _glance(judged, entrants)
    return Standings(
        title=f"{len(entrants)} models side by side on {runs[0].data.name}",
        version=our_version(),
        command=command,
        facts=find_facts(runs[0]),
        entrants=entrants,
        contests=tuple(_rank(results, runs[0], base, learned) for results in kept.values()),
        left_out=tuple(f"{name}: {reason}" for name, reason in left_out.items()),
        glance=glance,
        found=tell_pair(glance.models, {each.name: each.results for each in judged}),
        outdated=describe_outdated(result.verdict for results in kept.values() for result in results.values()),
    )


def as_dict(standings: Standings) -> dict[str, Any]:
    """Convert standings to values that JSON can hold."""
    content: dict[str, Any] = adapter(Standings).dump_python(standings, mode="json")
    return content


def _glance(judged: Iterable[JudgedModel], entrants: Iterable[Entrant]) -> Glance:
    """Sum up the models by the names they have here, which tell those of several runs apart."""
    sections = [
        replace(outline_result(result, "result", {}), subject=each.name)
        for each in judged
        for result in each.results.values()
    ]
    return sum_up(sections, [entrant.overall for entrant in entrants])


def _of_audit(judged: Iterable[JudgedModel], audit: str) -> dict[str, Result]:
    return {each.name: each.results[audit] for each in judged if audit in each.results}


def _why_not(results: dict[str, Result], base: str | None) -> str | None:
    """Say why results cannot be compared; None if they can."""
    if len(results) < 2:
        return f"only {', '.join(results)} was judged by it"
    if base is not None and base not in results:
        return f"{base} was not judged by it"
    if len({repr(sorted(result.settings.items())) for result in results.values()}) > 1:
        return f"judged with different settings for {', '.join(results)}"
    return None


def _rank(results: dict[str, Result], run: Store, base: str | None, learned: dict[str, Learned | None]) -> AuditRanking:
    base = base or next(iter(results))
    table = compare(results, run.data_with(columns_of(results.values())), base)
    headline = _choose(table, results[base].verdict.measure)
    rows = best_first(table.filter(_is(headline)))
    standings = tuple(
        Standing.of(row, results[row["model"]], learned[row["model"]]) for row in rows.iter_rows(named=True)
    )
    compared = Comparison.of(results[base].audit, table)
    is_older = any(result.verdict.is_outdated for result in results.values())
    return AuditRanking(
        audit=compared.audit,
        base=base,
        measure=name_measure(vars(headline)) if headline else "",
        better=better_of(rows),
        sentence=OLDER if is_older else _conclude(standings, headline, better_of(rows)),
        standings=standings,
        drawings=tuple(draw_standings(table, headline, base, tuple(results))) if headline else (),
        whole=compared.whole,
        groups=compared.groups,
        records=compared.records,
        together=draw_together(compared.audit, results),
    )


def _choose(table: pl.DataFrame, headline: Key | None) -> Key | None:
    """Choose the measure that the verdict rests on, or the closest one whose examples can be paired."""
    whole = table.filter(pl.col("by").is_null())
    paired = whole.filter(pl.col("delta").is_not_null())
    candidates = (paired if paired.height else whole).select("name", "condition").unique(maintain_order=True)
    if not candidates.height:
        return None
    name, condition = (headline.name, headline.condition or "plain") if headline else (None, "plain")
    same_name = pl.col("name").eq_missing(pl.lit(name, pl.String))
    # For another measure, prefer the condition that offers the same options and hides nothing.
    wanted = pl.when(same_name).then(pl.lit(condition)).otherwise(pl.lit(_unhidden(condition)))
    nearest = candidates.sort(
        ~same_name, pl.col("name") != "accuracy", pl.col("condition").fill_null("plain") != wanted, maintain_order=True
    )
    return Key(*nearest.row(0))


def _unhidden(condition: str) -> str:
    """Return the condition that offers the same options and hides nothing; most conditions know of none."""
    hidings = collect_hidings()
    options = {each.options for each in hidings if each.condition == condition}
    return next((each.condition for each in hidings if each.options in options and not each.hidden), condition)


def _is(chosen: Key | None) -> pl.Expr:
    if chosen is None:
        return pl.lit(value=False)
    return pl.col("by").is_null() & (pl.col("name") == chosen.name) & is_under(chosen.condition)


def _conclude(standings: Sequence[Standing], headline: Key | None, better: Better) -> str:
    """Say which model has the best value, and in how many bootstrap samples."""
    if better == "neither" and headline is not None:
        return f"Neither direction is better for {headline.name}: these values are listed side by side, without ranks."
    ranked = [each for each in standings if each.rank is not None and each.first is not None]
    if not ranked or headline is None:
        return "These values are not means over examples; they are listed side by side, without ranks."
    best = [each for each in ranked if each.rank == 1]
    names = " and ".join(each.name for each in best)
    share = _percent(sum(each.first or 0 for each in best))
    value = f"{best[0].text}, the {'lowest' if better == 'lower' else 'highest'}"
    return f"The best {headline.name} is that of {names}: {value}, in {share} of bootstrap samples of whole clusters."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _count_or_dash(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"
