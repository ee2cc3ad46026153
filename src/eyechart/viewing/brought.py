"""What audits bring to the explorer beside their methods: pages, counts, sections beside an example, and colours."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from eyechart.asked import Asked
from eyechart.audits import known_audits
from eyechart.furniture import ExplorerPage, Furniture, Look, Sheet, furniture_of
from eyechart.registry import import_object
from eyechart.store import Store


class AuditPage(NamedTuple):
    """A page of the explorer, and the audit that brings it."""

    audit: str
    page: ExplorerPage

    @property
    def path(self) -> str:
        """Name the page as its address does."""
        return f"/{self.page.path}"

    def build(self, store: Store, asked: Asked) -> Sheet | None:
        """Make what the page shows; None where the run has nothing of the kind."""
        build: Callable[[Store, Asked], Sheet | None] = _imported(self.page.build)
        return build(store, asked)


@dataclass(frozen=True, eq=False)
class Brought:
    """What the registered audits bring, and others that were named."""

    by_audit: Mapping[str, Furniture]

    def pages(self) -> list[AuditPage]:
        """List the pages."""
        return [AuditPage(audit, page) for audit, found in self.by_audit.items() for page in found.pages]

    def menu(self, store: Store) -> list[AuditPage]:
        """List the pages with a title whose audit a run has studied."""
        studied = set(store.studies())
        return [page for page in self.pages() if page.page.title and page.audit in studied]

    def looks(self) -> list[Look]:
        """Gather how conditions look."""
        return [look for found in self.by_audit.values() for look in found.looks]

    def facts(self, store: Store) -> dict[str, int]:
        """Count further things for the first page."""
        counted: dict[str, int] = {}
        for place in self._named("facts"):
            facts: Callable[[Store], dict[str, int]] = _imported(place)
            counted |= facts(store)
        return counted

    def beside(self, store: Store, example: str) -> list[Sheet]:
        """Make the sections that stand beside an example."""
        sheets: list[Sheet] = []
        for place in self._named("beside"):
            build: Callable[[Store, str], Sheet | None] = _imported(place)
            sheet = build(store, example)
            sheets += [] if sheet is None else [sheet]
        return sheets

    def prepare(self, store: Store) -> None:
        """Load what pages will need."""
        for place in self._named("prepare"):
            prepare: Callable[[Store], None] = _imported(place)
            prepare(store)

    def _named(self, what: str) -> Iterator[str]:
        yield from (place for found in self.by_audit.values() if (place := getattr(found, what)))


def gather(audits: tuple[str, ...] = ()) -> Brought:
    """Take what registered audits bring, and others named as `file.py:Class`."""
    return Brought({kind.name: furniture_of(kind) for kind in known_audits(audits)})


def _imported(place: str) -> Any:  # noqa: ANN401 - a function, of which docs/extending.md says what it takes
    return import_object(place)
