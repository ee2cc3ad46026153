"""Do answers hang on the evidence? (FPVG: Reich, Putze and Schultz, EMNLP Findings 2023).

Each question is asked three times: with all of the picture (Eq. 1), with the evidence alone (Eq. 2: `evidence`), and
with everything but the evidence (Eq. 3: `rest`). A model that relies on the evidence keeps its answer in the second
and changes it in the third:

    grounded = (plain == evidence) and (plain != rest)        Eq. 4, its mean Eq. 5, the rest Eq. 6
    four cells: grounded or not, times right or wrong         Eq. 9 to 12; they sum to 1
    sufficiency = p(plain) - p(evidence)                      Eq. 7, p of the answer that was given to the whole
    comprehensiveness = p(plain) - p(rest)                    Eq. 8

    right implies grounded = the share of right answers that are grounded (Reich and Schultz 2024)

A model whose answers change with whatever is hidden has an FPVG+ above 0, so the two conditions are asked once more
for a placebo: other boxes of the same picture, about as large (`placebo`, `rest-placebo`). The verdict is based on the
difference, question by question, between grounded in the evidence and grounded in the placebo.

An object of the image is relevant if its IoU with a box of the evidence is above 0.5, and irrelevant if it covers at
most 25 % of every box of it.

Deliberate differences from the paper and its code:
- a question without a relevant or an irrelevant object is counted but not asked; the authors' loader showed the
  whole image instead, and left the question out later;
- the covered share is relative to the annotated object, as in the paper; with `published="fpvg"` it is relative to the
  detection, and boxes are whole-numbered, as in the authors' code;
- answers are compared in their normal form (`same="raw"`: as they are); a refusal is an answer of its own;
- with soft scores the cells are soft: grounded x score, so that they still sum to 1 and to the accuracy;
- models that see pixels are asked too: boxes are hidden in the picture, and the background stays under `rest`;
- ties in an importance ranking are shared, not broken by position;
- the placebo and the verdict are ours.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from eyechart.audits.grounding.judge import judge_model
from eyechart.audits.grounding.probing import probe_evidence
from eyechart.audits.grounding.settings import (
    DROP,
    EVIDENCE,
    KEEP,
    PLACEBO,
    REST,
    REST_PLACEBO,
    WITHOUT,
    GroundingSettings,
)
from eyechart.audits.grounding.study import study_evidence
from eyechart.data.dataset import Dataset
from eyechart.data.furniture import Furniture, Look
from eyechart.data.predictions import Predictions
from eyechart.data.protocols import Engine
from eyechart.data.result import Result

FURNITURE = Furniture(
    about="looking",
    looks=(
        Look(EVIDENCE, "the evidence alone", "evidence"),
        Look(REST, "everything but the evidence", "rest"),
        Look(PLACEBO, "other boxes of the same area alone", "other"),
        Look(REST_PLACEBO, "everything but other boxes of the same area", "other"),
        # Charts of several percentages name `keep` and `drop` alone.
        Look(rf"{KEEP}(@\d+)?", "the most relevant objects alone", "evidence"),
        Look(rf"{DROP}(@\d+)?", "everything but the most relevant objects", "rest"),
        Look(rf"{WITHOUT}(#\d+)?", "everything but one object", "rest"),
    ),
    contrasts=(
        Look(REST, "the evidence removed", "rest"),
        Look(EVIDENCE, "the evidence alone", "evidence"),
        Look(REST_PLACEBO, "other boxes removed", "other"),
    ),
)


@dataclass(frozen=True)
class GroundingAudit(GroundingSettings):
    """Ask with the whole picture, with the evidence alone and without it, and check when the answer changes.

    `sees` says what the asked model sees: `objects` (indices of visible ones), `pixels` (boxes to hide), or `auto`,
    both where the images have objects with boxes. `hide` is how pixels are hidden, `feather` and `min_size` in pixels.
    `placebo` asks with other boxes, too; without that there is no verdict. `extra` asks more: `without` each object
    once, `keep@25` or `drop@25` the quarter of the objects that is most relevant. `ood` is a column that says what is
    out of distribution, `ood_value` its value there. At least `least` more of its answers must surely be grounded in
    the evidence than in the placebo for a yes; surely fewer mean no.
    """

    needs: ClassVar[tuple[str, ...]] = ("evidence",)
    gone: ClassVar[Mapping[str, str]] = {
        "split": "choose what is judged with --judge",
        "compat": "use published='fpvg'",
    }
    furniture: ClassVar[Furniture] = FURNITURE

    def study(self, data: Dataset, engine: Engine) -> Result:  # noqa: ARG002 - part of the contract
        """Find the relevant and irrelevant objects of each judged question, and count those that lack either."""
        return study_evidence(self, data)

    def beyond_plain(self, data: Dataset) -> tuple[str, ...]:  # noqa: ARG002 - part of the contract
        """Ask with the evidence alone and without it, whatever a placebo and `extra` add."""
        return EVIDENCE, REST

    def can_spare(self, condition: str) -> bool:
        """Return whether the audit can judge without a condition: without the placebo, it tests nothing."""
        return condition in {PLACEBO, REST_PLACEBO}

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterator[tuple[str, pl.DataFrame]]:  # noqa: A002, ARG002
        """Ask with everything, with the evidence and without it, the same of a placebo, and under `extra`."""
        return probe_evidence(self, data, study)

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        """Compare the answers and measure."""
        return judge_model(self, data, study, predictions, engine)
