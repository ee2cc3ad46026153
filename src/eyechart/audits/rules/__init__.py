"""Mined rules, the counterexamples to them, and how far a model follows them (VQA-CE, Dancette et al., ICCV 2021).

Items are the words of the question and the labels of the objects in the image. A rule X -> a says that examples with
the items X have the answer a:

    support(X) = train examples with X        joint(X, a) = those with the answer a
    confidence = joint / support >= 0.3       joint >= 8

An example is easy where a rule that it meets gives one of its human answers, a counterexample where it meets rules and
all of them are wrong, and uncovered (the authors' `hard`) where it meets none.

Deliberate differences from the paper and its code:
- vocabularies are sorted, ties are settled and confidences are compared as whole numbers: the same rules everywhere;
- repeated words and objects count once (`published="vqa-ce"` restores the authors' count);
- every rule is tested on held-out images: `confirm`;
- the empty antecedent is listed as kind `prior` but is otherwise ignored;
- the drop on counterexamples is compared with a matched control (`judge`), and agreement with a rule with the model's
  rate of that answer where the rule does not apply (`exploited`).
"""

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

FURNITURE = Furniture(
    about="shortcuts",
    pages=(
        ExplorerPage(
            "rules",
            "eyechart.audits.rules.explorer:rules_page",
            "Rules",
            "shortcuts, and which hold on held-out images",
        ),
        ExplorerPage(
            "rules-by-model",
            "eyechart.audits.rules.explorer:rules_by_model_page",
            "Rules by model",
            "which models follow which shortcuts",
        ),
        ExplorerPage("rule", "eyechart.audits.rules.explorer:rule_page"),
    ),
    exports={"rules": "eyechart.audits.rules.published:export_rules"},
    together="eyechart.audits.rules.exploited:rules_by_model",
    facts="eyechart.audits.rules.explorer:count_all",
    beside="eyechart.audits.rules.explorer:rules_beside",
    prepare="eyechart.audits.rules.explorer:preload_rules",
)


@dataclass(frozen=True)
class RulesAudit(RulesSettings):
    """Mine rules, find the counterexamples to them, and ask whether a model follows the rules there.

    `min_support` is a count, or below 1 a share of the mined examples. `answers` is the size of the answer vocabulary.
    `correct` says how a rule's answer is compared with the human ones. `from_ids` is a published list of
    counterexamples, to be compared with those of the rules; models are measured on both. A model follows shortcuts if
    it gives the rules' answers on counterexamples more often than elsewhere, surely by more than `margin`. `select`
    tries higher supports and confidences than the given ones and takes those of the most accurate shortcut classifier.
    """

    needs: ClassVar[tuple[str, ...]] = ("question", "answer")
    learns: ClassVar[bool] = True
    gone: ClassVar[Mapping[str, str]] = {
        "seed": "choose the seed that divides data without splits with --seed",
        "compat": "use published='vqa-ce'",
    }
    furniture: ClassVar[Furniture] = FURNITURE

    def study(self, data: Dataset, engine: Engine) -> Result:
        """Mine and test the rules, and label the judged examples, by published lists too if there are any."""
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
