"""The audits, one file or small folder each; they do not know each other."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_type_hints

from eyechart.dataset import Dataset
from eyechart.protocols import Audit
from eyechart.registry import Registry
from eyechart.settings import fit_settings

AUDITS: Registry[type[Audit]] = Registry(
    "audit",
    {
        "accuracy": "eyechart.audits.accuracy:Accuracy",
        "decoys": "eyechart.audits.decoys:DecoysAudit",
        "grounding": "eyechart.audits.grounding:GroundingAudit",
        "perception": "eyechart.audits.perception:PerceptionAudit",
        "rules": "eyechart.audits.rules:RulesAudit",
        "splits": "eyechart.audits.splits:SplitsAudit",
    },
)


def make_audit(name: str, settings: Mapping[str, Any] | None = None) -> Audit:
    """Build an audit from its name and settings, which may come as text from a command line or a file."""
    kind = AUDITS.get(name)
    hints = get_type_hints(kind)
    declared = {setting: hints[setting] for setting in setting_names(kind)}
    return kind(**fit_settings(f"audit {name!r}", declared, settings or {}))


def lacking(audit: type[Audit] | Audit, data: Dataset) -> tuple[str, ...]:
    """Name the columns an audit needs and the data do not have."""
    return tuple(name for name in audit.needs if name not in data.columns)


def runnable(data: Dataset) -> list[str]:
    """Name the audits whose columns the data have."""
    return [name for name in AUDITS.names() if not lacking(AUDITS.get(name), data)]


def setting_names(kind: type[Audit]) -> tuple[str, ...]:
    """Name the settings of an audit: the fields of its dataclass."""
    return tuple(field.name for field in fields(kind))  # type: ignore[arg-type]  # audits are dataclasses
