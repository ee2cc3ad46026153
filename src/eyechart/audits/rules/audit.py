"""The audit itself: what it needs, offers, asks and measures."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

import polars as pl

from eyechart.audits.rules.settings import RulesSettings
from eyechart.base.registry import import_object
from eyechart.data.dataset import Dataset
from eyechart.data.furniture import ExplorerPage, Furniture
from eyechart.data.predictions import Predictions
from eyechart.data.probes import PLAIN_CONDITION, Prober
from eyechart.data.protocols import Engine
from eyechart.data.result import Result

# These bring Numba, so they are loaded when they are called.
STUDY = "eyechart.audits.rules.study:study_data"
JUDGE = "eyechart.audits.rules.judge:judge_model"

_EXPLORER = "eyechart.audits.rules.explorer"
FURNITURE = Furniture(
    pages=(
        ExplorerPage("rules", f"{_EXPLORER}:rules_page", "Rules", "shortcuts, and which hold on held-out images"),
        ExplorerPage("rule", f"{_EXPLORER}:rule_page"),
    ),
    exports={"rules": "eyechart.audits.rules.published:export_rules"},
    facts=f"{_EXPLORER}:count_all",
    beside=f"{_EXPLORER}:rules_beside",
    prepare=f"{_EXPLORER}:preload_rules",
)


@dataclass(frozen=True)
class RulesAudit(RulesSettings):
    """Mine rules, find the counterexamples to them, and ask whether a model follows the rules there.

    `min_support` is a count, or below 1 a share of the mined examples. `answers` is the size of the answer vocabulary.
    `correct` says how a rule's answer is compared with the human ones. `from_ids` is a published list of
    counterexamples to judge by instead of mining. A model follows shortcuts if it gives the rules' answers on
    counterexamples more often than elsewhere, surely by more than `margin`. `select` tries higher supports and
    confidences than the given ones and takes those of the most accurate shortcut classifier.
    """

    needs: ClassVar[tuple[str, ...]] = ("question", "answer")
    learns: ClassVar[bool] = True
    gone: ClassVar[Mapping[str, str]] = {"seed": "choose the seed that divides data without splits with --seed"}
    furniture: ClassVar[Furniture] = FURNITURE

    def study(self, data: Dataset, engine: Engine) -> Result:
        """Mine and test the rules, and label the judged examples; or label them by published ids."""
        study_data = cast("Callable[[RulesSettings, Dataset, Engine], Result]", import_object(STUDY))
        return study_data(self, data, engine)

    def beyond_plain(self, data: Dataset) -> tuple[str, ...]:  # noqa: ARG002 - part of the contract
        """Ask nothing else."""
        return ()

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterator[tuple[str, pl.DataFrame]]:  # noqa: A002, ARG002
        """Ask for the judged examples as they are."""
        yield PLAIN_CONDITION, Prober(data).plain(study.rows["id"])

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        """Measure accuracy by kind, the gap with its control, and which rules the model follows."""
        judge_model = cast(
            "Callable[[RulesSettings, Dataset, Result, Predictions, Engine], Result]", import_object(JUDGE)
        )
        return judge_model(self, data, study, predictions, engine)
