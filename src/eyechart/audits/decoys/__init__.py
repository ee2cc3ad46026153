"""Decoys: whether options give the answer away, and better options (Chao, Hu and Sha, NAACL 2018).

The diagnosis asks what solves a multiple-choice question without understanding it: how often a text is a target and how
often a decoy,

    P(correct | C) = T / (T + D / K),  0.5 where C was never seen                                        (Eq. 2)

simple cues, and scorers f(c, i) that see the options alone (A), with the question (Q + A), with the objects of the
image (I + A), or all of it (Sect. 3). The repair draws decoys that fit the question (QoU: answers to similar
questions), or the image (IoU: answers to its other questions), and are as often targets elsewhere (Sect. 4).

Deliberate differences from the paper and its code:
- the scorer is a logistic regression over sparse features, cross-validated by image, in place of the network of Eq. 1;
  a control that learns from random targets must find nothing;
- every number has an interval and is compared with chance on the same examples, which differ in their options;
- each use as a decoy counts 1 / K with the example's own K, since examples may have fewer decoys;
- decoys are checked against every human answer and against each other, and a filler is checked like any other;
- the order of new options is a hash, so that it reveals nothing; neutrality is tested, not only counted.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

import polars as pl

from eyechart.audits.decoys.settings import DONOR, DecoysSettings
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
    """Find what gives the target away among the options, draw better decoys, and ask a model without what they ask of.

    A model relies on the options if, with the image and question of another example beside them, it is surely more than
    `margin` above guessing; they give the answer away if a prior or a baseline of answers alone is. `DecoysSettings`
    describes the settings.
    """

    needs: ClassVar[tuple[str, ...]] = ("answer",)
    learns: ClassVar[bool] = True
    gone: ClassVar[Mapping[str, str]] = {
        "compat": "use published='qavg'",
        "paper": "use ask=orig,iou,qou,iou+qou,all hide=image,question,image-question rotations=3",
    }
    furniture: ClassVar[Furniture] = FURNITURE

    def study(self, data: Dataset, engine: Engine) -> Result:
        """Diagnose the options of the data, draw decoys, and diagnose the options made of them."""
        study_options = cast("Callable[[DecoysSettings, Dataset, Engine], Result]", import_object(STUDY))
        return study_options(self, data, engine)

    def beyond_plain(self, data: Dataset) -> tuple[str, ...]:  # noqa: ARG002 - part of the contract
        """Name all sets of options; only the study shows which of them exist."""
        return self.sets

    def can_spare(self, condition: str) -> bool:
        """Return whether a condition has donors, which older runs and files of answers may lack."""
        return condition.endswith(f"@{DONOR}")

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Probes:  # noqa: A002, ARG002
        """Ask for the judged examples with every set of options, whole, with parts hidden, with donors, and shifted."""
        make_probes = cast("Callable[[DecoysSettings, Dataset, Result], Probes]", import_object(PROBE))
        return make_probes(self, data, study)

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        """Measure accuracy by options and by what is visible, and how steady it is when options are shifted."""
        judge_model = cast(
            "Callable[[DecoysSettings, Dataset, Result, Predictions, Engine], Result]", import_object(JUDGE)
        )
        return judge_model(self, data, study, predictions, engine)
