"""Write results as a page: collect plain values (also as JSON), then render them, without knowing audits by name."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from eyechart.base.files import replacing
from eyechart.data.result import Result
from eyechart.data.store import Store
from eyechart.reporting.behind import find_behind
from eyechart.reporting.collect import as_dict, collect, collect_results
from eyechart.reporting.contents import Page
from eyechart.reporting.gallery import make_thumbnails
from eyechart.reporting.notebook import WrittenPage
from eyechart.reporting.page import render

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
    "to_json",
    "write_page",
    "write_report",
]


def report(source: Source, to: str | Path) -> WrittenPage:
    """Write one self-contained page about a run folder, a result, or results by audit or by model and audit.

    The path that is returned shows the page in a notebook.
    """
    if not isinstance(source, str | Path):
        return WrittenPage(write_page(render(gather(source)), to))
    store = Store(Path(source))
    return WrittenPage(write_report(store, collect(store), to))


def write_report(store: Store, page: Page, to: str | Path) -> Path:
    """Write one self-contained page about a collected run, with its pictures and the examples behind its findings."""
    thumbnails = make_thumbnails(page.drawings(), page.glance.showcase, store.data.images)
    return write_page(render(page, thumbnails, find_behind(store, page.sections), str(store.folder)), to)


def write_page(text: str, to: str | Path) -> Path:
    """Write a page atomically, and return its path."""
    path = Path(to)
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8")
    return path


def gather(source: Source) -> Page:
    """Collect a page from a run folder, a result, or a mapping of results."""
    if isinstance(source, str | Path):
        return collect(Store(Path(source)))
    return collect_results(_results(source))


def to_json(page: Page) -> str:
    """Return a collected page as JSON text."""
    return json.dumps(as_dict(page), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _results(source: Result | Mapping[str, Result] | Mapping[str, Mapping[str, Result]]) -> Iterator[Result]:
    if isinstance(source, Result):
        yield source
        return
    for part in source.values():
        yield from _results(part)
