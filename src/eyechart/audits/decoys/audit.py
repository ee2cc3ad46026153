"""The audit itself: its settings, and the functions that study, ask and judge."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, cast

import polars as pl

from eyechart.audits.decoys.settings import DecoysSettings
from eyechart.audits.decoys.views import FURNITURE
from eyechart.base.registry import import_object
from eyechart.data.dataset import Dataset
from eyechart.data.furniture import Furniture
from eyechart.data.predictions import Predictions
from eyechart.data.protocols import Engine
from eyechart.data.result import Result

# These bring Numba, so they are loaded when they are called.
STUDY = "eyechart.audits.decoys.study:study_options"
PROBE = "eyechart.audits.decoys.probing:make_probes"
JUDGE = "eyechart.audits.decoys.judge:judge_model"

Probes = Iterator[tuple[str, pl.DataFrame]]


@dataclass(frozen=True)
class DecoysAudit(DecoysSettings):
    """Find what gives the target away among the options, draw better decoys, and ask a model with parts hidden.

    A model relies on the options if with them alone it is surely more than `margin` above guessing; they give the
    answer away if a prior or a baseline of answers alone is. `DecoysSettings` describes the settings.
    """

    needs: ClassVar[tuple[str, ...]] = ("answer",)
    learns: ClassVar[bool] = True
    furniture: ClassVar[Furniture] = FURNITURE

    def study(self, data: Dataset, engine: Engine) -> Result:
        """Diagnose the options of the data, draw decoys, and diagnose the options made of them."""
        study_options = cast("Callable[[DecoysSettings, Dataset, Engine], Result]", import_object(STUDY))
        return study_options(self, data, engine)

    def beyond_plain(self, data: Dataset) -> tuple[str, ...]:  # noqa: ARG002 - part of the contract
        """Name all sets of options; only the study shows which of them exist."""
        return self.sets

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Probes:  # noqa: A002, ARG002
        """Ask for the judged examples with every set of options, whole, with parts hidden, and shifted."""
        make_probes = cast("Callable[[DecoysSettings, Dataset, Result], Probes]", import_object(PROBE))
        return make_probes(self, data, study)

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        """Measure accuracy by options and by what is visible, and how steady it is when options are shifted."""
        judge_model = cast(
            "Callable[[DecoysSettings, Dataset, Result, Predictions, Engine], Result]", import_object(JUDGE)
        )
        return judge_model(self, data, study, predictions, engine)
