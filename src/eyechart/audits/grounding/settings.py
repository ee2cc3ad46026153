"""The settings of the audit, and the names of its conditions."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from eyechart.base.errors import SettingError
from eyechart.base.settings import check_choices, replace_setting

QUESTION = "Do its answers hang on the evidence?"

EVIDENCE, REST = "evidence", "rest"
PLACEBO, REST_PLACEBO = "placebo", "rest-placebo"  # other boxes of about the same area; everything but these
WITHOUT, KEEP, DROP = "without", "keep", "drop"  # each object once; a percentage of the objects
EXTRA = rf"{WITHOUT}|({KEEP}|{DROP})@([1-9][0-9]?|100)"


@dataclass(frozen=True)
class GroundingSettings:
    """The settings of the audit; `GroundingAudit` says what they mean."""

    name: ClassVar[str] = "grounding"

    score: str = "auto"
    by: tuple[str, ...] = ()
    published: Literal["none", "fpvg"] = "none"
    iou: float = 0.5
    overlap: float = 0.25
    sees: Literal["auto", "objects", "pixels"] = "auto"
    hide: Literal["mask", "blur", "noise", "crop"] = "mask"
    feather: int = 0
    min_size: int = 16
    placebo: bool = True
    extra: tuple[str, ...] = ()
    ood: str = ""
    ood_value: str = ""
    same: Literal["normalized", "raw"] = "normalized"
    least: float = 0.4

    def __post_init__(self) -> None:
        check_choices(self)
        for name in ("iou", "overlap", "least"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingError(f"{name} from 0 to 1", f"{getattr(self, name)}", "write 25 % as 0.25")
        for name in ("feather", "min_size"):
            if getattr(self, name) < 0:
                raise SettingError(f"{name} of 0 pixels or more", f"{getattr(self, name)}", "write 0 for none")
        for text in self.extra:
            if not re.fullmatch(EXTRA, text):
                advice = "write without, keep@25 or drop@25, with a percentage up to 100"
                raise SettingError("known extra conditions", repr(text), advice)

    @classmethod
    def upgrade_plan(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Translate the settings of a study by an older version; its `least` was that of another measure."""
        if "placebo" not in settings:
            settings = {name: value for name, value in settings.items() if name != "least"}
        return replace_setting(settings, "compat", "published", {"paper": "none", "release": "fpvg"})

    def settings(self) -> dict[str, object]:
        """Return the settings by name."""
        return asdict(self)

    @property
    def graded(self) -> list[str]:
        """List the conditions of graded deletion."""
        return [condition for condition in self.extra if condition != WITHOUT]
