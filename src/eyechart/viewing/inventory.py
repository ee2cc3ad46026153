"""The contents of a run: models, conditions, verdicts, and the numbers on the first page."""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.store import Store
from eyechart.data.stored import TableFile, stat_table
from eyechart.reporting.collect import outline
from eyechart.reporting.contents import describe_outdated
from eyechart.reporting.glance import ModelLine, sum_up
from eyechart.reporting.overall import Overall, read_overall
from eyechart.reporting.sections import Section, Summary
from eyechart.viewing.furniture import ExplorerFurniture


def models(store: Store) -> list[str]:
    """List the models that answered or were judged."""
    return sorted({*store.models(), *store.results()})


def conditions(store: Store) -> list[str]:
    """List the conditions, the unchanged one first."""
    return _unchanged_first(store.conditions())


def conditions_of(store: Store, model: str) -> list[str]:
    """List the conditions a model answered under, the unchanged one first."""
    return _unchanged_first(store.answered(model))


def has_pictures(store: Store) -> bool:
    """Return whether the images have picture files."""
    return "path" in store.images.scan().collect_schema()


def plans(store: Store) -> tuple[TableFile, ...]:
    """Stamp the plans of all studies; as long as they are unchanged, so is the furniture of audits."""
    return _stamp([*store.plan_files(), *store.verdict_files()])


def overview(store: Store, furniture: ExplorerFurniture) -> dict[str, Any]:
    """Collect the contents of the first page from the small files of a run and the counts of audits."""
    rows = store.about_data.rows
    counts = {"examples": rows["examples"], "images": rows["images"]} | furniture.facts(store)
    return {
        "name": store.about_data.name,
        "counts": list(counts.items()),
        "sections": sections(store),
        "outdated": describe_outdated(each.verdict for each in sections(store) if each.role == "result"),
        "models": models(store),
        "conditions": conditions(store),
        "manifest": store.manifest,
        "report": store.report_file if store.report_file.is_file() else None,
    }


def sections(store: Store) -> tuple[Section, ...]:
    """Collect the verdicts, cached until the last-written file of a study or result changes."""
    return _sections(store, _stamp(store.verdict_files()))


def overall(store: Store) -> tuple[Overall, ...]:
    """Collect the line of each model."""
    return _overall(store, plans(store))


def lines(store: Store) -> tuple[ModelLine, ...]:
    """Collect the rows of the matrix."""
    return sum_up(sections(store), overall(store), store).models


def verdicts(store: Store) -> tuple[Summary, ...]:
    """List the verdicts, with the measures that they are based on."""
    return tuple(row for section in sections(store) for row in section.summaries())


def verdict_table(store: Store) -> pl.DataFrame:
    """Lay out the verdicts for a file, with their cautions in short form."""
    return pl.DataFrame([vars(row) | {"cautions": row.short_cautions} for row in verdicts(store)])


@lru_cache(maxsize=4)
def _sections(store: Store, _stamps: tuple[TableFile, ...]) -> tuple[Section, ...]:
    return outline(store)


@lru_cache(maxsize=4)
def _overall(store: Store, _stamps: tuple[TableFile, ...]) -> tuple[Overall, ...]:
    return read_overall(store)


def _stamp(files: Iterable[Path]) -> tuple[TableFile, ...]:
    return tuple(map(stat_table, files))


def _unchanged_first(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (name != PLAIN_CONDITION, name))
