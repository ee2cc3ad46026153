"""The settings of the audit, and the names that its tables, views and pages share."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from eyechart.base.errors import SettingError
from eyechart.base.settings import check_choices, replace_setting

QUESTION = "Free of the shortcuts that rules describe?"

EASY, COUNTEREXAMPLE, UNCOVERED = "easy", "counterexample", "uncovered"
EXAMPLE_KINDS = (EASY, COUNTEREXAMPLE, UNCOVERED)
PUBLISHED = "published"  # the column with the kind of an example by published lists
RULE_KINDS = ("words", "objects", "mixed")
# On held-out images: holds, is no better than a shorter rule, is no better than its answer's share, has too few images.
STATES = (CONFIRMED, ADDS_NOTHING, REFUTED, UNTESTABLE) = ("confirmed", "adds nothing", "refuted", "untestable")
FEWEST_CONTROLS = 20  # examples where a rule does not apply, to compare with
PRIOR = "prior"  # the kind of the rule that is listed but was not mined: no condition, the most frequent answer


@dataclass(frozen=True)
class RulesSettings:
    """The settings of the audit; `RulesAudit` says what they mean."""

    name: ClassVar[str] = "rules"

    score: str = "auto"
    by: tuple[str, ...] = ()
    max_items: int = 4
    min_support: float = 8
    min_confidence: float = 0.3
    superset: Literal["immediate", "any-subset", "two-sided", "none"] = "immediate"
    published: Literal["none", "vqa-ce"] = "none"
    answers: int = 3000
    correct: Literal["raw", "normalized"] = "raw"
    threads: int = 2
    max_rules: int = 30_000_000
    from_ids: str = ""
    margin: float = 0.03
    select: bool = False

    def __post_init__(self) -> None:
        check_choices(self)
        if self.answers < 1:
            raise SettingError("at least one answer in the vocabulary", str(self.answers), "3000 is a good number")
        # Whole numbers and floats of one value are one setting.
        object.__setattr__(self, "min_support", float(self.min_support))

    @classmethod
    def upgrade_plan(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Translate the settings of a study by an older version."""
        published = replace_setting(settings, "compat", "published", {"paper": "none", "release": "vqa-ce"})
        return replace_setting(published, "superset", "superset", {"paper": "two-sided"})

    def settings(self) -> dict[str, object]:
        """Return the settings by name."""
        return asdict(self)
