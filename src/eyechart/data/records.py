"""Define the records in the JSON files of a run folder; docs/formats.md shows the folder."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from eyechart.data.dataset import Dataset
from eyechart.data.division import Division, DivisionSizes
from eyechart.data.furniture import About, Look


@dataclass(frozen=True)
class RunManifest:
    """How a run was made, and from which data."""

    kind: Literal["run"]
    command: str
    seed: int
    limit: int | None
    inputs: dict[str, str]  # file -> SHA-256
    later: tuple[str, ...] = ()  # commands that resumed it

    @property
    def commands(self) -> list[str]:
        """List the commands that reproduce the run."""
        return [command for command in (self.command, *self.later) if command]

    def after(self, command: str) -> Self:
        """Add a command that resumed the run, unless it is already listed."""
        return replace(self, later=(*self.later, command)) if command and command not in self.commands else self


@dataclass(frozen=True)
class DivisionRecord:
    """The splits a run learns from and judges, with the number of examples in each part."""

    kind: Literal["divided"]
    division: Division
    sizes: DivisionSizes

    @classmethod
    def of(cls, data: Dataset) -> Self | None:
        """Record how a dataset is divided; return None if that is undecided."""
        return None if data.division is None else cls("divided", data.division, data.sizes())


@dataclass(frozen=True)
class StudyPlan:
    """The audit and the division of a study, so that another process can continue it."""

    reference: str  # the name of a registered audit, else the module or file of its class
    settings: dict[str, Any]
    learns: bool = False
    division: Division | None = None  # unknown in older runs
    looks: tuple[Look, ...] = ()  # looks of this audit's conditions
    about: About = "other"


@dataclass(frozen=True)
class WantedConditions:
    """The conditions under which each audit needs answers."""

    kind: Literal["wanted"]
    conditions: dict[str, tuple[str, ...]]
    spare: dict[str, tuple[str, ...]] = field(default_factory=dict)  # those that each audit can judge without

    @property
    def every(self) -> tuple[str, ...]:
        """List the conditions that any audit needs."""
        return tuple(dict.fromkeys(name for own in self.conditions.values() for name in own))

    def served_by(self, has_answers: Callable[[str], bool]) -> dict[str, tuple[str, ...]]:
        """Keep the audits that have answers under all their conditions but the spare ones."""
        return {name: own for name, own in self.without_spare(has_answers).items() if all(map(has_answers, own))}

    def without_spare(self, has_answers: Callable[[str], bool]) -> dict[str, tuple[str, ...]]:
        """List the conditions of each audit, without the spare ones that have no answers."""
        return {
            name: tuple(each for each in own if each not in self.spare.get(name, ()) or has_answers(each))
            for name, own in self.conditions.items()
        }


@dataclass(frozen=True)
class LeftOutAudits:
    """The audits that were not studied, and why."""

    kind: Literal["left out"]
    reasons: dict[str, str]

    def unless(self, is_studied: Callable[[str], bool]) -> dict[str, str]:
        """Keep the reasons of audits that have not been studied since."""
        return {name: reason for name, reason in self.reasons.items() if not is_studied(name)}


@dataclass(frozen=True)
class ModelIdentity:
    """The exact identity of a model: its revision, its decoding, the wording around a question."""

    kind: Literal["asked"]
    identity: dict[str, Any]

    def differences(self, other: "ModelIdentity") -> list[str]:
        """List the differences between two models, apart from their addresses."""
        keys = sorted({*self.identity, *other.identity} - {"base_url"})
        return [key for key in keys if self.identity.get(key) != other.identity.get(key)]
