"""The audit itself: settings, and which part does what."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import ClassVar, NamedTuple

import polars as pl

from eyechart.audits.decoys.furniture import FURNITURE
from eyechart.audits.decoys.recipes import COMPATS, DRAWINGS, RANDOM, Recipe
from eyechart.audits.decoys.sets import ORIG, REPAIRED, SETS
from eyechart.dataset import Dataset
from eyechart.errors import SettingError
from eyechart.furniture import Furniture
from eyechart.predictions import Predictions
from eyechart.protocols import Engine
from eyechart.result import Result

HIDDEN = ("image", "question", "image-question")
ALONE = HIDDEN[-1:]  # the options alone are left
SHIFTS = 3  # of the paper's tables


class Asking(NamedTuple):
    """The sets of options to ask about, what is hidden besides, and how often options are shifted."""

    sets: tuple[str, ...]
    hide: tuple[str, ...]
    rotations: int


@dataclass(frozen=True)
class DecoysAudit:
    """Find what gives the target away among the options, draw better decoys, and ask a model with parts hidden.

    `k`, `drawing`, `compat`, `threshold`, `similarity`, `guards`, `near` and `leave_out` say how decoys are drawn (see
    `Recipe`). `sets` are the sets of options to study, `ask` those of them to ask a model about (all, where there is
    none of these), `hide` what is hidden from it besides, `rotations` by how many places options are shifted at most;
    with `paper` everything is asked that the paper's Tables 3 to 5 hold: all sets, each part hidden, 3 shifts. Blind
    baselines learn in `folds` parts from at most `most` examples by the `scorer`. `kinds` names a column that lists
    how each option was made. A model lives on the options if with them alone it is surely more than `margin` above
    guessing; they give the answer away if a prior or a baseline of answers alone is.
    """

    name: ClassVar[str] = "decoys"
    needs: ClassVar[tuple[str, ...]] = ("answer",)
    learns: ClassVar[bool] = True
    furniture: ClassVar[Furniture] = FURNITURE

    score: str = "auto"
    by: tuple[str, ...] = ()
    sets: tuple[str, ...] = (ORIG, "iou", "qou", REPAIRED, "all")
    ask: tuple[str, ...] = (ORIG, REPAIRED)
    hide: tuple[str, ...] = ALONE
    rotations: int = 1
    paper: bool = False
    k: int = Recipe().k
    drawing: str = Recipe().drawing
    compat: str = Recipe().compat
    threshold: float = Recipe().threshold
    similarity: str = Recipe().similarity
    guards: bool = Recipe().guards
    near: int = Recipe().near
    leave_out: bool = Recipe().leave_out
    folds: int = 3
    most: int = 20_000
    scorer: str = "logistic"
    kinds: str = "idx_types"
    margin: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        _check("sets", self.sets or ("none",), tuple(SETS))
        _check("ask", self.ask, tuple(SETS))
        _check("hide", self.hide, HIDDEN)
        _check("drawing", (self.drawing,), DRAWINGS)
        _check("compat", (self.compat,), COMPATS)
        for name, least in (("k", 1), ("folds", 2), ("most", 1), ("rotations", 0), ("near", 1)):
            if getattr(self, name) < least:
                raise SettingError(f"{name} of at least {least}", str(getattr(self, name)), f"raise {name}")

    def study(self, data: Dataset, engine: Engine) -> Result:
        """Diagnose the options of the data, draw decoys, and diagnose the options made of them."""
        from eyechart.audits.decoys.study import study_options

        return study_options(self, data, engine)

    def beyond_plain(self, data: Dataset) -> tuple[str, ...]:  # noqa: ARG002 - part of the contract
        """Name all sets of options: which of them there are, only the study shows."""
        return self.sets

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterator[tuple[str, pl.DataFrame]]:  # noqa: A002, ARG002
        """Ask for the judged examples with every set of options, whole, with parts hidden, and shifted."""
        from eyechart.audits.decoys.asking import ask

        return ask(self, data, study)

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        """Measure accuracy by options and by what is visible, and how steady it is when options are shifted."""
        from eyechart.audits.decoys.judge import judge_model

        return judge_model(self, data, study, predictions, engine)

    @property
    def recipe(self) -> Recipe:
        """Select how decoys are drawn."""
        return Recipe(**{name: getattr(self, name) for name in Recipe._fields})

    @property
    def asked(self) -> Asking:
        """Say what a model is asked, where the data have it."""
        if self.paper:
            return Asking(self.sets, HIDDEN, SHIFTS)
        return Asking(self.ask, self.hide, self.rotations)

    @property
    def studied(self) -> tuple[str, ...]:
        """Name the sets to study: those asked about, and the control of random decoys where any are drawn."""
        return self.sets if self.sets == (ORIG,) else tuple(dict.fromkeys((*self.sets, RANDOM)))

    def settings(self) -> dict[str, object]:
        """Record the settings."""
        return asdict(self)


def _check(name: str, given: tuple[str, ...], known: tuple[str, ...]) -> None:
    strange = [value for value in given if value not in known]
    if strange:
        raise SettingError(f"{name} among {', '.join(known)}", ", ".join(strange), "choose among these")
