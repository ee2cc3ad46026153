"""Collect everything a page shows as plain values that JSON can hold, independently of how it is rendered."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import polars as pl

from eyechart.audits import AUDITS
from eyechart.base.files import adapter, our_version
from eyechart.base.progress import tracked
from eyechart.base.registry import import_object
from eyechart.data.furniture import Hiding, Look, furniture_of, looks_of
from eyechart.data.predictions import USABLE
from eyechart.data.result import Result, Verdict
from eyechart.data.store import Store
from eyechart.data.tables import STATUSES
from eyechart.reporting.contents import Comparison, Coverage, Facts, Origin, Page, Stock
from eyechart.reporting.drawing import Drawing, plain, prepare, prepare_table
from eyechart.reporting.glance import glance_at
from eyechart.reporting.overall import collect_overall
from eyechart.reporting.sections import CountRow, Learned, MeasureRow, Role, Section, describe_judged
from eyechart.runs.comparison import compare, gather_results


def collect(store: Store) -> Page:
    """Collect a run folder: its data, studies, answers and results."""
    origin, facts = Origin.of(store.manifest), find_facts(store)
    models, learned = store.models(), learned_by_model(store)
    results = [result for audits in store.results().values() for result in audits.values()]
    sections = _sections(store.studies().values(), results, learned, judged_by_audit(store))
    overall = collect_overall(_verdicts(sections), store)
    return replace(
        _page(facts.name, sections),
        facts=facts,
        coverage=tuple(_cover(store, model, condition) for model in models for condition in store.conditions()),
        stocks=tuple(Stock(model, counts) for model in models if (counts := _counts(store.stock(model)))),
        comparisons=tuple(_compare(store)),
        origin=origin,
        learned=tuple(learned.values()),
        left_out=store.left_out(),
        looks=collect_looks(store),
        overall=overall,
        glance=glance_at(sections, overall, store),
    )


def collect_results(
    results: Iterable[Result],
    studies: Iterable[Result] = (),
    learned: Mapping[str, Learned] | None = None,
    judged: Mapping[str, str] | None = None,
) -> Page:
    """Collect results that are still in memory, without facts about the data."""
    sections = _sections(studies, results, learned or {}, judged or {})
    subjects = list(dict.fromkeys(section.subject for section in sections))
    page = _page(", ".join(subjects) if len(subjects) < 4 else f"{len(subjects)} subjects", sections)
    overall = collect_overall(_verdicts(sections))
    return replace(page, looks=collect_looks(), overall=overall, glance=glance_at(sections, overall))


def outline(store: Store) -> tuple[Section, ...]:
    """Collect the verdicts and the measures over all examples, without preparing drawings or reading rows."""
    judged, learned = judged_by_audit(store), learned_by_model(store)
    studies = [outline_result(study, "study", judged) for study in store.studies().values()]
    results = [result for audits in store.results().values() for result in audits.values()]
    of_models = [_with_cautions(outline_result(result, "result", judged), learned) for result in results]
    return tuple(sorted([*studies, *of_models], key=_order))


def collect_section(store: Store, audit: str, model: str | None = None) -> Section | None:
    """Collect what a run found by an audit, of the data or of a model, without drawings; None if nothing."""
    of_models: Mapping[str, Mapping[str, Result]] = store.results()
    results = store.studies() if model is None else of_models.get(model, {})
    if audit not in results:
        return None
    result, judged = results[audit], judged_by_audit(store)
    section = outline_result(result, "study" if model is None else "result", judged)
    section = replace(section, measures=_measures(result))
    return _with_cautions(section, learned_by_model(store))


def learned_by_model(store: Store) -> dict[str, Learned]:
    """Read what the models of a run were trained on, for those that say so."""
    return {model: learned for model in store.models() if (learned := read_learned(store, model))}


def read_learned(store: Store, model: str) -> Learned | None:
    """Read what a run recorded about a model's training; None if nothing."""
    identity = store.identity(model)
    learned = Learned(model, _names(identity, "pretrained_on"), _names(identity, "trained_on_the_metric"))
    return learned if learned.pretrained_on or learned.trained_on_the_metric else None


def collect_looks(store: Store | None = None) -> tuple[Look, ...]:
    """Collect the looks of conditions, from all registered audits and from the studies of a run."""
    registered = looks_of(AUDITS.get(name) for name in AUDITS.names())
    return tuple(dict.fromkeys([*registered, *(store.looks() if store else ())]))


def collect_hidings() -> tuple[Hiding, ...]:
    """Collect what the conditions of all registered audits offer and hide."""
    return tuple(hiding for name in AUDITS.names() for hiding in furniture_of(AUDITS.get(name)).hidings)


def judged_by_audit(store: Store) -> dict[str, str]:
    """Describe for each audit of a run how many examples it judges, without reading the examples."""
    planned = [audit for audit in store.studies() if store.plan_file(audit).is_file()]
    divided, cluster = store.divided, store.about_data.cluster
    return {audit: describe_judged(store.plan(audit), divided, cluster) for audit in planned}


def find_facts(store: Store) -> Facts:
    """Collect the sizes and other facts of a run's data."""
    data = store.data
    shown = ("image", "split") if data.splits() else ("image",)
    table = data.scan(*shown).select(shown).collect()
    images, splits = table["image"], table["split"].fill_null("(none)") if "split" in shown else None
    return Facts(
        name=data.name,
        examples=data.height,
        images=images.drop_nulls().n_unique(),
        splits={} if splits is None else dict(splits.value_counts().sort("split").iter_rows()),
        modalities=data.modalities,
        cluster=data.cluster,
        counts=_counts(data.counts),
        divided=store.divided,
    )


def columns_of(results: Iterable[Result]) -> list[str]:
    """List the columns that measures are broken down by."""
    return sorted({name for result in results for name in result.measures["by"].drop_nulls()})


def as_dict(page: Page) -> dict[str, Any]:
    """Convert a page to values that JSON can hold."""
    content: dict[str, Any] = adapter(Page).dump_python(page, mode="json")
    return content


def _page(name: str, sections: tuple[Section, ...]) -> Page:
    return Page(
        title=f"An eye test of {name or 'nothing yet'}",
        version=our_version(),
        facts=None,
        coverage=(),
        stocks=(),
        summary=tuple(row for section in sections for row in section.summaries()),
        comparisons=(),
        sections=sections,
        origin=None,
    )


def _sections(
    studies: Iterable[Result],
    results: Iterable[Result],
    learned: Mapping[str, Learned],
    judged: Mapping[str, str],
) -> tuple[Section, ...]:
    """Build the sections, sorted by audit, with the study of the data before the models."""
    of_models = (_with_cautions(_section(result, "result", judged), learned) for result in results)
    sections = [*(_section(study, "study", judged) for study in studies), *of_models]
    return tuple(sorted(sections, key=lambda section: (*_order(section), repr(section))))


def _verdicts(sections: Iterable[Section]) -> dict[str, dict[str, tuple[Verdict, ...]]]:
    """Group the verdicts on models by model and audit; several results of an audit count like one."""
    verdicts: dict[str, dict[str, tuple[Verdict, ...]]] = {}
    for section in sections:
        if section.role == "result":
            own = verdicts.setdefault(section.subject, {})
            own[section.audit] = own.get(section.audit, ()) + section.verdicts
    return verdicts


def _order(section: Section) -> tuple[str, bool, str]:
    return section.audit, section.role == "result", section.subject


def _with_cautions(section: Section, learned: Mapping[str, Learned]) -> Section:
    known = learned.get(section.subject)
    return replace(section, cautions=known.cautions(section.audit) if known else ())


def _section(result: Result, role: Role, judged: Mapping[str, str]) -> Section:
    return replace(
        outline_result(result, role, judged),
        measures=_measures(result),
        counts=_counts(result.tables["counts"]),
        drawings=tuple(prepare(result, view) for view in result.views),
    )


def outline_result(result: Result, role: Role, judged: Mapping[str, str]) -> Section:
    """Build a section with the verdicts and the measures over all examples alone."""
    headline, *others = (None if one is None else MeasureRow.of(asdict(one)) for one in result.headlines)
    return Section(
        audit=result.audit,
        subject=result.subject,
        role=role,
        verdict=result.verdict,
        headline=headline,
        measures=_measures(result, pl.col("by").is_null()),
        counts=(),
        drawings=(),
        settings=plain(dict(sorted(result.settings.items()))),
        wants_more=result.wants_more,
        judged=judged.get(result.audit, ""),
        further=tuple(zip(result.further, others, strict=True)),
    )


def _measures(result: Result, *chosen: pl.Expr) -> tuple[MeasureRow, ...]:
    return tuple(map(MeasureRow.of, result.measures.filter(*chosen).iter_rows(named=True)))


def _counts(table: pl.DataFrame) -> tuple[CountRow, ...]:
    # Successes have no reason and are listed first.
    ordered = table.sort("condition", pl.col("reason").is_not_null(), "status", "reason")
    return tuple(CountRow(**row) for row in ordered.select("condition", "status", "reason", "n").iter_rows(named=True))


def _compare(store: Store) -> Iterator[Comparison]:
    """Compare the models of a run audit by audit, skipping audits whose results have different settings."""
    gathered = gather_results([store])
    with tracked("comparing models", len(gathered)) as advance:
        for audit, results in gathered.items():
            if len(results) > 1 and len({repr(result.settings) for result in results.values()}) == 1:
                compared = Comparison.of(audit, compare(results, store.data_with(columns_of(results.values()))))
                yield replace(compared, drawings=draw_together(audit, results))
            advance(1)


def draw_together(audit: str, results: Mapping[str, Result]) -> tuple[Drawing, ...]:
    """Draw the table that a registered audit makes of the results of several models, if it makes one."""
    name = furniture_of(AUDITS.get(audit)).together if audit in AUDITS.names() else ""
    gather: Any = import_object(name) if name else None  # a function, as docs/extending.md requires
    found = gather(results) if gather else None
    return (prepare_table(*found),) if found else ()


def _cover(store: Store, model: str, condition: str) -> Coverage:
    """Count probes by the best status among their answers, as STATUSES orders them."""
    probes = store.probes(condition).select("id")
    file = store.answer_file(model, condition)
    answers = store.table(file).select("id", "status") if file.is_file() else probes.clear().with_columns(status=None)
    rank = pl.col("status").cast(pl.Enum(STATUSES)).to_physical().min()
    best = probes.join(answers, on="id", how="inner", validate="1:m").group_by("id").agg(rank.alias("rank"))
    counts = {status: int((best["rank"] == rank).sum()) for rank, status in enumerate(STATUSES)}
    statuses = {**counts, "missing": probes.height - best.height}
    return Coverage(model, condition, probes.height, sum(counts[status] for status in USABLE), statuses)


def _names(identity: Mapping[str, Any], key: str) -> tuple[str, ...]:
    # Models can write anything into their identity; only a list is accepted.
    value = identity.get(key)
    return tuple(map(str, value)) if isinstance(value, list) else ()
