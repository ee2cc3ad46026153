"""The settings of the audit, and which modalities they remove from the data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Literal, get_args

from eyechart.audits.perception.donors import check_policy
from eyechart.base.errors import DataError, SettingError
from eyechart.base.settings import check_choices, replace_setting
from eyechart.data.dataset import Dataset
from eyechart.data.probes import PROMPTS, TEXTS, Removal, RemovalKind
from eyechart.data.several import CHOICES

QUESTION = "Does it use every modality?"
ESTIMAND = "for new examples and new donors like these"
KINDS: tuple[RemovalKind, ...] = get_args(RemovalKind)
FOR_PICTURES = ("mean", "noise", *PROMPTS)
OPTIONS = "choices"
PICTURED = "image"  # the modality of which some pictures can be chosen


@dataclass(frozen=True)
class PerceptionSettings:
    """The fields of the audit.

    `modalities` are names or sets such as `image+question`; none means all of the data's. `removal` says how; the first
    kind that removes a whole modality decides the verdict. `donors` is the policy of permutation, `draws` the donors of
    each example, `repeats` how often all of that is done (5 and 5 are the paper's). With `precision` (points) the audit
    starts with few examples and asks more, in at most `max_rounds` rounds, until every interval is at most this wide.
    `majority` is the scope of the most frequent answer, `published` says whether Z is that of the paper's Tables 6 and
    7. A modality whose score is shown to be within `margin` of 0 is ignored. `interactions` removes pairs, `emap` is
    the number of examples for the additive projection, `text_only` names the column with a text-only model's answers,
    `sentiment` one of text.
    """

    name: ClassVar[str] = "perception"

    score: str = "auto"
    by: tuple[str, ...] = ()
    modalities: tuple[str, ...] = ()
    removal: tuple[RemovalKind, ...] = ("permute",)
    donors: str = "other"
    draws: int = 4
    repeats: int = 1
    precision: float | None = None
    max_rounds: int = 12
    majority: Literal["global", "answer_type", "question_type"] = "global"
    published: Literal["none", "tables-6-7"] = "none"
    margin: float = 0.03
    interactions: bool = False
    emap: int = 0
    text_only: str | None = None
    sentiment: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_choices(self)
        if not self.removal:
            raise SettingError(
                f"removal by {', '.join(KINDS)}", "none", "choose one or several; permute is the paper's"
            )
        check_policy(self.donors)
        for name in ("draws", "repeats", "max_rounds"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name} of at least 1", str(getattr(self, name)), "choose 1 or more")
        if self.precision is not None and self.precision <= 0:
            raise SettingError("a precision above 0 points", str(self.precision), "2 means 1 point to either side")
        if self.margin <= 0 or self.emap < 0:
            found = f"{self.margin}, {self.emap}"
            raise SettingError("a margin above 0 and emap of at least 0", found, "write emap=0 for no projection")
        if self.emap and self.precision is not None:
            advice = "leave one of them out"
            raise SettingError("emap or a precision", "both, but EMAP needs every pair in the first round", advice)

    @classmethod
    def upgrade_plan(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Translate the settings of a study by an older version."""
        return replace_setting(settings, "form", "published", {"complement": "none", "majority": "tables-6-7"})


def removals_of(settings: PerceptionSettings, data: Dataset) -> tuple[Removal, ...]:
    """List what the settings remove from these data; if no modality is named, every one that any example has."""
    present = [name for name in data.modalities if data.examples[name].is_not_null().any()]
    sets = [_parse(data, name) for name in settings.modalities or present]
    single = [each for each in sets if len(each) == 1]
    if settings.interactions:
        sets += [(*one, *other) for one, other in combinations(single, 2) if (*one, *other) not in sets]
    return tuple(Removal(each, kind) for kind in settings.removal for each in sets if _fits(each, kind, sets))


def _parse(data: Dataset, name: str) -> tuple[str, ...]:
    parts = tuple(name.split("+"))
    if OPTIONS in parts:
        expected = "a modality that can be taken from another example"
        raise SettingError(expected, "choices, which hold the target", "use the audit `decoys` to study the options")
    for part in parts:
        if part not in data.modalities:
            found = f"{part!r} where {data.name} has {', '.join(data.modalities)}"
            advice = "name those, or add the column to the dataset's modalities"
            raise DataError("modalities of the data", found, advice)
    return parts


def _fits(modalities: tuple[str, ...], kind: str, named: Sequence[tuple[str, ...]]) -> bool:
    """Leave text out of blind prompts, painting and choices of pictures, unless nothing else was requested."""
    if kind in CHOICES:
        if (PICTURED,) not in named:
            advice = "add image to the modalities, or leave this removal out"
            raise SettingError(f"the modality image for {kind!r}", ", ".join(map("+".join, named)), advice)
        return modalities == (PICTURED,)
    if kind not in FOR_PICTURES or not set(modalities) & set(TEXTS):
        return True
    if all(set(each) & set(TEXTS) for each in named):
        advice = "remove it by permute, none or blank"
        raise SettingError(f"a picture to remove by {kind!r}", f"the text {'+'.join(modalities)}", advice)
    return False
