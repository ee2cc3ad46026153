"""The registered audits, one file or folder each; no audit imports another."""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, get_type_hints

import polars as pl

from eyechart.base.errors import ModelError, SettingError
from eyechart.base.registry import Registry, Shape, reference_to
from eyechart.base.settings import fit_settings
from eyechart.base.trust import check_found, trusting
from eyechart.data.dataset import Dataset
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.protocols import AnnouncingAudit, Audit, Model, PrerecordedModel

_PARTS = ("name", "needs", "study", "probe", "judge")
_FIRST = 1000  # rows
_OUR_MODULE = re.compile(r"eyechart\.audits\.(?P<name>\w+)[.:]")  # how plans of format 1 name our audits


def _is_audit(kind: object) -> bool:
    return isinstance(kind, type) and is_dataclass(kind) and all(hasattr(kind, part) for part in _PARTS)


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
    Shape(f"a dataclass with {', '.join(_PARTS)}", _is_audit),
)

_log = logging.getLogger("eyechart.audits")


class Served(NamedTuple):
    """The audits for which models have answers, and the names of those left out, with the reason."""

    audits: list[Audit]
    left_out: dict[str, str]


def make_audit(name: str, settings: Mapping[str, Any] | None = None) -> Audit:
    """Build an audit from its name and settings, which may come as text from a command line or a file."""
    kind = AUDITS.get(name)
    hints = get_type_hints(kind)
    declared = {setting: hints[setting] for setting in setting_names(kind)}
    for setting in settings or {}:
        if instead := gone_settings(kind).get(setting):
            raise SettingError(f"a setting of audit {name!r}", f"{setting!r}, which was removed", instead)
    return kind(**fit_settings(f"audit {name!r}", declared, settings or {}))


def refer_to(audit: Audit) -> str:
    """Write the reference of an audit for a plan: its name if it is registered, so that its class may move."""
    kind = type(audit)
    return audit.name if audit.name in AUDITS.names() and AUDITS.get(audit.name) is kind else reference_to(kind)


def remake_audit(reference: str, settings: Mapping[str, Any], *, trust: bool = False) -> Audit:
    """Build the audit of a recorded plan; plans of older versions may name its module, and settings since removed.

    A plan may come from anywhere, so other code than ours and that of installed packages is imported only on `trust`.
    """
    ours = _OUR_MODULE.match(reference)
    name = ours["name"] if ours else reference
    is_known = name in AUDITS.names()
    if not is_known:
        check_found(name, trust=trust)
    with nullcontext() if is_known else trusting():
        kind = AUDITS.get(name)
        if hasattr(kind, "upgrade_plan"):
            settings = kind.upgrade_plan(settings)
        return make_audit(name, {key: value for key, value in settings.items() if key not in gone_settings(kind)})


def known_audits(named: Iterable[str] = ()) -> list[type[Audit]]:
    """List the classes of the registered audits, and of others named as `file.py:Class`.

    Audits named in a run are not included: a run may come from anywhere, and viewing it must not run its code.
    """
    return [AUDITS.get(name) for name in dict.fromkeys((*AUDITS.names(), *named))]


def gone_settings(kind: type[Audit] | Audit) -> Mapping[str, str]:
    """List the settings that were removed from an audit, with what to do instead."""
    gone: Mapping[str, str] = getattr(kind, "gone", {})
    return gone


def learns(audit: type[Audit] | Audit) -> bool:
    """Check whether an audit learns from one part of the data and must judge examples held out from it."""
    return bool(getattr(audit, "learns", False))


def lacking(audit: type[Audit] | Audit, data: Dataset) -> tuple[str, ...]:
    """List the columns that an audit needs and that are missing or empty in the data."""
    known = [name for name in audit.needs if name in data.columns]
    filled = _filled(data, known) if known else set()
    return tuple(name for name in audit.needs if name not in filled)


def lacking_by_audit(data: Dataset) -> dict[str, tuple[str, ...]]:
    """List for every registered audit the columns that it lacks, with one look at the data for all of them."""
    needs = {name: AUDITS.get(name).needs for name in AUDITS.names()}
    known = {column for columns in needs.values() for column in columns} & set(data.columns)
    filled = _filled(data, sorted(known)) if known else set()
    return {name: tuple(column for column in columns if column not in filled) for name, columns in needs.items()}


def _filled(data: Dataset, columns: Sequence[str]) -> set[str]:
    """Return the columns that have a value; the first rows usually suffice to find one in each."""
    rows, found = data.scan(*columns), set[str]()
    for part in (rows.head(_FIRST), rows):
        if rest := [name for name in columns if name not in found]:
            has_any = part.select(pl.col(rest).is_not_null().any()).collect().row(0, named=True)
            found |= {name for name in rest if has_any[name]}
    return found


def runnable(data: Dataset) -> list[str]:
    """List the names of the audits whose columns the data have."""
    return [name for name, columns in lacking_by_audit(data).items() if not columns]


def keep_served(audits: Sequence[Audit], models: Sequence[Model], data: Dataset) -> Served:
    """Leave out, with a warning, the audits for which no model has answers, if all models read theirs from files."""
    stocked = [model for model in models if isinstance(model, PrerecordedModel)]
    missing = {audit.name: _missing(audit, stocked, data) for audit in audits} if len(stocked) == len(models) else {}
    left_out = {name: f"no answers under {', '.join(conditions)}" for name, conditions in missing.items() if conditions}
    kept = [audit for audit in audits if audit.name not in left_out]
    reasons = ", ".join(f"{name} ({reason})" for name, reason in left_out.items())
    if left_out and not kept:
        advice = "name a file for each condition of an audit, as in predictions:plain=...,evidence=..."
        raise ModelError(f"answers of {', '.join(model.name for model in models)} for an audit", reasons, advice)
    if left_out:
        _log.warning("audits left out: %s; `eyechart study DATA -a NAME` still studies the data alone", reasons)
    return Served(kept, left_out)


def _missing(audit: Audit, stocked: Sequence[PrerecordedModel], data: Dataset) -> tuple[str, ...]:
    """List the conditions that an audit asks, if no file has answers under any of them."""
    if not isinstance(audit, AnnouncingAudit):
        return ()
    asked = audit.beyond_plain(data) or (PLAIN_CONDITION,)
    return () if any(model.holds(condition) for model in stocked for condition in asked) else asked


def setting_names(kind: type[Audit]) -> tuple[str, ...]:
    """List the names of an audit's settings: the fields of its dataclass."""
    return tuple(field.name for field in fields(kind))  # type: ignore[arg-type]  # audits are dataclasses
