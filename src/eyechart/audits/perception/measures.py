"""The numbers of a set of examples: all of them, or a group."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from eyechart.audits.measuring import Said, measured
from eyechart.audits.perception.drawn import changed, perceived, without
from eyechart.audits.perception.removals import PERMUTE, TEXTS, Removal
from eyechart.probes import OWN
from eyechart.result import Better, Measure
from eyechart.statistics import Estimate, Ratio, mean, paired_difference, ratio

TEXT_ONLY = "text only"
WHOLE: dict[str, Better] = {
    "accuracy": "higher",
    "majority": "neither",  # of the data
    TEXT_ONLY: "neither",  # of another model
}


@dataclass(frozen=True)
class Ruler:
    """How numbers are taken: the removals, the score, the form of Z and what is said of every number."""

    removals: tuple[Removal, ...]
    how: str
    form: str
    donors: str
    draws: int

    def measure(self, rows: pl.DataFrame) -> list[Measure]:
        """Measure a set of rows."""
        found = list(self._whole(rows))
        for removal in self.removals:
            part = rows.drop_nulls(["accuracy", without(removal.name)])
            if part.height:
                found += [self._noted(each, removal) for each in self._removal(part, removal)]
        return [*found, *self._interactions(rows)]

    def _whole(self, rows: pl.DataFrame) -> Iterator[Measure]:
        for name, better in WHOLE.items():
            known = rows.drop_nulls(name) if name in rows.columns else rows.clear()
            if known.height:
                found = mean(known[name], known["cluster"])
                yield measured(name, found, of=name, condition=OWN, score=self.how, better=better)

    def _removal(self, rows: pl.DataFrame, removal: Removal) -> Iterator[Measure]:
        name, key = removal.name, Said(condition=removal.name, score=self.how, better="higher")
        own, left, cluster = rows["accuracy"], rows[without(name)], rows["cluster"]
        # What is right without a modality may be known, guessed or leaked: neither way is better.
        blind = measured("accuracy without", mean(left, cluster), of=without(name), **key)
        yield replace(blind, better="neither")
        yield measured("perception", paired_difference(own, left, cluster), of=perceived(name), **key)  # Eq. 1, 2
        moved = rows.drop_nulls(changed(name))
        if moved.height:
            yield measured("changed", mean(moved[changed(name)], moved["cluster"]), of=changed(name), **key)
        known = rows.drop_nulls("majority")
        if known.height:
            z = 1 - known["majority"] if self.form == "complement" else known["majority"]  # Eq. 4
            yield self._divided("perception / task", removal, known, z)
        relative = self._divided("perception / model", removal, rows, own)  # Eq. 5
        yield relative
        if not set(removal.modalities) & set(TEXTS):
            yield _mirage(relative)
            yield from self._leakage(rows, removal)

    def _divided(self, name: str, removal: Removal, rows: pl.DataFrame, z: pl.Series) -> Measure:
        """Divide the mean score by the mean of Z; where no score varies, its own interval is divided."""
        lost, cluster = rows[perceived(removal.name)], rows["cluster"]
        found, divisor = ratio(lost, z, cluster), float(z.to_numpy().mean())
        if found.method == "none" and divisor:
            found = _scaled(mean(lost, cluster, kind="differences"), divisor)
        note = f"95 % interval: {found.method}" + ("; unstable: the divisor is near 0" if found.unstable else "")
        measure = Measure(name, found.value, found.low, found.high, found.n, found.clusters)
        return replace(measure, condition=removal.name, score=self.how, better="higher", note=note)

    def _leakage(self, rows: pl.DataFrame, removal: Removal) -> Iterator[Measure]:
        """Compare the score without the picture with that of a text-only model (MMStar)."""
        known = rows.drop_nulls(TEXT_ONLY) if TEXT_ONLY in rows.columns else rows.clear()
        if known.height:
            key = Said(condition=removal.name, score=self.how, better="lower")
            found = paired_difference(known[without(removal.name)], known[TEXT_ONLY], known["cluster"])
            whole = measured("leakage, unclipped", found, of=None, **key)
            yield whole
            clipped = {name: max(0.0, getattr(whole, name)) for name in ("value", "low", "high")}
            yield replace(whole, name="leakage", p=None, **clipped)

    def _interactions(self, rows: pl.DataFrame) -> Iterator[Measure]:
        for removal in self.removals:
            column = interaction(removal)
            known = rows.drop_nulls(column) if column in rows.columns else rows.clear()
            if known.height:
                zero = pl.zeros(known.height, eager=True)
                found = paired_difference(known[column], zero, known["cluster"])
                key = Said(condition=removal.name, score=self.how, better="neither")  # how it works, not how well
                whole = measured("interaction", found, of=column, **key)
                yield self._noted(whole, removal)

    def _noted(self, measure: Measure, removal: Removal) -> Measure:
        """Record with a number how it came about."""
        if removal.kind != PERMUTE:
            return measure
        drawn = f"donors: {self.donors}, draws: {self.draws}; the donor pool is held fixed"
        return replace(measure, note=f"{measure.note}; {drawn}")


def _mirage(relative: Measure) -> Measure:
    """Say what is left instead of what is lost: Acc without / Acc = 1 - P / Acc."""
    value, low, high = (1 - end for end in (relative.value, relative.high, relative.low))
    return replace(relative, name="mirage", value=value, low=low, high=high, better="lower")


def _scaled(found: Estimate, divisor: float) -> Ratio:
    """Divide a mean without spread, and its interval, by a number."""
    low, high = sorted((found.low / divisor, found.high / divisor))
    value = found.value / divisor
    return Ratio(value, low, high, found.n, found.clusters, f"{found.method}, divided", found.se, unstable=False)


def interaction(removal: Removal) -> str:
    """Name the column of the interactions."""
    return f"interaction {removal.name}"


def with_scores(rows: pl.DataFrame, removals: Sequence[Removal]) -> pl.DataFrame:
    """Subtract: the sample perceptual scores, and for pairs P(a) + P(b) - P(a+b), what neither does alone."""
    names = [each.name for each in removals]
    rows = rows.with_columns((pl.col("accuracy") - pl.col(without(name))).alias(perceived(name)) for name in names)
    for removal in removals:
        parts = [removal._replace(modalities=(each,)).name for each in removal.modalities]
        if len(parts) == 2 and set(parts) <= set(names):
            alone = pl.col(perceived(parts[0])) + pl.col(perceived(parts[1]))
            rows = rows.with_columns((alone - pl.col(perceived(removal.name))).alias(interaction(removal)))
    return rows
