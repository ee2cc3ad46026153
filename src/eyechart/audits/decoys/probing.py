"""What a model is asked: every set of options, whole, with parts hidden, and with the options shifted.

orig, iou, qou, iou+qou, all     with that set of options
...-image, ...-question, ...-image-question     the same with parts hidden; the last leaves the options alone
orig@donor   the first of these sets, with all that is shown beside it from one other example
rotate#k     the first of these sets with its options shifted by k, where there are more than k

A donor is a judged example of another cluster that has what is shown, and none of whose accepted answers has the normal
form of an option that it is shown with. So nobody finds the target there by looking: who still does, knows it from the
options. One donor gives the image and the question together, so that they belong to each other. It is drawn evenly by
a hash of (seed, id), whatever the order of the rows.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from eyechart.audits.decoys.options import Flags, Floats, choices_of, normal_forms, offer, rotate, sets_of
from eyechart.audits.decoys.settings import ALONE, DONOR, DecoysSettings
from eyechart.audits.decoys.texts import Int64s, code_texts, starts_of
from eyechart.base.hashing import combine, hash_text, uniform
from eyechart.data.dataset import Dataset
from eyechart.data.probes import Prober, source
from eyechart.data.result import Result
from eyechart.language.answers import human_answers

TURNS = 24  # draws of an example before its donors are listed: only who has hardly any gets that far


def draw_donors(examples: pl.DataFrame, choices: pl.DataFrame, shown: list[str], seed: int) -> pl.DataFrame:
    """Draw the donor of each example (id, cluster) with options (id, choices) that has one: `id` and `donor`.

    `shown` names the columns that a donor must have. Draws that are not admitted are drawn again, so those that are
    remain equally likely.
    """
    given = examples.filter(pl.all_horizontal(pl.col(name).is_not_null() for name in (*shown, "answer"))).sort("id")
    asked = choices.join(examples.select("id", "cluster"), on="id", validate="1:1").sort("id")
    pairs = DonorPairs.of(given, asked)
    donor, waiting = np.full(asked.height, -1), np.arange(asked.height if given.height else 0)
    for turn in range(TURNS):
        lots = uniform(combine(hash_text(asked["id"].gather(waiting), seed), hash_text(pl.Series([f"{DONOR} {turn}"]))))
        drawn = (lots * given.height).astype(np.int64)
        admitted = pairs.admit(waiting, drawn)
        donor[waiting[admitted]] = drawn[admitted]
        waiting = waiting[~admitted]
    for alike in pairs.with_equal_options(waiting):
        lots = uniform(combine(hash_text(asked["id"].gather(alike), seed), hash_text(pl.Series([DONOR]))))
        donor[alike] = pairs.choose(alike, lots)
    able = np.flatnonzero(donor >= 0)
    return pl.DataFrame({"id": asked["id"].gather(able), DONOR: given["id"].gather(donor[able])})


class DonorPairs(NamedTuple):
    """What decides whether an example may be the donor of another: clusters, accepted answers and offered options."""

    clusters: tuple[Int64s, Int64s]  # of the donors, and of the examples that are asked
    accepted: pl.DataFrame  # donor, form: every accepted answer in normal form
    offered: pl.DataFrame  # asked, form: every option in normal form

    @classmethod
    def of(cls, given: pl.DataFrame, asked: pl.DataFrame) -> Self:
        """Give numbers to the rows of both tables, and list the normal forms of their texts."""
        names = pl.concat([given["cluster"], asked["cluster"]]).rank("dense").cast(pl.Int64).to_numpy()
        answers = given.select(pl.concat_list(human_answers(given), pl.col("answer"))).to_series()
        return cls(
            (names[: given.height], names[given.height :]),
            _forms_of(answers, "donor"),
            _forms_of(asked["choices"], "asked"),
        )

    def admit(self, asked: Int64s, donors: Int64s) -> Flags:
        """Return for each pair of rows whether the one may be the donor of the other."""
        pairs = pl.DataFrame({"pair": np.arange(len(asked)), "asked": asked, "donor": donors})
        forms = pairs.join(self.accepted, on="donor").select("pair", "asked", "form")
        shared = forms.join(self.offered, on=["asked", "form"], how="semi")["pair"].unique().to_numpy()
        admitted = self.clusters[0][donors] != self.clusters[1][asked]
        admitted[shared] = False
        return np.asarray(admitted)

    def with_equal_options(self, asked: Int64s) -> Iterator[Int64s]:
        """Yield the rows that have the same options, together."""
        sets = self.offered.group_by("asked").agg(pl.col("form").sort().str.join("\n"))
        rows = pl.DataFrame({"asked": asked}).join(sets, on="asked", how="left", maintain_order="left")
        yield from (part["asked"].to_numpy() for _, part in rows.group_by("form", maintain_order=True))

    def choose(self, alike: Int64s, lots: Floats) -> Int64s:
        """Choose among all donors of rows with the same options, by a number from 0 to 1 each; -1 if there is none."""
        own, names = self.clusters[1][alike], self.clusters[0]
        free = np.ones(len(names), np.bool_)
        refused = self.accepted.join(self.offered.filter(asked=int(alike[0])), on="form", how="semi")["donor"].unique()
        free[refused.to_numpy()] = False
        able = np.flatnonzero(free)
        able = able[np.argsort(names[able], kind="stable")]
        begin, end = (np.searchsorted(names[able], own, side) for side in ("left", "right"))
        left = len(able) - (end - begin)
        place = (lots * left).astype(np.int64)
        place += np.where(place >= begin, end - begin, 0)  # the row's own cluster is passed over
        return np.where(left > 0, able[np.minimum(place, len(able) - 1)] if len(able) else -1, -1)


def _forms_of(texts: pl.Series, row: str) -> pl.DataFrame:
    """List the distinct normal forms of each list of texts, with the number of its row."""
    numbered = pl.DataFrame({row: np.arange(len(texts)), "form": texts})
    long = numbered.explode("form", empty_as_null=False, keep_nulls=False)
    return long.with_columns(normal_forms(long["form"]).alias("form")).unique()


def commonest_share(choices: pl.Series) -> float:
    """Return the share of examples that offer the most frequent set of options, whatever their order."""
    sets = pl.Series([" | ".join(sorted(options)) for options in option_forms(choices)], dtype=pl.String)
    return int(sets.value_counts()["count"].max() or 0) / max(len(sets), 1)  # type: ignore[arg-type]  # a whole number


def option_forms(choices: pl.Series) -> Iterator[frozenset[str]]:
    """Return the normal forms of the options of each example."""
    texts, codes = code_texts(choices.explode(empty_as_null=False, keep_nulls=False))
    forms = normal_forms(texts).gather(codes).to_list()
    bounds = starts_of(choices.list.len().to_numpy()).tolist()
    return (frozenset(forms[begin:end]) for begin, end in pairwise(bounds))


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
