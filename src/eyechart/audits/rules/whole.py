"""Put a study together: parts, numbers, rules, labels, measures and tables."""

from pathlib import Path

import polars as pl

from eyechart.audits.rules.audit import QUESTION, RulesAudit
from eyechart.audits.rules.gallery import gallery_table
from eyechart.audits.rules.mined import Search, tell
from eyechart.audits.rules.parts import Parts, count_parts, take_parts
from eyechart.audits.rules.published import label_by_ids, no_rules_table
from eyechart.audits.rules.shown import shown_table
from eyechart.audits.rules.study import COUNTEREXAMPLE, EASY, Studied, measure_study, number_parts, study_rules
from eyechart.audits.rules.sweep import Sought, chosen, sweep
from eyechart.audits.rules.views import answers_table, study_tables, study_views
from eyechart.dataset import Dataset
from eyechart.kernels import announced
from eyechart.protocols import Engine
from eyechart.result import Measure, Result, Verdict, measures_table
from eyechart.scoring import chosen_score


def study_by_rules(audit: RulesAudit, data: Dataset, engine: Engine) -> Result:
    """Mine on what is learned from and label what is judged."""
    parts = take_parts(data)
    how = chosen_score(audit.score, parts.judged.examples)
    numbered = number_parts(parts, audit.answers, normalized=audit.correct == "normalized")
    search = search_of(audit)
    surface = sweep(parts.judged, numbered, Sought(search, how, engine)) if audit.select else None
    search = search if surface is None else chosen(search, surface)
    with announced(tell):
        found = study_rules(parts, numbered, search, how, engine)
    labelled = parts.judged.examples.with_columns(found.rows["kind"], found.rows["matches"])
    tables = study_tables(parts.judged.examples, found.rows, found.rules)
    tables["shown"] = shown_table(labelled, found.rules, found.mined, numbered.judged)
    tables["gallery"] = gallery_table(parts.judged, found.rules, found.mined, numbered.judged)
    if surface is not None:
        tables["surface"] = surface
    measures = list(measure_study(found.rows, found.rules, how)) if found.rows.height else []
    return Result(
        audit=audit.name,
        subject=data.name,
        settings=audit.settings(),
        measures=measures_table(measures),
        rows=found.rows,
        tables={
            "counts": count_parts(parts, numbered.learn.n),
            "notes": _notes(parts, found, search),
            "rules": found.rules,
            **tables,
        },
        views=study_views(tables),
        verdict=_not_tested(_say(found, measures, parts), measures),
    )


def study_by_ids(audit: RulesAudit, data: Dataset, file: Path) -> Result:
    """Label what is judged by published lists."""
    parts = take_parts(data)
    rows = label_by_ids(parts.judged.examples, file)
    n = int((rows["kind"] == COUNTEREXAMPLE).sum())
    labelled = parts.judged.examples.with_columns(rows["kind"].alias("subset"))
    tables = {"answers": answers_table(labelled)}
    sentence = f"{n:,} of the {rows.height:,} judged examples are on the published list of counterexamples."
    return Result(
        audit=audit.name,
        subject=data.name,
        settings=audit.settings(),
        measures=measures_table([]),
        rows=rows,
        tables={
            "counts": count_parts(parts, 0, "published ids need no rules"),
            "rules": no_rules_table(),
            **tables,
        },
        views=study_views(tables),
        verdict=_not_tested(sentence, []),
    )


def _not_tested(sentence: str, measures: list[Measure]) -> Verdict:
    """Say what was found in the data, and how many of them are counterexamples."""
    found = {measure.name: measure.key for measure in measures if measure.by is None}
    return Verdict("not tested", QUESTION, "no model yet", sentence, found.get(f"{COUNTEREXAMPLE} share"))


def search_of(audit: RulesAudit) -> Search:
    """Select the settings of the miner."""
    return Search(*(getattr(audit, name) for name in Search._fields))


def _notes(parts: Parts, found: Studied, search: Search) -> pl.DataFrame:
    used = f"min_support {search.min_support:g}, min_confidence {search.min_confidence:g}"
    return pl.DataFrame({"note": [*parts.notes, *found.notes, used]}, schema={"note": pl.String})


def _say(found: Studied, measures: list[Measure], parts: Parts) -> str:
    """Say what was found, and what a reader should know about the data."""
    shares = {measure.name: f"{measure.value:.1%}" for measure in measures}
    confirmed = int((found.rules["state"] == "confirmed").sum())
    said = f"{found.mined.n:,} rules, {confirmed:,} confirmed on held-out images"
    if shares:
        said += f"; {shares[f'{EASY} share']} of the examples easy, {shares[f'{COUNTEREXAMPLE} share']} counterexamples"
    return "; ".join([said, *found.notes, *parts.notes]) + "."
