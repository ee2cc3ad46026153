"""What to ask people: a seeded sample of examples, each shown in full or partly hidden.

Each person sees each example once, in an individual order. Person k sees example i in variant (k + i) mod 4, so any
four consecutive people see every example in all four variants.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from eyechart.audits import known_audits
from eyechart.base.errors import DataError, SettingError
from eyechart.base.hashing import combine, hash_text
from eyechart.data.dataset import Dataset
from eyechart.data.furniture import furniture_of
from eyechart.data.probes import PLAIN_CONDITION, Prober, Removal, fill
from eyechart.data.store import Store


class Variant(NamedTuple):
    """The parts of an example that are shown, and the condition they correspond to."""

    name: str
    hidden: tuple[str, ...]
    condition: str

    def probes(self, run: Store, data: Dataset) -> pl.DataFrame:
        """Take the run's probes, so that answers to them can be judged, or build equal ones if it has none."""
        if self.condition in run.conditions():
            return run.probes(self.condition).join(data.examples.select("id"), on="id", how="semi")
        keys = Removal(self.hidden, "none").keys(data.examples["id"])
        return Prober(data).complete(keys, self.condition)


@dataclass(frozen=True)
class Questionnaire:
    """The sampled examples in their order, the variants, and what is shown of each example under each condition."""

    run: Store
    data: Dataset
    items: tuple[str, ...]
    variants: tuple[Variant, ...]
    shown: dict[str, dict[str, dict[str, Any]]]  # by condition and id, with the content
    seed: int

    def variant(self, person: int, item: str) -> Variant:
        """Choose the variant of an example that a person sees."""
        return self.variants[(person + self.items.index(item)) % len(self.variants)]

    def order(self, person: str) -> list[str]:
        """Shuffle the examples for a person."""
        return _shuffled(self.items, self.seed, f"order {person}")

    def pictures(self, condition: str, item: str) -> list[str]:
        """Name the pictures that are shown of an example, in order."""
        image = self.shown[condition][item].get("image")
        return [] if image is None else self.data.images.list_pictures(pl.Series([image])).to_list()[0]

    def options(self, person: str, item: str, condition: str) -> list[str]:
        """Shuffle the options of an example for a person, so that their order does not reveal the right one."""
        options = self.shown[condition][item].get("choices") or ()
        return _shuffled(tuple(options), self.seed, f"options {person} {item}")


def plan_questions(run: Store, items: int, seed: int = 0, options: str = "") -> Questionnaire:
    """Choose examples among those asked of models, and complete what is shown of them.

    `options` names a set of options that an audit offers; empty, those of the data.
    """
    offered = _find_conditions(run, options)
    data = _sampled(run, items, seed)
    variants = tuple(_variants(data, offered))
    probes = {variant.condition: variant.probes(run, data) for variant in variants}
    shown = {
        name: {row["id"]: row for row in fill(table, data).iter_rows(named=True)} for name, table in probes.items()
    }
    everywhere = set.intersection(*(set(by_id) for by_id in shown.values()))
    chosen = tuple(name for name in data.examples["id"] if name in everywhere)
    return Questionnaire(run, data, chosen, variants, shown, seed)


def _sampled(run: Store, items: int, seed: int) -> Dataset:
    probed = run.probes(PLAIN_CONDITION)["id"] if PLAIN_CONDITION in run.conditions() else run.data.examples["id"]
    known = run.data.take(pl.col("id").is_in(probed.implode()) & pl.col("answer").is_not_null())
    if not known.examples.height:
        raise DataError("examples to ask people about", "none with an answer", "probe the run first")
    return known.sample(items, seed)


def _find_conditions(run: Store, options: str) -> dict[tuple[str, ...], str]:
    """Find the conditions of a run that offer a set of options, by what they hide."""
    known = set(run.conditions())
    by_audit = {kind.name: furniture_of(kind).hidings for kind in known_audits()}
    probed = [each for hidings in by_audit.values() for each in hidings if each.condition in known]
    found = {each.hidden: each.condition for each in probed if (each.options == options if options else each.is_own)}
    if options and () not in found:
        audits = " or ".join(f"`{name}`" for name, hidings in by_audit.items() if hidings)
        names = ", ".join(dict.fromkeys(each.options for each in probed)) or "none"
        advice = f"study {audits} and probe the run, or leave --options out"
        raise SettingError(f"probes with the options {options!r}", names, advice)
    return found


def _variants(data: Dataset, offered: dict[tuple[str, ...], str]) -> list[Variant]:
    """List the variants, under the conditions of the run that hide the same parts where there are any."""
    has_options = () in offered or _all_have_options(data)
    hidings: dict[str, tuple[str, ...]] = {
        "everything": (),
        "the question" + (" and the options" if has_options else ""): ("image",),
    }
    if has_options:
        hidings |= {"the picture and the options": ("question",), "the options": ("image", "question")}
    variants = []
    for name, hidden in hidings.items():
        plain = Removal(hidden, "none").name if hidden else PLAIN_CONDITION
        variants.append(Variant(name, hidden, offered.get(hidden, plain)))
    return variants


def _all_have_options(data: Dataset) -> bool:
    if "choices" not in data.examples.columns:
        return False
    return bool((data.examples["choices"].list.len().fill_null(0) > 0).all())


def _shuffled(texts: tuple[str, ...], seed: int, salt: str) -> list[str]:
    if not texts:
        return []
    column = pl.Series(list(texts), dtype=pl.String)
    hashes = combine(hash_text(column, seed), hash_text(pl.Series([salt] * len(texts))))
    return [texts[index] for index in np.argsort(hashes, kind="stable")]
