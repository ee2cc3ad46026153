"""What a run holds, in numbers and verdicts."""

from functools import lru_cache
from typing import NamedTuple

import polars as pl

from eyechart.store import Manifest
from eyechart.reporting.collect import collect_results
from eyechart.reporting.contents import Summary
from eyechart.reporting.learned import read_learned
from eyechart.viewing.shelf import Shelf, Stamped, stamped


class Overview(NamedTuple):
    """The first page."""

    name: str
    counts: tuple[tuple[str, int], ...]
    summary: tuple[Summary, ...]
    models: tuple[str, ...]
    conditions: tuple[str, ...]
    manifest: Manifest


def look_over(shelf: Shelf) -> Overview:
    """Gather the first page from the small files of a run."""
    return Overview(
        shelf.about.name,
        tuple(_counts(shelf).items()),
        _summary(shelf, _changed(shelf)),
        tuple(shelf.models()),
        tuple(shelf.conditions()),
        shelf.layout.manifest,
    )


def as_table(summary: tuple[Summary, ...]) -> pl.DataFrame:
    """Lay verdicts out for a file; cautions in a few words."""
    rows = [vars(row) | {"cautions": "; ".join(each.short for each in row.cautions)} for row in summary]
    return pl.DataFrame(rows)


def _counts(shelf: Shelf) -> dict[str, int]:
    counts = {"examples": shelf.about.rows["examples"], "images": shelf.about.rows["images"]}
    rules = shelf.rules()
    if rules is not None:
        counts["rules"] = _mined(rules)
        counts["rules confirmed"] = _confirmed(rules)
    return counts


@lru_cache(maxsize=4)
def _mined(rules: Stamped) -> int:
    """Count the rules; the most frequent answer stands among them, but was not mined."""
    return int(rules.scan().select((pl.col("kind") != "prior").sum()).collect().item())


@lru_cache(maxsize=4)
def _confirmed(rules: Stamped) -> int:
    return int(rules.scan().select((pl.col("state") == "confirmed").sum()).collect().item())


@lru_cache(maxsize=4)
def _summary(shelf: Shelf, _now: tuple[Stamped, ...]) -> tuple[Summary, ...]:
    studies = [shelf.outline(audit) for audit in shelf.studies()]
    results = [shelf.outline(audit, model) for model, audits in shelf.results().items() for audit in audits]
    learned = {model: found for model in shelf.models() if (found := read_learned(shelf.layout, model))}
    return collect_results(results, studies, learned).summary


def _changed(shelf: Shelf) -> tuple[Stamped, ...]:
    """Look at the file that is written last in every study and result."""
    folder = shelf.layout.folder
    found = [*folder.glob("studies/*/settings.json"), *folder.glob("results/*/*/settings.json")]
    return tuple(stamped(path) for path in sorted(found))
