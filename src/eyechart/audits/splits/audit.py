"""The audit: study, probe and judge under its settings, and its command-line option and exports."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl

from eyechart.audits.splits.judge import judge_model
from eyechart.audits.splits.published import study_published
from eyechart.audits.splits.settings import SplitsSettings
from eyechart.audits.splits.study import study_data
from eyechart.data.dataset import Dataset
from eyechart.data.furniture import Furniture, Option
from eyechart.data.predictions import Predictions
from eyechart.data.probes import PLAIN_CONDITION, Prober
from eyechart.data.protocols import Engine
from eyechart.data.result import Result

FURNITURE = Furniture(
    exports={
        "splits": "eyechart.audits.splits.export:export_splits",
        "splits-gqa": "eyechart.audits.splits.export:export_gqa_ood",
        "splits-models": "eyechart.audits.splits.models:export_models",
        "splits-selection": "eyechart.audits.splits.models:export_selection",
    },
    options=(
        Option(
            "--concept",
            "concepts",
            "What `splits` groups by, such as `KO` or `question_type+keyword`; repeatable. Default: nine.",
            several=True,
            metavar="CONCEPT",
        ),
    ),
)


@dataclass(frozen=True)
class SplitsAudit(SplitsSettings):
    """Separate the rare answers of each concept and measure how much worse a model does on them."""

    needs: ClassVar[tuple[str, ...]] = ("question", "answer")
    furniture: ClassVar[Furniture] = FURNITURE

    def study(self, data: Dataset, engine: Engine) -> Result:
        """Find concepts and groups and label the judged examples as head or tail; or label them by published sets."""
        if self.from_folder:
            return study_published(self, data, Path(self.from_folder))
        return study_data(self, data, engine)

    def beyond_plain(self, data: Dataset) -> tuple[str, ...]:  # noqa: ARG002 - part of the contract
        """Return no condition: only the unchanged examples are asked."""
        return ()

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterator[tuple[str, pl.DataFrame]]:  # noqa: A002, ARG002
        """Yield probes of the judged examples as they are."""
        yield PLAIN_CONDITION, Prober(data).plain(study.rows["id"])

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        """Measure accuracy on heads, tails and all, and the drops."""
        return judge_model(self, data, study, predictions, engine)
