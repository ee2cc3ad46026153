"""All that `eyechart export` can write: files of other tools, and what the audits of a run bring along."""

from collections.abc import Iterator

from eyechart.audits import AUDITS, brought_to
from eyechart.furniture import furniture_of
from eyechart.registry import import_object, unknown_name
from eyechart.store import Store
from eyechart.writers import EXPORTS, Exporter


def find_exporter(name: str, store: Store) -> Exporter:
    """Find what writes an export, among those of registered audits and of the audits of a run too."""
    brought = {export: place for audit in brought_to(store) for export, place in furniture_of(audit).exports.items()}
    if name in brought:
        return _imported(brought[name])
    if name in EXPORTS.names() or ":" in name:
        return EXPORTS.get(name)
    raise unknown_name("export", name, (*EXPORTS.names(), *brought))


def list_exporters() -> Iterator[tuple[str, Exporter]]:
    """List the exports of every installation: our own and those of registered audits."""
    yield from ((name, EXPORTS.get(name)) for name in EXPORTS.names())
    for audit in map(AUDITS.get, AUDITS.names()):
        yield from ((name, _imported(place)) for name, place in furniture_of(audit).exports.items())


def _imported(place: str) -> Exporter:
    found: Exporter = import_object(place)  # type: ignore[assignment]  # a function, as docs/extending.md asks for
    return found
