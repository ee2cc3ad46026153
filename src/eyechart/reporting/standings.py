"""Gather models of one or several runs side by side, as plain values: who is ahead by which audit, and how surely."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from eyechart.comparison import Judged, compare, judged_in
from eyechart.errors import DataError
from eyechart.files import our_version
from eyechart.registry import unknown_name
from eyechart.reporting.collect import columns_of, find_facts
from eyechart.reporting.comparing import TextGrid, lay_out, say_difference
from eyechart.reporting.contents import Caution, Facts, Learned
from eyechart.reporting.drawing import Drawing, plain
from eyechart.reporting.learned import cautions_of, read_learned
from eyechart.reporting.standings_drawn import Chosen, best_first, better_of, draw_standings
from eyechart.result import Better, Key, Result, State, name_measure, speak
from eyechart.store import Store


@dataclass(frozen=True)
class Entrant:
    """A model that is compared: its name here, its own, and the run its results lie in."""

    name: str
    model: str
    run: str
    command: str
    seed: int
    learned: Learned | None


@dataclass(frozen=True)
class Standing:
    """One model by the measure that the audit's verdict rests on, and its difference to the base."""

    name: str
    state: State
    rank: int | None
    first: float | None  # the share of bootstrap samples in which it leads
    said: str
    n: int
    clusters: int | None
    difference: str | None
    common: int | None  # examples that both have
    q: float | None
    cautions: tuple[Caution, ...]


@dataclass(frozen=True)
class Contest:
    """Models side by side by one audit."""

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


@dataclass(frozen=True)
class Standings:
    """All that a page of comparisons says, in the order in which it is said."""

    title: str
    version: str
    command: str
    facts: Facts
    entrants: tuple[Entrant, ...]
    contests: tuple[Contest, ...]
    left_out: tuple[str, ...]  # what is not compared, and why


def collect_standings(
    runs: Sequence[Store], audits: Sequence[str] = (), base: str | None = None, command: str = ""
) -> Standings:
    """Gather the models of runs on the same data; audits that cannot be compared are told, not dropped."""
    judged = judged_in(runs)
    found = {name: _of_audit(judged, name) for name in dict.fromkeys(name for each in judged for name in each.results)}
    for name in audits:
        if name not in found:
            raise unknown_name("audit with results", name, tuple(found))
    if base is not None and base not in (names := [each.name for each in judged]):
        raise unknown_name("model to compare with", base, tuple(names))
    chosen = {name: found[name] for name in audits or found}
    left_out = {name: why for name, results in chosen.items() if (why := _why_not(results, base))}
    if len(left_out) == len(chosen):
        advice = "judge two models or more by the same audit with the same settings"
        raise DataError("results that can be compared", "; ".join(left_out.values()) or "none", advice)
    entrants = tuple(map(_enter, judged))
    learned = {entrant.name: entrant.learned for entrant in entrants}
    kept = {name: results for name, results in chosen.items() if name not in left_out}
    return Standings(
        title=f"{len(entrants)} models side by side on {runs[0].data.name}",
        version=our_version(),
        command=command,
        facts=find_facts(runs[0]),
        entrants=entrants,
        contests=tuple(_contest(results, runs[0], base, learned) for results in kept.values()),
        left_out=tuple(f"{name}: {why}" for name, why in left_out.items()),
    )


def as_dict(standings: Standings) -> dict[str, Any]:
    """Turn standings into what JSON can hold."""
    from pydantic import TypeAdapter

    content: dict[str, Any] = TypeAdapter(Standings).dump_python(standings, mode="json")
    return content


def _of_audit(judged: Iterable[Judged], audit: str) -> dict[str, Result]:
    return {each.name: each.results[audit] for each in judged if audit in each.results}


def _why_not(results: dict[str, Result], base: str | None) -> str | None:
    """Say why results cannot be compared; None where they can."""
    if len(results) < 2:
        return f"only {', '.join(results)} was judged by it"
    if base is not None and base not in results:
        return f"{base} was not judged by it"
    if len({repr(sorted(result.settings.items())) for result in results.values()}) > 1:
        return f"judged with different settings for {', '.join(results)}"
    return None


def _enter(judged: Judged) -> Entrant:
    told = judged.run.manifest
    learned = read_learned(judged.run, judged.model)
    return Entrant(judged.name, judged.model, str(judged.run.folder), "\n".join(told.commands), told.seed, learned)


def _contest(results: dict[str, Result], run: Store, base: str | None, learned: dict[str, Learned | None]) -> Contest:
    base = base or next(iter(results))
    table = compare(results, run.data_with(columns_of(results.values())), base)
    headline = _choose(table, results[base].verdict.measure)
    mine = best_first(table.filter(_is(headline)))
    audit = results[base].audit
    standings = tuple(_stand(row, results[row["model"]], learned[row["model"]]) for row in mine.iter_rows(named=True))
    whole, groups = (lay_out(table.filter(part)) for part in (pl.col("by").is_null(), pl.col("by").is_not_null()))
    return Contest(
        audit=audit,
        base=base,
        measure=name_measure(headline._asdict() | {"by": None}) if headline else "",
        better=better_of(mine),
        sentence=_conclude(standings, headline, better_of(mine)),
        standings=standings,
        drawings=tuple(draw_standings(table, headline, base, tuple(results))) if headline else (),
        whole=whole,
        groups=groups,
        records=tuple(map(plain, table.iter_rows(named=True))),
    )


def _choose(table: pl.DataFrame, headline: Key | None) -> Chosen | None:
    """Take the measure that the verdict rests on, or where its examples cannot be paired the nearest that can."""
    whole = table.filter(pl.col("by").is_null())
    paired = whole.filter(pl.col("delta").is_not_null())
    candidates = (paired if paired.height else whole).select("name", "condition").unique(maintain_order=True)
    if not candidates.height:
        return None
    name, condition = (headline.name, headline.condition or "plain") if headline else (None, "plain")
    mine = pl.col("name").eq_missing(pl.lit(name, pl.String))
    # Where another measure takes its place, nothing is hidden in it: `orig` rather than `orig-image`.
    wanted = pl.when(mine).then(pl.lit(condition)).otherwise(pl.lit(condition.partition("-")[0]))
    nearest = candidates.sort(
        ~mine, pl.col("name") != "accuracy", pl.col("condition").fill_null("plain") != wanted, maintain_order=True
    )
    return Chosen(*nearest.row(0))


def _is(chosen: Chosen | None) -> pl.Expr:
    if chosen is None:
        return pl.lit(value=False)
    condition = pl.col("condition").eq_missing(pl.lit(chosen.condition, pl.String))
    return pl.col("by").is_null() & (pl.col("name") == chosen.name) & condition


def _stand(row: dict[str, Any], result: Result, learned: Learned | None) -> Standing:
    return Standing(
        name=row["model"],
        state=result.verdict.state,
        rank=row["rank"],
        first=plain(row["first"]),
        said=speak(row),
        n=row["n"],
        clusters=row["clusters"],
        difference=say_difference(row),
        common=row["common"],
        q=plain(row["q"]),
        cautions=cautions_of(learned, result.audit),
    )


def _conclude(standings: Sequence[Standing], headline: Chosen | None, better: Better) -> str:
    """Say who has the best value, and how often when the examples are drawn again."""
    if better == "neither" and headline is not None:
        return f"Neither way is better by {headline.name}: these values only stand beside each other, without ranks."
    ranked = [each for each in standings if each.rank is not None and each.first is not None]
    if not ranked or headline is None:
        return "These values do not rest on single examples; they only stand beside each other, without ranks."
    best = [each for each in ranked if each.rank == 1]
    names = " and ".join(each.name for each in best)
    share = sum(each.first or 0 for each in best)
    surely = f"in {100 * share:.0f} % of the samples when whole clusters are drawn again"
    said = f"{best[0].said}, the {'lowest' if better == 'lower' else 'highest'}"
    return f"The best {headline.name} is that of {names}, {said}; it stays so {surely}."
