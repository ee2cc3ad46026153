r"""Which modalities a model perceives: the Perceptual Score (Gat, Schwartz & Schwing, NeurIPS 2021).

Acc(M) is a model's score on an example as it is, Acc(M \ {m}) its score without a modality m:

    P(m) = Acc(M) - Acc(M \ {m})            of an example                                        Eq. 2
    Acc(M \ {m}) = E_j [score of (x with the m of x_j)]     j drawn from the judged examples      Eq. 3
    P = mean over examples of P(m), divided by Z                                                Eq. 1
    Z_D = 1 - score of the most frequent train answer                                           Eq. 4
          or, with `published="tables-6-7"`, that score itself, by which those tables of the paper divide
    Z_D,f = mean of Acc(M)                                                                      Eq. 5

Differences from the paper, each on purpose: donors are never the example itself nor one of the same content (`uniform`
is the paper's way); four donors an example instead of five in each of five repeats; the interval covers examples as
well as donors, where the paper's +- is the spread of repeats alone; nothing is clipped; "ignores it" is a test of
equivalence. Removals other than permutation, interactions, EMAP, gain, leakage and mirage score are not in the paper.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from eyechart.audits.perception.judge import judge_model
from eyechart.audits.perception.probing import write_probes
from eyechart.audits.perception.settings import PICTURED, PerceptionSettings
from eyechart.audits.perception.study import study_data
from eyechart.data.dataset import Dataset
from eyechart.data.furniture import Furniture, Look, Option
from eyechart.data.predictions import Predictions
from eyechart.data.probes import PERMUTE, Removal
from eyechart.data.protocols import Engine
from eyechart.data.result import Result
from eyechart.data.several import CHOICES

INSTEAD = {  # what replaces the modality, by the way in which it is removed
    "image": {
        PERMUTE: "another picture",
        "none": "no picture",
        "blank": "a grey picture",
        "mean": "the mean colour of the picture",
        "noise": "noise for a picture",
        "guess": "no picture, asked to guess",
        "as-if": "no picture, and no mention of it",
        "first": "only the first of its pictures",
        "shuffled": "its pictures in another order",
        "single-frame": "only the middle one of its pictures",
    },
    "question": {PERMUTE: "another question", "none": "no question", "blank": "an empty question"},
    "caption": {PERMUTE: "another caption", "none": "no caption", "blank": "an empty caption"},
    "history": {PERMUTE: "another history", "none": "no history", "blank": "an empty history"},
    "candidate": {PERMUTE: "another candidate", "none": "no candidate", "blank": "an empty candidate"},
    "audio": {PERMUTE: "another sound", "none": "no sound"},
    "video": {PERMUTE: "another video", "none": "no video"},
}
BOTH = {
    PERMUTE: "another picture and question",
    "none": "no picture, no question",
    "blank": "a grey picture, an empty question",
}
COLORS = {"image": "image", "question": "question"}  # other modalities share one


def _looks() -> Iterator[Look]:
    for modality, names in INSTEAD.items():
        yield from _looks_of(modality, names, COLORS.get(modality, "other"))
    yield from _looks_of(r"(image\+question|question\+image)", BOTH, "both")
    yield Look(r"emap(#\d+)?", "the first modality of another example", "other")


def _looks_of(modalities: str, names: Mapping[str, str], color: str) -> Iterator[Look]:
    """Match every draw of a permutation, all draws together, and removals without draws."""
    for kind, name in names.items():
        yield Look(modalities + (r"(#\d+)?" if kind == PERMUTE else f"={kind}"), name, color)


PRECISION = Option(
    "--precision",
    "precision",
    "Keep drawing until every interval of perception is at most this wide, in points.",
    metavar="POINTS",
)


@dataclass(frozen=True)
class PerceptionAudit(PerceptionSettings):
    """Remove each modality and measure what the model loses."""

    needs: ClassVar[tuple[str, ...]] = ("answer",)
    gone: ClassVar[Mapping[str, str]] = {
        "split": "choose what is judged with --judge",
        "majority_split": "choose what is learned from with --learn",
        "form": "use published='tables-6-7' to divide by the score of the most frequent answer",
    }
    furniture: ClassVar[Furniture] = Furniture(
        about="looking",
        looks=tuple(_looks()),
        contrasts=(Look("image#0", INSTEAD["image"][PERMUTE], "image"),),
        options=(PRECISION,),
    )

    def study(self, data: Dataset, engine: Engine) -> Result:  # noqa: ARG002 - part of the contract
        """Choose the judged examples, find their possible donors, and score the most frequent answers."""
        return study_data(self, data)

    def beyond_plain(self, data: Dataset) -> tuple[str, ...]:
        """Name the first draw of every removal: no other draw is asked without it."""
        sets = self.modalities or data.modalities
        chosen = [name for name in sets if name == PICTURED]
        kinds = ((kind, chosen if kind in CHOICES else sets) for kind in self.removal)
        return tuple(Removal((name,), kind).condition(0) for kind, names in kinds for name in names)

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterator[tuple[str, pl.DataFrame]]:  # noqa: A002
        """Yield probes of the judged examples as they are and each modality removed, or what a later round adds."""
        return write_probes(self, data, study, round)

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        """Measure what is lost without each modality."""
        return judge_model(self, data, study, predictions, engine)


__all__ = ["PerceptionAudit"]
