"""The settings of the audit, and the names that its tables, views and pages share."""

from dataclasses import asdict, dataclass
from typing import ClassVar, Literal

from eyechart.base.errors import SettingError
from eyechart.base.settings import check_choices

QUESTION = "Free of the shortcuts that rules describe?"

EASY, COUNTEREXAMPLE, UNCOVERED = "easy", "counterexample", "uncovered"
EXAMPLE_KINDS = (EASY, COUNTEREXAMPLE, UNCOVERED)
RULE_KINDS = ("words", "objects", "mixed")
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
    superset: Literal["immediate", "any-subset", "paper", "none"] = "immediate"
    compat: Literal["paper", "release"] = "paper"
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

    def settings(self) -> dict[str, object]:
        """Return the settings by name."""
        return asdict(self)
