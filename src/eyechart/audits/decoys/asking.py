"""What a model is asked: every set of options, whole, with parts hidden, and with the options shifted.

orig, iou, qou, iou+qou, all     with that set of options
...-image, ...-question, ...-image-question     the same with parts hidden; the last leaves the options alone
rotate#k     the first of these sets with its options shifted by k, where there are more than k
"""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from eyechart.audits.decoys.audit import DecoysAudit
from eyechart.audits.decoys.parts import JUDGED
from eyechart.audits.decoys.sets import choices_of, offer, rotate, sets_of
from eyechart.dataset import Dataset
from eyechart.probes import Prober, source
from eyechart.result import Result

QUESTION, IMAGE = "question", "image"
WHOLE = ""


class Condition(NamedTuple):
    """A set of options, what is hidden besides, and by how many places the options are shifted."""

    options: str
    hidden: str = WHOLE
    shift: int = 0

    @property
    def name(self) -> str:
        """Name the condition by the one grammar."""
        if self.shift:
            return f"rotate#{self.shift}"
        return f"{self.options}-{self.hidden}" if self.hidden else self.options


class Asked(NamedTuple):
    """A condition and the options it shows: id, choices."""

    condition: Condition
    choices: pl.DataFrame


def conditions(audit: DecoysAudit, data: Dataset, study: Result) -> Iterator[Asked]:
    """List what is asked of the judged examples, with the options of each."""
    judged = data.examples.join(study.rows.filter(pl.col("part") == JUDGED), on="id", how="semi")
    decoys = study.tables["decoys"]
    there = sets_of(data.examples, decoys)
    known = [name for name in audit.sets if name in there]
    names = [name for name in known if name in audit.asked.sets] or known
    for name in names:
        choices = choices_of(offer(judged, decoys, name, audit.seed))
        for hidden in (WHOLE, *audit.asked.hide):
            yield Asked(Condition(name, hidden), choices)
        if name == names[0]:
            for shift in range(1, audit.asked.rotations + 1):
                yield Asked(Condition(name, WHOLE, shift), rotate(choices, shift))


def ask(audit: DecoysAudit, data: Dataset, study: Result) -> Iterator[tuple[str, pl.DataFrame]]:
    """Write the probes of each condition under which there is something to ask."""
    prober = Prober(data)
    for condition, choices in conditions(audit, data, study):
        if choices.height:
            hidden = [pl.lit(None, pl.String).alias(source(name)) for name in _hidden(condition, data)]
            yield condition.name, prober.complete(choices.with_columns(hidden), condition.name)


def _hidden(condition: Condition, data: Dataset) -> list[str]:
    """Name the modalities to hide; data about something else than images hide all that is no question for `image`."""
    shown = [name for name in data.modalities if name != QUESTION]
    seen = [IMAGE] if IMAGE in shown else shown
    parts = condition.hidden.split("-")
    return [*(seen if IMAGE in parts else []), *([QUESTION] if QUESTION in parts else [])]
