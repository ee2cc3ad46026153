"""The audit itself: what it needs, offers, asks and measures."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from eyechart.audits.grounding.judge import judge_model
from eyechart.audits.grounding.probing import probe_evidence
from eyechart.audits.grounding.settings import DROP, EVIDENCE, KEEP, REST, WITHOUT, GroundingSettings
from eyechart.audits.grounding.study import study_evidence
from eyechart.data.dataset import Dataset
from eyechart.data.furniture import Furniture, Look
from eyechart.data.predictions import Predictions
from eyechart.data.protocols import Engine
from eyechart.data.result import Result

FURNITURE = Furniture(
    looks=(
        Look(EVIDENCE, "the evidence alone", "evidence"),
        Look(REST, "everything but the evidence", "rest"),
        # Charts of several percentages name `keep` and `drop` alone.
        Look(rf"{KEEP}(@\d+)?", "the most relevant objects alone", "evidence"),
        Look(rf"{DROP}(@\d+)?", "everything but the most relevant objects", "rest"),
        Look(rf"{WITHOUT}(#\d+)?", "everything but one object", "rest"),
    )
)


@dataclass(frozen=True)
class GroundingAudit(GroundingSettings):
    """Ask with the whole picture, with the evidence alone and without it, and check when the answer changes.

    `sees` says what the asked model sees: `objects` (indices of visible ones), `pixels` (boxes to hide), or `auto`,
    both where the images have objects with boxes. `hide` is how pixels are hidden, `feather` and `min_size` in pixels.
    `extra` asks more: `without` each object once, `keep@25` or `drop@25` the quarter of the objects that is most
    relevant. `ood` is a column that says what is out of distribution, `ood_value` its value there. A model is not
    grounded if the share of its grounded answers is surely below `least`.
    """

    needs: ClassVar[tuple[str, ...]] = ("evidence",)
    gone: ClassVar[Mapping[str, str]] = {"split": "choose what is judged with --judge"}
    furniture: ClassVar[Furniture] = FURNITURE

    def study(self, data: Dataset, engine: Engine) -> Result:  # noqa: ARG002 - part of the contract
        """Find the relevant and irrelevant objects of each judged question, and count those that lack either."""
        return study_evidence(self, data)

    def beyond_plain(self, data: Dataset) -> tuple[str, ...]:  # noqa: ARG002 - part of the contract
        """Ask with the evidence alone and without it, whatever `extra` adds."""
        return EVIDENCE, REST

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterator[tuple[str, pl.DataFrame]]:  # noqa: A002, ARG002
        """Ask with everything, with the evidence, with the rest, and under the extra conditions."""
        return probe_evidence(self, data, study)

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        """Compare the answers and measure."""
        return judge_model(self, data, study, predictions, engine)
