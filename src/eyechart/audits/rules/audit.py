"""The audit itself: settings, and which part does what."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import SettingError
from eyechart.furniture import ExplorerPage, Furniture
from eyechart.predictions import Predictions
from eyechart.probes import OWN, Prober
from eyechart.protocols import Engine
from eyechart.result import Result

QUESTION = "Free of the shortcuts that rules describe?"
CORRECT = ("raw", "normalized")
_EXPLORER = "eyechart.audits.rules.explorer"
FURNITURE = Furniture(
    pages=(
        ExplorerPage("rules", f"{_EXPLORER}:rules_page", "Rules", "shortcuts, and which hold on held-out images"),
        ExplorerPage("rule", f"{_EXPLORER}:rule_page"),
    ),
    exports={"rules": "eyechart.audits.rules.export:export_rules"},
    facts=f"{_EXPLORER}:count_all",
    beside=f"{_EXPLORER}:rules_beside",
    prepare=f"{_EXPLORER}:load_behind",
)


@dataclass(frozen=True)
class RulesAudit:
    """Mine rules, set the counterexamples to them apart, and ask whether a model follows the rules there.

    `min_support` is a count, or below 1 a share of the mined examples. `answers` is the size of the answer vocabulary.
    `correct` says how a rule's answer is compared with the human ones. `from_ids` is a published list of
    counterexamples to judge by instead of mining. A model follows shortcuts if it gives the rules' answers on
    counterexamples more often than elsewhere, surely by more than `margin`. `select` tries higher supports and
    confidences than the given ones and takes those of the most accurate shortcut classifier.
    """

    name: ClassVar[str] = "rules"
    needs: ClassVar[tuple[str, ...]] = ("question", "answer")
    learns: ClassVar[bool] = True
    gone: ClassVar[Mapping[str, str]] = {"seed": "divide data without splits by the seed of the run, with --seed"}
    furniture: ClassVar[Furniture] = FURNITURE

    score: str = "auto"
    by: tuple[str, ...] = ()
    max_items: int = 4
    min_support: float = 8
    min_confidence: float = 0.3
    superset: str = "immediate"
    compat: str = "paper"
    answers: int = 3000
    correct: str = "raw"
    threads: int = 2
    max_rules: int = 30_000_000
    from_ids: str = ""
    margin: float = 0.03
    select: bool = False

    def __post_init__(self) -> None:
        if self.correct not in CORRECT:
            raise SettingError(f"correct as one of {', '.join(CORRECT)}", repr(self.correct), "choose one of these")
        if self.answers < 1:
            raise SettingError("at least one answer in the vocabulary", str(self.answers), "3000 is a good number")
        # Whole numbers and floats of one value are one setting.
        object.__setattr__(self, "min_support", float(self.min_support))

    def study(self, data: Dataset, engine: Engine) -> Result:
        """Mine and test the rules, and label the judged examples; or label them by published ids."""
        # Numba is loaded with the miner, so only where something is mined.
        from eyechart.audits.rules.whole import study_by_ids, study_by_rules

        if self.from_ids:
            return study_by_ids(self, data, Path(self.from_ids))
        return study_by_rules(self, data, engine)

    def beyond_plain(self, data: Dataset) -> tuple[str, ...]:  # noqa: ARG002 - part of the contract
        """Ask nothing else."""
        return ()

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterator[tuple[str, pl.DataFrame]]:  # noqa: A002, ARG002
        """Ask for the judged examples as they are."""
        yield OWN, Prober(data).plain(study.rows["id"])

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        """Measure accuracy by kind, the gap with its control, and which rules the model follows."""
        from eyechart.audits.rules.judge import judge_model

        return judge_model(self, data, study, predictions, engine)

    def settings(self) -> dict[str, object]:
        """Record the settings."""
        return asdict(self)
