"""Find and list exporters: our own for files of other tools, and those that audits provide."""

from collections.abc import Iterable, Iterator

from eyechart.audits import known_audits
from eyechart.base.registry import import_object, unknown_name
from eyechart.data.furniture import furniture_of
from eyechart.formats.exports import EXPORTS, Exporter


def find_exporter(name: str, audits: Iterable[str] = ()) -> Exporter:
    """Find an exporter by name among our own and those of audits, registered or named as `file.py:Class`."""
    references = dict(_references_of(audits))
    if name in references:
        return _import_exporter(references[name])
    if name in EXPORTS.names() or ":" in name:
        return EXPORTS.get(name)
    raise unknown_name("export", name, (*EXPORTS.names(), *references))


def list_exporters() -> Iterator[tuple[str, Exporter]]:
    """List the exporters of every installation: our own and those of registered audits."""
    yield from ((name, EXPORTS.get(name)) for name in EXPORTS.names())
    yield from ((name, _import_exporter(reference)) for name, reference in _references_of(()))


def _references_of(audits: Iterable[str]) -> Iterator[tuple[str, str]]:
    for audit in known_audits(audits):
        yield from furniture_of(audit).exports.items()


def _import_exporter(reference: str) -> Exporter:
    exporter: Exporter = import_object(reference)  # type: ignore[assignment]  # a function, as docs/extending.md requires
    return exporter
