"""The audits, one file or small folder each; they do not know each other."""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, get_type_hints

import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import ModelError, SettingError
from eyechart.probes import OWN
from eyechart.protocols import Announcing, Audit, Model, Stocked
from eyechart.registry import Registry, Shape, reference_to
from eyechart.settings import fit_settings

_PARTS = ("name", "needs", "study", "probe", "judge")
_FIRST = 1000  # rows
_OUR_MODULE = re.compile(r"eyechart\.audits\.(?P<name>\w+)[.:]")  # how plans named our audits in format 1


def _is_audit(found: object) -> bool:
    return isinstance(found, type) and is_dataclass(found) and all(hasattr(found, part) for part in _PARTS)


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
    """The audits that models can be judged by, and the names of those left out, with the reason."""

    audits: list[Audit]
    left_out: dict[str, str]


def make_audit(name: str, settings: Mapping[str, Any] | None = None) -> Audit:
    """Build an audit from its name and settings, which may come as text from a command line or a file."""
    kind = AUDITS.get(name)
    hints = get_type_hints(kind)
    declared = {setting: hints[setting] for setting in setting_names(kind)}
    for setting in settings or {}:
        if instead := gone_settings(kind).get(setting):
            raise SettingError(f"a setting of audit {name!r}", f"{setting!r}, which is gone", instead)
    return kind(**fit_settings(f"audit {name!r}", declared, settings or {}))


def refer_to(audit: Audit) -> str:
    """Write how `make_audit` finds an audit again: a registered one by its name, wherever its class may move."""
    kind = type(audit)
    return audit.name if audit.name in AUDITS.names() and AUDITS.get(audit.name) is kind else reference_to(kind)


def remake_audit(reference: str, settings: Mapping[str, Any]) -> Audit:
    """Build the audit of a recorded plan, which may be of an older eyechart: by module, and with settings now gone."""
    ours = _OUR_MODULE.match(reference)
    kind = AUDITS.get(name := ours["name"] if ours else reference)
    if hasattr(kind, "check_plan"):  # some cannot be gone on with
        kind.check_plan(settings)
    return make_audit(name, {key: value for key, value in settings.items() if key not in gone_settings(kind)})


def known_audits(named: Iterable[str] = ()) -> list[type[Audit]]:
    """List the classes of registered audits, and of others named as `file.py:Class`.

    What a run names is not among them: a run may come from anywhere, and to look at it must run none of its code.
    """
    return [AUDITS.get(name) for name in dict.fromkeys((*AUDITS.names(), *named))]


def gone_settings(kind: type[Audit] | Audit) -> Mapping[str, str]:
    """Name the settings an audit once had, with what to do instead."""
    gone: Mapping[str, str] = getattr(kind, "gone", {})
    return gone


def learns(audit: type[Audit] | Audit) -> bool:
    """Tell whether an audit learns from a part of the data, so that it judges examples held out from that."""
    return bool(getattr(audit, "learns", False))


def lacking(audit: type[Audit] | Audit, data: Dataset) -> tuple[str, ...]:
    """Name the columns an audit needs and the data do not have, or have without any value."""
    return tuple(name for name in audit.needs if name not in data.columns or _is_empty(data, name))


def _is_empty(data: Dataset, column: str) -> bool:
    """Tell whether a column has no value; the first rows mostly say that it has."""
    values = data.scan(column).select(pl.col(column).is_null())
    return all(part.collect().to_series().all() for part in (values.head(_FIRST), values))


def runnable(data: Dataset) -> list[str]:
    """Name the audits whose columns the data have."""
    return [name for name in AUDITS.names() if not lacking(AUDITS.get(name), data)]


def keep_served(audits: Sequence[Audit], models: Sequence[Model], data: Dataset) -> Served:
    """Leave out, and say so, the audits for which no model has answers, where all that models have lies in files."""
    stocks = [model for model in models if isinstance(model, Stocked)]
    unserved = {audit.name: _unserved(audit, stocks, data) for audit in audits} if len(stocks) == len(models) else {}
    left_out = {name: f"no answers under {', '.join(asked)}" for name, asked in unserved.items() if asked}
    kept = [audit for audit in audits if audit.name not in left_out]
    said = ", ".join(f"{name} ({reason})" for name, reason in left_out.items())
    if left_out and not kept:
        advice = "name a file for each condition of an audit, as in predictions:plain=...,evidence=..."
        raise ModelError(f"answers of {', '.join(model.name for model in models)} for an audit", said, advice)
    if left_out:
        _log.warning("audits left out: %s; `eyechart study DATA -a NAME` studies the data by one all the same", said)
    return Served(kept, left_out)


def _unserved(audit: Audit, stocks: Sequence[Stocked], data: Dataset) -> tuple[str, ...]:
    """Name the conditions that an audit asks, where no file has answers under any of them."""
    if not isinstance(audit, Announcing):
        return ()
    asked = audit.beyond_plain(data) or (OWN,)
    return () if any(stock.holds(condition) for stock in stocks for condition in asked) else asked


def setting_names(kind: type[Audit]) -> tuple[str, ...]:
    """Name the settings of an audit: the fields of its dataclass."""
    return tuple(field.name for field in fields(kind))  # type: ignore[arg-type]  # audits are dataclasses
