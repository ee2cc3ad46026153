"""The audit itself: settings, and which part does what."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from eyechart.audits.perception.furniture import FURNITURE
from eyechart.audits.perception.removals import Removal, check_kinds
from eyechart.dataset import Dataset
from eyechart.encode.donors import check_policy
from eyechart.errors import SettingError
from eyechart.furniture import Furniture
from eyechart.predictions import Predictions
from eyechart.protocols import Engine
from eyechart.result import Result

QUESTION = "Does it use every modality?"
FORMS = ("complement", "majority")
SCOPES = ("global", "answer_type", "question_type")


@dataclass(frozen=True)
class PerceptionAudit:
    """Remove each modality and measure what the model loses.

    `modalities` are names or sets such as `image+question`; none means all of the data's. `removal` says how, the first
    way deciding the verdict. `donors` is the policy of permutation, `draws` the donors of each example, `repeats` how
    often all of that is done (5 and 5 are the paper's). With `precision` (points) the audit starts with few examples
    and asks on, at most `max_rounds` rounds, until every interval is no wider. `majority` is the scope of the most
    frequent answer, `form` of Z is `complement` or `majority`. A modality whose score
    is shown to lie within `margin` of 0 is ignored. `interactions` removes pairs, `emap` takes so many examples for the
    additive projection, `text_only` names the column with a text-only model's answers, `sentiment` one of text.
    """

    name: ClassVar[str] = "perception"
    needs: ClassVar[tuple[str, ...]] = ("answer",)
    gone: ClassVar[Mapping[str, str]] = {
        "split": "name what is judged with --judge",
        "majority_split": "name what is learned from with --learn",
    }
    furniture: ClassVar[Furniture] = FURNITURE

    score: str = "auto"
    by: tuple[str, ...] = ()
    modalities: tuple[str, ...] = ()
    removal: tuple[str, ...] = ("permute",)
    donors: str = "other"
    draws: int = 4
    repeats: int = 1
    precision: float | None = None
    max_rounds: int = 12
    majority: str = "global"
    form: str = "complement"
    margin: float = 0.03
    interactions: bool = False
    emap: int = 0
    text_only: str | None = None
    sentiment: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_kinds(self.removal)
        check_policy(self.donors)
        for name, known in (("form", FORMS), ("majority", SCOPES)):
            if getattr(self, name) not in known:
                raise SettingError(f"{name} as one of {', '.join(known)}", repr(getattr(self, name)), "choose one")
        for name in ("draws", "repeats", "max_rounds"):
            if getattr(self, name) < 1:
                raise SettingError(
                    f"{name} of at least 1", str(getattr(self, name)), "1 is the least that says anything"
                )
        if self.precision is not None and self.precision <= 0:
            raise SettingError("a precision above 0 points", str(self.precision), "2 is a point to either side")
        if self.margin <= 0 or self.emap < 0:
            raise SettingError("a margin above 0 and emap of at least 0", f"{self.margin}, {self.emap}", "see the docs")
        if self.emap and self.precision is not None:
            advice = "leave one of them out"
            raise SettingError("emap or a precision", "both, but EMAP wants every pair in the first round", advice)

    def study(self, data: Dataset, engine: Engine) -> Result:  # noqa: ARG002 - part of the contract
        """Choose the judged examples, see who can be a donor, and score the most frequent answers."""
        from eyechart.audits.perception.study import study_data

        return study_data(self, data)

    def beyond_plain(self, data: Dataset) -> tuple[str, ...]:
        """Name the first draw of every removal: no other is asked without it."""
        sets = self.modalities or data.modalities
        return tuple(Removal((name,), kind).condition(0) for kind in self.removal for name in sets)

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterator[tuple[str, pl.DataFrame]]:  # noqa: A002
        """Ask for the judged examples as they are and with each modality removed; later rounds add to earlier ones."""
        from eyechart.audits.perception.probing import write_probes

        return write_probes(self, data, study, round)

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        """Measure what is lost without each modality."""
        from eyechart.audits.perception.judge import judge_model

        return judge_model(self, data, study, predictions, engine)
