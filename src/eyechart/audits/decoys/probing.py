"""What a model is asked: every set of options, whole, with parts hidden, and with the options shifted.

orig, iou, qou, iou+qou, all     with that set of options
...-image, ...-question, ...-image-question     the same with parts hidden; the last leaves the options alone
rotate#k     the first of these sets with its options shifted by k, where there are more than k
"""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from eyechart.audits.decoys.options import choices_of, offer, rotate, sets_of
from eyechart.audits.decoys.settings import DecoysSettings
from eyechart.data.dataset import Dataset
from eyechart.data.probes import Prober, source
from eyechart.data.result import Result

QUESTION, IMAGE = "question", "image"
WHOLE = ""  # nothing is hidden


class Condition(NamedTuple):
    """A set of options, what else is hidden, and by how many places the options are shifted."""

    options: str
    hidden: str = WHOLE
    shift: int = 0

    @property
    def name(self) -> str:
        """Return the name of the condition, as used in tables."""
        if self.shift:
            return f"rotate#{self.shift}"
        return f"{self.options}-{self.hidden}" if self.hidden else self.options


def conditions(settings: DecoysSettings, data: Dataset, study: Result) -> Iterator[tuple[Condition, pl.DataFrame]]:
    """List the conditions to ask the judged examples under, with the options (id, choices) of each."""
    judged = data.examples.join(study.rows, on="id", how="semi")
    decoys = study.tables["decoys"]
    available = sets_of(data.examples, decoys)
    known = [name for name in settings.sets if name in available]
    names = [name for name in known if name in settings.ask] or known
    for name in names:
        choices = choices_of(offer(judged, decoys, name, settings.seed))
        for hidden in (WHOLE, *settings.hide):
            yield Condition(name, hidden), choices
        if name == names[0]:
            for shift in range(1, settings.rotations + 1):
                yield Condition(name, WHOLE, shift), rotate(choices, shift)


def make_probes(settings: DecoysSettings, data: Dataset, study: Result) -> Iterator[tuple[str, pl.DataFrame]]:
    """Write the probes of each condition under which there is something to ask."""
    prober = Prober(data)
    for condition, choices in conditions(settings, data, study):
        if choices.height:
            hidden = [pl.lit(None, pl.String).alias(source(name)) for name in _hidden_modalities(condition, data)]
            yield condition.name, prober.complete(choices.with_columns(hidden), condition.name)


def _hidden_modalities(condition: Condition, data: Dataset) -> list[str]:
    """Name the modalities to hide; in data without images, `image` hides everything but the question."""
    shown = [name for name in data.modalities if name != QUESTION]
    seen = [IMAGE] if IMAGE in shown else shown
    parts = condition.hidden.split("-")
    return [*(seen if IMAGE in parts else []), *([QUESTION] if QUESTION in parts else [])]
