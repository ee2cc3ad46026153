"""The audits, one file or small folder each; they do not know each other."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_origin, get_type_hints

from eyechart.dataset import Dataset
from eyechart.errors import SettingError
from eyechart.protocols import Audit
from eyechart.registry import Registry, unknown_name

AUDITS: Registry[type[Audit]] = Registry("audit", {"accuracy": "eyechart.audits.accuracy:Accuracy"})


def make_audit(name: str, settings: Mapping[str, Any] | None = None) -> Audit:
    """Build an audit from its name and settings, which may come as text from a command line or a file."""
    from pydantic import TypeAdapter, ValidationError

    kind = AUDITS.get(name)
    known = setting_names(kind)
    for setting in settings or {}:
        if setting not in known:
            raise unknown_name(f"setting of {name}", setting, known)
    try:
        return TypeAdapter(kind).validate_python(
            {key: _split(kind, key, value) for key, value in (settings or {}).items()}
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise SettingError(f"setting {where!r} of {name} to fit", repr(first["input"]), first["msg"]) from None


def lacking(audit: type[Audit] | Audit, data: Dataset) -> tuple[str, ...]:
    """Name the columns an audit needs and the data do not have."""
    return tuple(name for name in audit.needs if name not in data.examples.columns)


def runnable(data: Dataset) -> list[str]:
    """Name the audits whose columns the data have."""
    return [name for name in AUDITS.names() if not lacking(AUDITS.get(name), data)]


def setting_names(kind: type[Audit]) -> tuple[str, ...]:
    """Name the settings of an audit: the fields of its dataclass."""
    return tuple(field.name for field in fields(kind))  # type: ignore[arg-type]  # audits are dataclasses


def _split(kind: type[Audit], name: str, value: object) -> object:
    """Read a text as a list of texts where the setting is one."""
    listed = get_origin(get_type_hints(kind)[name]) is tuple
    return tuple(value.split(",")) if listed and isinstance(value, str) else value
