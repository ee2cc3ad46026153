"""The audit itself: settings, and which part does what."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar

import polars as pl

from eyechart.audits.grounding.furniture import DROP, EVIDENCE, FURNITURE, KEEP, REST, WITHOUT
from eyechart.dataset import Dataset
from eyechart.errors import SettingError
from eyechart.furniture import Furniture
from eyechart.predictions import Predictions
from eyechart.protocols import Engine
from eyechart.result import Result

QUESTION = "Do its answers rest on the evidence?"
CHOICES = {
    "compat": ("paper", "release"),
    "sees": ("auto", "objects", "pixels"),
    "hide": ("mask", "blur", "noise", "crop"),
    "same": ("normalized", "raw"),
}
EXTRA = rf"{WITHOUT}|({KEEP}|{DROP})@([1-9][0-9]?|100)"


@dataclass(frozen=True)
class GroundingAudit:
    """Ask with the whole picture, with the evidence alone and without it, and see when the answer changes.

    `sees` says what the asked model sees: `objects` (indices of visible ones), `pixels` (boxes to hide), or `auto`,
    both where the images have objects with boxes. `hide` is how pixels are hidden, `feather` and `min_size` in pixels.
    `extra` asks more: `without` each object once, `keep@25` or `drop@25` the quarter of the objects that is most
    relevant. `ood` is a column that tells what is out of distribution, `ood_value` its value there. A model is not
    grounded if surely less than the share `least` of its answers is.
    """

    name: ClassVar[str] = "grounding"
    needs: ClassVar[tuple[str, ...]] = ("evidence",)
    gone: ClassVar[Mapping[str, str]] = {"split": "name what is judged with --judge"}
    furniture: ClassVar[Furniture] = FURNITURE

    score: str = "auto"
    by: tuple[str, ...] = ()
    compat: str = "paper"
    iou: float = 0.5
    overlap: float = 0.25
    sees: str = "auto"
    hide: str = "mask"
    feather: int = 0
    min_size: int = 16
    extra: tuple[str, ...] = ()
    ood: str = ""
    ood_value: str = ""
    same: str = "normalized"
    least: float = 0.5

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise SettingError(f"{name} as one of {', '.join(known)}", repr(getattr(self, name)), "choose one")
        for name in ("iou", "overlap", "least"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingError(f"{name} from 0 to 1", f"{getattr(self, name)}", "write 25 % as 0.25")
        for name in ("feather", "min_size"):
            if getattr(self, name) < 0:
                raise SettingError(f"{name} of 0 pixels or more", f"{getattr(self, name)}", "write 0 for none")
        for text in self.extra:
            if not re.fullmatch(EXTRA, text):
                advice = "write without, keep@25 or drop@25, with a percentage up to 100"
                raise SettingError("extra conditions that are known", repr(text), advice)

    def study(self, data: Dataset, engine: Engine) -> Result:  # noqa: ARG002 - part of the contract
        """Find the relevant and irrelevant objects of each judged question, and count those that lack either."""
        from eyechart.audits.grounding.study import study_evidence

        return study_evidence(self, data)

    def beyond_plain(self, data: Dataset) -> tuple[str, ...]:  # noqa: ARG002 - part of the contract
        """Ask with the evidence alone and without it, whatever `extra` adds."""
        return EVIDENCE, REST

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterator[tuple[str, pl.DataFrame]]:  # noqa: A002, ARG002
        """Ask with everything, with the evidence, with the rest, and what is wanted beyond that."""
        from eyechart.audits.grounding.probing import probe_evidence

        return probe_evidence(self, data, study)

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        """Compare the answers and measure."""
        from eyechart.audits.grounding.judge import judge_model

        return judge_model(self, data, study, predictions, engine)

    def settings(self) -> dict[str, object]:
        """Record the settings."""
        return asdict(self)
