"""What a run holds, in numbers and verdicts."""

from functools import lru_cache
from typing import NamedTuple

import polars as pl

from eyechart.reporting.collect import collect_summary
from eyechart.reporting.contents import Summary
from eyechart.store import Manifest, Store
from eyechart.stored import Stamped
from eyechart.viewing import inventory
from eyechart.viewing.brought import Brought


class Overview(NamedTuple):
    """The first page."""

    name: str
    counts: tuple[tuple[str, int], ...]
    summary: tuple[Summary, ...]
    models: tuple[str, ...]
    conditions: tuple[str, ...]
    manifest: Manifest


def look_over(store: Store, brought: Brought) -> Overview:
    """Gather the first page from the small files of a run, with what audits count."""
    rows = store.about_data.rows
    counts = {"examples": rows["examples"], "images": rows["images"]} | brought.facts(store)
    return Overview(
        store.about_data.name,
        tuple(counts.items()),
        _summary(store, inventory.verdicts(store)),
        tuple(inventory.models(store)),
        tuple(inventory.conditions(store)),
        store.manifest,
    )


def as_table(summary: tuple[Summary, ...]) -> pl.DataFrame:
    """Lay verdicts out for a file; cautions in a few words."""
    rows = [vars(row) | {"cautions": "; ".join(each.short for each in row.cautions)} for row in summary]
    return pl.DataFrame(rows)


@lru_cache(maxsize=4)
def _summary(store: Store, _now: tuple[Stamped, ...]) -> tuple[Summary, ...]:
    return collect_summary(store)
