"""What a model is asked: every set of options, whole, with parts hidden, and with the options shifted.

orig, iou, qou, iou+qou, all     with that set of options
...-image, ...-question, ...-image-question     the same with parts hidden; the last leaves the options alone
orig@donor   the first of these sets, with all that is shown beside it from one other example
rotate#k     the first of these sets with its options shifted by k, where there are more than k
"""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from eyechart.audits.decoys.donors import commonest_share, draw_donors
from eyechart.audits.decoys.options import choices_of, offer, rotate, sets_of
from eyechart.audits.decoys.settings import ALONE, DONOR, DecoysSettings
from eyechart.data.dataset import Dataset
from eyechart.data.probes import Prober, source
from eyechart.data.result import Result

QUESTION, IMAGE = "question", "image"
WHOLE = ""  # nothing is hidden
OWN = "own"  # what is shown beside the options is the example's own
NEARLY_ALL = 0.9  # of the examples: if they offer the same options, no other example can stand in for one


class Condition(NamedTuple):
    """A set of options, what else is hidden, by how many places the options are shifted, and whose the rest is."""

    options: str
    hidden: str = WHOLE
    shift: int = 0
    shown: str = OWN

    @property
    def name(self) -> str:
        """Return the name of the condition, as used in tables."""
        if self.shift:
            return f"rotate#{self.shift}"
        if self.shown == DONOR:
            return f"{self.options}@{DONOR}"
        return f"{self.options}-{self.hidden}" if self.hidden else self.options

    @property
    def is_whole(self) -> bool:
        """Return whether everything of the example is shown, in the order of its set."""
        return self == Condition(self.options)


def conditions(settings: DecoysSettings, data: Dataset, study: Result) -> Iterator[tuple[Condition, pl.DataFrame]]:
    """List the conditions to ask the judged examples under, with the options (id, choices) of each, and any `donor`."""
    clusters = study.rows.select("id", "cluster")
    judged = data.examples.drop("cluster", strict=False).join(clusters, on="id", validate="1:1")
    decoys = study.tables["decoys"]
    available = sets_of(data.examples, decoys)
    known = [name for name in settings.sets if name in available]
    names = [name for name in known if name in settings.ask] or known
    for name in names:
        choices = choices_of(offer(judged, decoys, name, settings.seed))
        for hidden in (WHOLE, *settings.hide):
            yield Condition(name, hidden), choices
        if name == names[0]:
            yield Condition(name, shown=DONOR), with_donors(judged, choices, data, settings.seed)
            for shift in range(1, settings.rotations + 1):
                yield Condition(name, WHOLE, shift), rotate(choices, shift)


def make_probes(settings: DecoysSettings, data: Dataset, study: Result) -> Iterator[tuple[str, pl.DataFrame]]:
    """Write the probes of each condition under which there is something to ask."""
    prober = Prober(data)
    for condition, choices in conditions(settings, data, study):
        if choices.height:
            hidden = {name: pl.lit(None, pl.String) for name in _hidden_modalities(condition.hidden, data)}
            given = dict.fromkeys(data.modalities, pl.col(DONOR)) if condition.shown == DONOR else {}
            sources = [giver.alias(source(name)) for name, giver in (hidden | given).items()]
            keys = choices.with_columns(sources).drop(DONOR, strict=False)
            yield condition.name, prober.complete(keys, condition.name)


def with_donors(judged: pl.DataFrame, choices: pl.DataFrame, data: Dataset, seed: int) -> pl.DataFrame:
    """Give each example that has a donor the donor; none has one where nearly all offer the same options."""
    if commonest_share(choices["choices"]) >= NEARLY_ALL:
        return choices.clear().with_columns(pl.lit(None, pl.String).alias(DONOR))
    donors = draw_donors(judged, choices, _hidden_modalities(ALONE, data), seed)
    return choices.join(donors, on="id", validate="1:1", maintain_order="left")


def _hidden_modalities(hidden: str, data: Dataset) -> list[str]:
    """Name the modalities to hide; in data without images, `image` hides everything but the question."""
    shown = [name for name in data.modalities if name != QUESTION]
    seen = [IMAGE] if IMAGE in shown else shown
    parts = hidden.split("-")
    return [*(seen if IMAGE in parts else []), *([QUESTION] if QUESTION in parts else [])]
