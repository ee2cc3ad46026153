"""The exports: files of other tools, and those that audits provide."""

from collections.abc import Iterable, Iterator

from eyechart.audits import known_audits
from eyechart.base.registry import import_object, unknown_name
from eyechart.data.furniture import furniture_of
from eyechart.formats.exports import EXPORTS, Exporter


def find_exporter(name: str, audits: Iterable[str] = ()) -> Exporter:
    """Find an exporter by name, among ours, those of registered audits, and those of audits named as `file.py:Class`."""
    brought = dict(_brought(audits))
    if name in brought:
        return _imported(brought[name])
    if name in EXPORTS.names() or ":" in name:
        return EXPORTS.get(name)
    raise unknown_name("export", name, (*EXPORTS.names(), *brought))


def list_exporters() -> Iterator[tuple[str, Exporter]]:
    """List the exports of every installation: our own and those of registered audits."""
    yield from ((name, EXPORTS.get(name)) for name in EXPORTS.names())
    yield from ((name, _imported(place)) for name, place in _brought(()))


def _brought(audits: Iterable[str]) -> Iterator[tuple[str, str]]:
    for audit in known_audits(audits):
        yield from furniture_of(audit).exports.items()


def _imported(place: str) -> Exporter:
    found: Exporter = import_object(place)  # type: ignore[assignment]  # a function, as docs/extending.md asks for
    return found
