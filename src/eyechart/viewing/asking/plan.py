"""What people are asked: a seeded sample of examples, each with all of it or a part hidden.

A person sees each example once, in an order of their own. Person k sees example i with part (k + i) mod 4, so any four
who come one after another see every example in all four ways.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.perception.removals import Removal
from eyechart.dataset import Dataset
from eyechart.errors import DataError, SettingError
from eyechart.hashing import combine, hash_text
from eyechart.probes import OWN, Prober, fill
from eyechart.store import Store

ORIG = "orig"  # the options of the data


class Part(NamedTuple):
    """What is left to see of an example, and the condition it is."""

    name: str
    hidden: tuple[str, ...]
    condition: str


@dataclass(frozen=True)
class Questionnaire:
    """The sampled examples in their order, the parts, and what is shown of each example under each condition."""

    run: Store
    data: Dataset
    items: tuple[str, ...]
    parts: tuple[Part, ...]
    probes: dict[str, pl.DataFrame]  # by condition: id, probe
    shown: dict[str, dict[str, dict[str, Any]]]  # by condition and id, with the content
    seed: int

    def part(self, person: int, item: str) -> Part:
        """Say what of an example a person sees."""
        return self.parts[(person + self.items.index(item)) % len(self.parts)]

    def order(self, person: str) -> list[str]:
        """Shuffle the examples for a person."""
        return _shuffled(self.items, self.seed, f"order {person}")

    def options(self, person: str, item: str, condition: str) -> list[str]:
        """Shuffle the options of an example for a person: where the right one stands must tell nothing."""
        found = self.shown[condition][item].get("choices") or ()
        return _shuffled(tuple(found), self.seed, f"options {person} {item}")


def plan_questions(run: Store, items: int, seed: int = 0, options: str = ORIG) -> Questionnaire:
    """Choose examples among those that models were asked, and complete what is shown of them."""
    if options != ORIG and options not in run.conditions():
        advice = "study `decoys` and probe the run, or leave --options out"
        raise SettingError(f"probes with the options {options!r}", ", ".join(run.conditions()) or "none", advice)
    data = _sampled(run, items, seed)
    parts = tuple(_parts(run, data, options))
    probes = {part.condition: _probes(run, data, part) for part in parts}
    shown = {
        name: {row["id"]: row for row in fill(found, data).iter_rows(named=True)} for name, found in probes.items()
    }
    everywhere = set.intersection(*(set(found) for found in shown.values()))
    chosen = tuple(name for name in data.examples["id"] if name in everywhere)
    return Questionnaire(run, data, chosen, parts, probes, shown, seed)


def _sampled(run: Store, items: int, seed: int) -> Dataset:
    asked = run.probes(OWN)["id"] if OWN in run.conditions() else run.data.examples["id"]
    known = run.data.take(pl.col("id").is_in(asked.implode()) & pl.col("answer").is_not_null())
    if not known.examples.height:
        raise DataError("examples to ask people about", "none with an answer", "probe the run first")
    return known.sample(items, seed)


def _parts(run: Store, data: Dataset, options: str) -> list[Part]:
    """Name the four parts; the conditions of `decoys`, which hide the same, are taken where they are asked."""
    known = run.conditions()
    has_options = options in known or _all_have_options(data)
    hidings: dict[str, tuple[str, ...]] = {
        "everything": (),
        "the question" + (" and the options" if has_options else ""): ("image",),
    }
    if has_options:
        hidings |= {"the picture and the options": ("question",), "the options": ("image", "question")}
    found = []
    for name, hidden in hidings.items():
        by_decoys = "-".join((options, *hidden))
        plain = Removal(hidden, "none").name if hidden else OWN
        found.append(Part(name, hidden, by_decoys if by_decoys in known else plain))
    return found


def _all_have_options(data: Dataset) -> bool:
    if "choices" not in data.examples.columns:
        return False
    return bool((data.examples["choices"].list.len().fill_null(0) > 0).all())


def _probes(run: Store, data: Dataset, part: Part) -> pl.DataFrame:
    """Take the probes that the run has, so that answers to them can be judged, or make them alike."""
    if part.condition in run.conditions():
        return run.probes(part.condition).join(data.examples.select("id"), on="id", how="semi")
    keys = Removal(part.hidden, "none").keys(data.examples["id"])
    return Prober(data).complete(keys, part.condition)


def _shuffled(texts: tuple[str, ...], seed: int, salt: str) -> list[str]:
    if not texts:
        return []
    column = pl.Series(list(texts), dtype=pl.String)
    lots = combine(hash_text(column, seed), hash_text(pl.Series([salt] * len(texts))))
    return [texts[at] for at in np.argsort(lots, kind="stable")]
