"""What audits provide for the explorer: pages, counts, sections about an example, and colours."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from eyechart.audits import known_audits
from eyechart.base.registry import import_object
from eyechart.data.furniture import ExplorerPage, ExplorerQuery, Furniture, Look, Sheet, furniture_of
from eyechart.data.store import Store


class AuditPage(NamedTuple):
    """A page of the explorer, and the audit that provides it."""

    audit: str
    page: ExplorerPage

    @property
    def path(self) -> str:
        """Return the path of the page."""
        return f"/{self.page.path}"

    def build(self, store: Store, query: ExplorerQuery) -> Sheet | None:
        """Build the contents of the page; None if the run has nothing of the kind."""
        build: Callable[[Store, ExplorerQuery], Sheet | None] = _imported(self.page.build)
        return build(store, query)


@dataclass(frozen=True, eq=False)
class ExplorerFurniture:
    """The furniture of the registered audits and of further ones."""

    by_audit: Mapping[str, Furniture]

    def pages(self) -> list[AuditPage]:
        """List the pages of all audits."""
        return [AuditPage(audit, page) for audit, furniture in self.by_audit.items() for page in furniture.pages]

    def menu(self, store: Store) -> list[AuditPage]:
        """List the titled pages of the audits that have studied a run."""
        studied = set(store.studies())
        return [page for page in self.pages() if page.page.title and page.audit in studied]

    def looks(self) -> list[Look]:
        """List the looks of conditions."""
        return [look for furniture in self.by_audit.values() for look in furniture.looks]

    def load(self) -> None:
        """Import what the first page calls, so that its first visitor need not wait for that."""
        for name in self._functions("facts"):
            _imported(name)

    def facts(self, store: Store) -> dict[str, int]:
        """Collect the audits' counts for the first page."""
        counts: dict[str, int] = {}
        for name in self._functions("facts"):
            facts: Callable[[Store], dict[str, int]] = _imported(name)
            counts |= facts(store)
        return counts

    def beside(self, store: Store, example: str) -> list[Sheet]:
        """Build the sections that audits add to the page of an example."""
        sheets: list[Sheet] = []
        for name in self._functions("beside"):
            build: Callable[[Store, str], Sheet | None] = _imported(name)
            sheet = build(store, example)
            sheets += [] if sheet is None else [sheet]
        return sheets

    def prepare(self, store: Store) -> None:
        """Load in advance what pages will need."""
        for name in self._functions("prepare"):
            prepare: Callable[[Store], None] = _imported(name)
            prepare(store)

    def _functions(self, kind: str) -> Iterator[str]:
        yield from (name for furniture in self.by_audit.values() if (name := getattr(furniture, kind)))


def gather_furniture(audits: tuple[str, ...] = ()) -> ExplorerFurniture:
    """Gather the furniture of the registered audits and of others named as `file.py:Class`."""
    return ExplorerFurniture({kind.name: furniture_of(kind) for kind in known_audits(audits)})


def scoring_audits() -> dict[str, str]:
    """Return the registered audits that score unchanged examples, with the column of the scores in their rows."""
    return {kind.name: column for kind in known_audits() if (column := furniture_of(kind).scored)}


def _imported(name: str) -> Any:  # noqa: ANN401 - a function, whose parameters docs/extending.md lists
    return import_object(name)
