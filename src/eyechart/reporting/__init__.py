"""Results become a page: collect first (plain values, also as JSON), render second; only views are known, no audit."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from eyechart.files import replacing
from eyechart.reporting.collect import as_dict, collect, collect_results
from eyechart.reporting.contents import Page
from eyechart.reporting.gallery import make_thumbnails
from eyechart.reporting.page import render
from eyechart.reporting.standings import collect_standings
from eyechart.reporting.standings_page import render_standings
from eyechart.result import Result
from eyechart.store import Store

Source: TypeAlias = str | Path | Result | Mapping[str, Result] | Mapping[str, Mapping[str, Result]]

__all__ = [
    "Page",
    "Source",
    "as_dict",
    "collect",
    "collect_results",
    "gather",
    "render",
    "report",
    "report_comparison",
    "to_json",
    "write_page",
    "write_report",
]


def report(source: Source, to: str | Path) -> Path:
    """Write one self-contained page about a run folder, a result, or results by audit or by model and audit."""
    if not isinstance(source, str | Path):
        return write_page(render(gather(source)), to)
    store = Store(Path(source))
    return write_report(store, collect(store), to)


def write_report(store: Store, page: Page, to: str | Path) -> Path:
    """Write one self-contained page about a run that is collected already, with the pictures of its galleries."""
    drawings = [drawing for section in page.sections for drawing in section.drawings]
    return write_page(render(page, make_thumbnails(drawings, store.data.images)), to)


def report_comparison(
    runs: Sequence[str | Path], to: str | Path, audits: Sequence[str] = (), base: str | None = None
) -> Path:
    """Write one self-contained page about the models of runs on the same data, side by side."""
    return write_page(render_standings(collect_standings([Store(Path(run)) for run in runs], audits, base)), to)


def write_page(text: str, to: str | Path) -> Path:
    """Write a page whole or not at all."""
    place = Path(to)
    with replacing(place) as draft:
        draft.write_text(text, encoding="utf-8")
    return place


def gather(source: Source) -> Page:
    """Collect a page from whatever holds results."""
    if isinstance(source, str | Path):
        return collect(Store(Path(source)))
    return collect_results(_results(source))


def to_json(page: Page) -> str:
    """Write a collected page as JSON text."""
    return json.dumps(as_dict(page), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _results(source: Result | Mapping[str, Result] | Mapping[str, Mapping[str, Result]]) -> Iterator[Result]:
    if isinstance(source, Result):
        yield source
        return
    for part in source.values():
        yield from _results(part)
