"""Gather all that a page says, as plain values that JSON can hold; nothing here knows how it will look."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from itertools import groupby
from typing import Any

import polars as pl

from eyechart.audits import AUDITS
from eyechart.comparison import compare, results_of
from eyechart.files import our_version
from eyechart.furniture import Look, looks_of
from eyechart.predictions import USABLE
from eyechart.reporting.comparing import lay_out, order_of
from eyechart.reporting.contents import (
    Comparison,
    CountRow,
    Coverage,
    Facts,
    Learned,
    MeasureRow,
    Origin,
    Page,
    Role,
    Section,
    Stock,
    Summary,
)
from eyechart.reporting.divided import say_judged
from eyechart.reporting.drawing import Column, Drawing, plain, prepare
from eyechart.reporting.learned import cautions_of, read_learned
from eyechart.result import Result, speak
from eyechart.store import Store
from eyechart.tables import STATUSES


def collect(store: Store) -> Page:
    """Gather a run folder: its data, studies, answers and results."""
    origin, facts = _origin(store), find_facts(store)
    results = [result for audits in store.results().values() for result in audits.values()]
    models = store.models()
    learned = learned_by_model(store)
    sections = _sections(store.studies().values(), results, learned, judged_by_audit(store, facts))
    coverage = tuple(_cover(store, model, condition) for model in models for condition in store.conditions())
    stocks = tuple(Stock(model, counted) for model in models if (counted := _counts(store.stock(model))))
    page = _page(facts.name, sections, facts=facts, coverage=coverage, stocks=stocks, origin=origin)
    compared, taught, looks = tuple(_compare(store)), tuple(learned.values()), collect_looks(store)
    return replace(page, comparisons=compared, learned=taught, left_out=store.left_out(), looks=looks)


def collect_results(
    results: Iterable[Result],
    studies: Iterable[Result] = (),
    learned: Mapping[str, Learned] | None = None,
    judged: Mapping[str, str] | None = None,
) -> Page:
    """Gather results that are still in memory; of the data they tell nothing."""
    sections = _sections(studies, results, learned or {}, judged or {})
    subjects = list(dict.fromkeys(section.subject for section in sections))
    page = _page(", ".join(subjects) if len(subjects) < 4 else f"{len(subjects)} subjects", sections)
    return replace(page, looks=collect_looks())


def collect_summary(store: Store) -> tuple[Summary, ...]:
    """Gather the verdicts of a run alone, for which nothing is drawn and no rows are read."""
    judged, learned = judged_by_audit(store, find_facts(store)), learned_by_model(store)
    studies = [_outline(study, "study", judged) for study in store.studies().values()]
    results = [result for audits in store.results().values() for result in audits.values()]
    of_models = [_warn(_outline(result, "result", judged), learned) for result in results]
    return tuple(map(_summarise, sorted([*studies, *of_models], key=_order)))


def learned_by_model(store: Store) -> dict[str, Learned]:
    """Read what the models of a run were trained on, as far as they say."""
    return {model: found for model in store.models() if (found := read_learned(store, model))}


def collect_looks(store: Store | None = None) -> tuple[Look, ...]:
    """Gather how conditions look: those of all registered audits, and of the studies of a run."""
    registered = looks_of(AUDITS.get(name) for name in AUDITS.names())
    return tuple(dict.fromkeys([*registered, *(store.looks() if store else ())]))


def judged_by_audit(store: Store, facts: Facts) -> dict[str, str]:
    """Say of each audit of a run how many examples it judges."""
    planned = [audit for audit in store.studies() if store.plan_file(audit).is_file()]
    return {audit: say_judged(store.plan(audit), facts) for audit in planned}


def as_dict(page: Page) -> dict[str, Any]:
    """Turn a page into what JSON can hold."""
    from pydantic import TypeAdapter

    content: dict[str, Any] = TypeAdapter(Page).dump_python(page, mode="json")
    return content


def _page(
    name: str,
    sections: tuple[Section, ...],
    *,
    facts: Facts | None = None,
    coverage: tuple[Coverage, ...] = (),
    stocks: tuple[Stock, ...] = (),
    origin: Origin | None = None,
) -> Page:
    return Page(
        title=f"An eye test of {name or 'nothing yet'}",
        version=our_version(),
        facts=facts,
        coverage=coverage,
        stocks=stocks,
        summary=tuple(map(_summarise, sections)),
        overviews=tuple(_overviews(sections)),
        comparisons=(),
        sections=sections,
        origin=origin,
    )


def _sections(
    studies: Iterable[Result],
    results: Iterable[Result],
    learned: Mapping[str, Learned],
    judged: Mapping[str, str],
) -> tuple[Section, ...]:
    """Order by audit, the study of the data before the models, whatever order they came in."""
    of_models = (_warn(_section(result, "result", judged), learned) for result in results)
    found = [*(_section(study, "study", judged) for study in studies), *of_models]
    return tuple(sorted(found, key=lambda section: (*_order(section), repr(section))))


def _order(section: Section) -> tuple[str, bool, str]:
    return section.audit, section.role == "result", section.subject


def _warn(section: Section, learned: Mapping[str, Learned]) -> Section:
    return replace(section, cautions=cautions_of(learned.get(section.subject), section.audit))


def _section(result: Result, role: Role, judged: Mapping[str, str]) -> Section:
    return replace(
        _outline(result, role, judged),
        measures=tuple(map(_measure, result.measures.iter_rows(named=True))),
        counts=_counts(result.tables["counts"]),
        drawings=tuple(prepare(result, view) for view in result.views),
    )


def _outline(result: Result, role: Role, judged: Mapping[str, str]) -> Section:
    headline = result.headline
    return Section(
        audit=result.audit,
        subject=result.subject,
        role=role,
        verdict=result.verdict,
        headline=_measure(asdict(headline)) if headline else None,
        measures=(),
        counts=(),
        drawings=(),
        settings=plain(dict(sorted(result.settings.items()))),
        wants_more=result.wants_more,
        judged=judged.get(result.audit, ""),
    )


def _measure(row: Mapping[str, Any]) -> MeasureRow:
    kept = {name: plain(row[name]) for name in MeasureRow.__dataclass_fields__ if name != "said"}
    return MeasureRow(**kept, said=speak(row))


def _counts(table: pl.DataFrame) -> tuple[CountRow, ...]:
    # What went well has no reason and comes first.
    ordered = table.sort("condition", pl.col("reason").is_not_null(), "status", "reason")
    return tuple(CountRow(**row) for row in ordered.select("condition", "status", "reason", "n").iter_rows(named=True))


def _summarise(section: Section) -> Summary:
    found, verdict = section.headline, section.verdict
    return Summary(
        audit=section.audit,
        subject=section.subject,
        role=section.role,
        question=verdict.question,
        state=verdict.state,
        label=verdict.label,
        sentence=verdict.sentence,
        measure=found.name if found else "",
        said=found.said if found else "-",
        n=found.n if found else None,
        clusters=found.clusters if found else None,
        judged=section.judged,
        cautions=section.cautions,
    )


def _compare(store: Store) -> Iterator[Comparison]:
    """Set the models of a run side by side, audit by audit; results of different settings are not compared."""
    for audit, results in results_of([store]).items():
        if len(results) > 1 and len({repr(result.settings) for result in results.values()}) == 1:
            table = compare(results, store.data_with(columns_of(results.values())))
            whole, groups = (
                lay_out(table.filter(part)) for part in (pl.col("by").is_null(), pl.col("by").is_not_null())
            )
            yield Comparison(audit, whole, groups, tuple(map(plain, table.iter_rows(named=True))))


def columns_of(results: Iterable[Result]) -> list[str]:
    """Name the columns that measures are broken down by."""
    return sorted({name for result in results for name in result.measures["by"].drop_nulls()})


def _overviews(sections: Iterable[Section]) -> Iterator[Drawing]:
    """Lay the headlines of several subjects side by side, one drawing for each audit and measure."""
    judged = [section for section in sections if section.role == "result"]
    for audit, of_audit in groupby(judged, key=lambda section: section.audit):
        found = [(section.subject, section.headline) for section in of_audit if section.headline]
        for name, unit, better in sorted({(row.name, row.unit, row.better) for _, row in found}):
            rows = [pair for pair in found if (pair[1].name, pair[1].unit, pair[1].better) == (name, unit, better)]
            if len(rows) > 1:
                yield _overview(f"{audit}: {name}, side by side", rows)


def _overview(title: str, found: list[tuple[str, MeasureRow]]) -> Drawing:
    name, kind, better = found[0][1].name, found[0][1].unit, found[0][1].better
    columns = (
        Column("subject", "y", "text"),
        Column(name, "x", kind),
        Column("low", "low", kind),
        Column("high", "high", kind),
        Column("n", "n", "count"),
    )
    sign = 1 if better == "lower" else -1
    best_first = sorted(found, key=lambda pair: (pair[1].value is None, sign * (pair[1].value or 0), pair[0]))
    rows = tuple((subject, row.value, row.low, row.high, row.n) for subject, row in best_first)
    alone = "Whiskers are the interval of each subject alone"
    reading = f"{order_of(better)} {alone}; only a comparison example by example says which is better."
    return Drawing(title, reading, "bars", "summary", columns, rows)


def _origin(store: Store) -> Origin:
    told = store.manifest
    return Origin("\n".join(told.commands), told.seed, told.limit, dict(sorted(told.inputs.items())))


def find_facts(store: Store) -> Facts:
    """Count the data of a run."""
    data = store.data
    images = data.scan("image").select("image").collect().to_series()
    splits = data.scan("split").select(pl.col("split").fill_null("(none)")).collect() if data.splits() else None
    return Facts(
        name=data.name,
        examples=data.height,
        images=images.drop_nulls().n_unique(),
        splits={} if splits is None else dict(splits["split"].value_counts().sort("split").iter_rows()),
        modalities=data.modalities,
        cluster=data.cluster,
        counts=_counts(data.counts),
        divided=store.divided,
    )


def _cover(store: Store, model: str, condition: str) -> Coverage:
    """Count probes by the best status among their answers, as STATUSES orders them."""
    probes = store.probes(condition).select("id")
    file = store.answer_file(model, condition)
    answers = store.table(file).select("id", "status") if file.is_file() else probes.clear().with_columns(status=None)
    rank = pl.col("status").cast(pl.Enum(STATUSES)).to_physical().min()
    best = probes.join(answers, on="id", how="inner", validate="1:m").group_by("id").agg(rank.alias("rank"))
    found = {status: int((best["rank"] == rank).sum()) for rank, status in enumerate(STATUSES)}
    statuses = {**found, "missing": probes.height - best.height}
    return Coverage(model, condition, probes.height, sum(found[status] for status in USABLE), statuses)
