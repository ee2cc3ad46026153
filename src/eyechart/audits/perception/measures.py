"""The measures of all examples and of every group, worst first, and the layout of the paper's Table 1."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import polars as pl

from eyechart.audits.batches import map_in_order, split_by_key
from eyechart.audits.measures import MeasureFields, make_measure
from eyechart.audits.perception.bias import feelings, first_words
from eyechart.audits.perception.draws import changed, changed_another, drawn, draws_of, perceived, times, without
from eyechart.audits.perception.settings import ESTIMAND
from eyechart.base.errors import SettingError
from eyechart.data.dataset import NOT_JUDGED, Dataset
from eyechart.data.probes import PERMUTE, PLAIN_CONDITION, TEXTS, Removal
from eyechart.data.protocols import Engine
from eyechart.data.result import Better, Measure, measures_table
from eyechart.data.several import CHOICES
from eyechart.engines import Local
from eyechart.statistics import Estimate, Ratio, adjust, mean, paired_difference, ratio

TEXT_ONLY = "text only"
WHOLE: dict[str, Better] = {
    "accuracy": "higher",
    "majority": "neither",  # of the data
    TEXT_ONLY: "neither",  # of another model
}
CHANGED = "changed"
CHANGED_ANOTHER = "changed, another answer"  # among the draws for which the same question has another answer
FIRST_WORDS = {"first_word": 1, "first_two_words": 2}
SENTIMENT = "sentiment"
LEAST = 5  # examples of a group that is measured
NONE = "(none)"
KEY = ("by", "group")  # null and null are all examples
BLOCK = 4096  # rows of a batch; each is drawn some thousand times
NAMES = {
    "accuracy without": "without",
    "perception": "P",
    "perception / task": "P/Z task",
    "perception / model": "P/Z model",
}
COLUMNS = ("without", "P", "P low", "P high", "P/Z task", "P/Z model")


@dataclass(frozen=True)
class Measurer:
    """Measure a set of examples, given the removals, the score, whose Z, and the note on every number."""

    removals: tuple[Removal, ...]
    how: str
    published: str
    donors: str
    draws: int

    def measure(self, rows: pl.DataFrame) -> list[Measure]:
        """Measure a set of rows."""
        measures = list(self._whole(rows))
        for removal in self.removals:
            part = rows.drop_nulls(["accuracy", without(removal.name)])
            if part.height:
                measures += [self._noted(each, removal) for each in self._removal(part, removal)]
        return [*measures, *self._interactions(rows)]

    def _whole(self, rows: pl.DataFrame) -> Iterator[Measure]:
        for name, better in WHOLE.items():
            present = rows.drop_nulls(name) if name in rows.columns else rows.clear()
            if present.height:
                yield make_measure(
                    name,
                    mean(present[name], present["cluster"]),
                    of=name,
                    condition=PLAIN_CONDITION,
                    score=self.how,
                    better=better,
                )

    def _removal(self, rows: pl.DataFrame, removal: Removal) -> Iterator[Measure]:
        name, key = removal.name, MeasureFields(condition=removal.name, score=self.how, better="higher")
        own, blind_scores, cluster = rows["accuracy"], rows[without(name)], rows["cluster"]
        # What is right without a modality may be known, guessed or leaked: neither way is better.
        blind = mean(blind_scores, cluster, draws=draws_of(rows, without(name)))
        yield replace(make_measure("accuracy without", blind, of=without(name), **key), better="neither")
        lost = paired_difference(own, blind_scores, cluster, draws=draws_of(rows, perceived(name)))
        yield make_measure("perception", lost, of=perceived(name), **key)  # Eq. 1, 2
        for measured, column in ((CHANGED, changed(name)), (CHANGED_ANOTHER, changed_another(name))):
            moved = rows.drop_nulls(column) if column in rows.columns else rows.clear()
            if moved.height:
                share = mean(moved[column], moved["cluster"], draws=draws_of(moved, column))
                yield make_measure(measured, share, of=column, **key)
        with_majority = rows.drop_nulls("majority")
        if with_majority.height:
            score = with_majority["majority"]
            z = score if self.published == "tables-6-7" else 1 - score  # Eq. 4
            yield self._divided("perception / task", removal, with_majority, z)
        relative = self._divided("perception / model", removal, rows, own)  # Eq. 5
        yield relative
        if removal.kind not in CHOICES and not set(removal.modalities) & set(TEXTS):
            yield _mirage(relative)
            yield from self._leakage(rows, removal)

    def _divided(self, name: str, removal: Removal, rows: pl.DataFrame, z: pl.Series) -> Measure:
        """Divide the mean score by the mean of Z; where no score varies, divide its own interval."""
        losses, cluster = rows[perceived(removal.name)], rows["cluster"]
        draws = draws_of(rows, perceived(removal.name))
        share, divisor = ratio(losses, z, cluster, taken=draws), float(z.to_numpy().mean())
        if share.method == "none" and divisor:
            share = _scaled(mean(losses, cluster, kind="differences", draws=draws), divisor)
        note = f"95 % interval: {share.method}" + ("; unstable: the divisor is near 0" if share.unstable else "")
        measure = Measure(name, share.value, share.low, share.high, share.n, share.clusters)
        return replace(measure, condition=removal.name, score=self.how, better="higher", note=note)

    def _leakage(self, rows: pl.DataFrame, removal: Removal) -> Iterator[Measure]:
        """Compare the score without the picture with that of a text-only model (MMStar)."""
        both = rows.drop_nulls(TEXT_ONLY) if TEXT_ONLY in rows.columns else rows.clear()
        if both.height:
            key, left = MeasureFields(condition=removal.name, score=self.how, better="lower"), without(removal.name)
            leakage = paired_difference(both[left], both[TEXT_ONLY], both["cluster"], draws=draws_of(both, left))
            measure = make_measure("leakage, unclipped", leakage, of=None, **key)
            yield measure
            clipped = {name: max(0.0, getattr(measure, name)) for name in ("value", "low", "high")}
            yield replace(measure, name="leakage", p=None, **clipped)

    def _interactions(self, rows: pl.DataFrame) -> Iterator[Measure]:
        for removal in self.removals:
            column = interaction(removal)
            present = rows.drop_nulls(column) if column in rows.columns else rows.clear()
            if present.height:
                zero, draws = pl.zeros(present.height, eager=True), draws_of(present, column)
                difference = paired_difference(present[column], zero, present["cluster"], draws=draws)
                key = MeasureFields(
                    condition=removal.name, score=self.how, better="neither"
                )  # how it works, not how well
                yield self._noted(make_measure("interaction", difference, of=column, **key), removal)

    def _noted(self, measure: Measure, removal: Removal) -> Measure:
        """Add a note on how the measure was computed."""
        if removal.kind != PERMUTE:
            return measure
        donors = f"donors: {self.donors}, draws: {self.draws}; {ESTIMAND}"
        return replace(measure, note=f"{measure.note}; {donors}")


def _mirage(relative: Measure) -> Measure:
    """Measure what remains instead of what is lost: Acc without / Acc = 1 - P / Acc."""
    value, low, high = (1 - end for end in (relative.value, relative.high, relative.low))
    return replace(relative, name="mirage", value=value, low=low, high=high, better="lower")


def _scaled(estimate: Estimate, divisor: float) -> Ratio:
    """Divide a mean without spread, and its interval, by a number."""
    low, high = sorted((estimate.low / divisor, estimate.high / divisor))
    value = estimate.value / divisor
    return Ratio(
        value, low, high, estimate.n, estimate.clusters, f"{estimate.method}, divided", estimate.se, unstable=False
    )


def interaction(removal: Removal) -> str:
    """Name the column of the interactions."""
    return f"interaction {removal.name}"


def with_scores(rows: pl.DataFrame, removals: Sequence[Removal]) -> pl.DataFrame:
    """Add the sample perceptual scores, and for pairs P(a) + P(b) - P(a+b), what neither does alone."""
    names = [each.name for each in removals]
    rows = rows.with_columns((pl.col("accuracy") - pl.col(without(name))).alias(perceived(name)) for name in names)
    for removal in removals:
        parts = [removal._replace(modalities=(each,)).name for each in removal.modalities]
        if len(parts) == 2 and set(parts) <= set(names):
            alone = pl.col(perceived(parts[0])) + pl.col(perceived(parts[1]))
            rows = rows.with_columns((alone - pl.col(perceived(removal.name))).alias(interaction(removal)))
            if drawn(perceived(removal.name)) in rows.columns:
                signed = [(parts[0], 1), (parts[1], 1), (removal.name, -1)]
                terms = [times(perceived(name), sign, kind) for kind, (name, sign) in enumerate(signed)]
                rows = rows.with_columns(pl.concat_list(terms).alias(drawn(interaction(removal))))
    return rows


def with_groups(rows: pl.DataFrame, data: Dataset, by: Sequence[str], sentiment: str | None) -> pl.DataFrame:
    """Add the groups that are not columns of the data: first words, and the sentiment of a text."""
    judged = data.take(pl.col("id").is_in(rows["id"].implode()))
    for column in by:
        if column in FIRST_WORDS and column not in data.examples.columns:
            words = judged.examples.select("id", first_words(FIRST_WORDS[column]).alias(column))
            rows = rows.join(words, on="id", how="left", validate="1:1")
        elif column == SENTIMENT and sentiment is not None:
            rows = rows.join(feelings(sentiment, data, judged), on="id", how="left", validate="1:1")
    return rows


class PerceptionMeasures(NamedTuple):
    """The measures of all examples, and those of the groups."""

    whole: list[Measure]
    groups: list[Measure]


@dataclass(frozen=True)
class MeasureGroups:
    """Measure every group of a batch."""

    measurer: Measurer

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Measure the groups one by one; each measure names its group."""
        return measures_table(
            replace(each, by=by, group=None if by is None else str(group))
            for (by, group), part in batch.group_by(KEY, maintain_order=True)
            for each in self.measurer.measure(part)
        )


def measure_all(
    rows: pl.DataFrame, data: Dataset, measurer: Measurer, by: Sequence[str], engine: Engine
) -> PerceptionMeasures:
    """Measure all examples and every group of every column; q is corrected for the number of groups."""
    if rows.is_empty():
        return PerceptionMeasures([], [])
    tables = _tables(rows, data, by)
    local = isinstance(engine, Local)
    batches = tables if local else (batch for table in tables for batch in split_by_key(table, KEY, BLOCK))
    table = map_in_order(MeasureGroups(measurer), batches, engine)
    measures = [Measure(**row) for row in table.iter_rows(named=True)]
    groups = [each for each in measures if each.by is not None]
    return PerceptionMeasures([each for each in measures if each.by is None], _corrected(groups))


def _tables(rows: pl.DataFrame, data: Dataset, by: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yield the table of all examples, the heaviest, then one for each column, without the smallest groups."""
    everything = pl.lit(None, pl.String)
    yield rows.with_columns(by=everything, group=everything)
    for column in by:
        grouped = _grouped(rows, data, column).filter(pl.len().over("group") >= LEAST)
        yield grouped.sort("group", "id").with_columns(by=pl.lit(column))


def _grouped(rows: pl.DataFrame, data: Dataset, column: str) -> pl.DataFrame:
    if column in rows.columns:
        return rows.drop_nulls(column).with_columns(pl.col(column).alias("group"))
    groups = data.scan(column).collect()
    if groups.schema[column].is_nested():
        found = f"{column!r} of type {groups.schema[column]}"
        raise SettingError("a plain column to group by", found, "name a column of text or numbers")
    grouped = groups.select("id", pl.col(column).cast(pl.String).fill_null(NONE).alias("group"))
    # In a column from another study, only the examples that both judged count.
    grouped = grouped.filter(pl.col("group") != NOT_JUDGED)
    return rows.join(grouped, on="id", how="inner", validate="1:1", maintain_order="left")


def _corrected(measures: list[Measure]) -> list[Measure]:
    """Adjust the p-values of each score over the groups of one column."""
    families: dict[tuple[str | None, ...], dict[int, float]] = {}
    for index, each in enumerate(measures):
        if each.p is not None:
            families.setdefault((each.name, each.condition, each.by), {})[index] = each.p
    corrected = list(measures)
    for p in families.values():
        for index, q in zip(p, adjust(list(p.values())).tolist(), strict=True):
            corrected[index] = replace(measures[index], q=q)
    return corrected


def groups_table(measures: Sequence[Measure]) -> pl.DataFrame:
    """List the groups by removal, the least perceived first."""
    rows = [
        (each.by, each.group, each.condition, each.value, each.low, each.high, each.n, each.q)
        for each in measures
        if each.name == "perception" and each.by is not None
    ]
    names = ("by", "group", "removed", "perception", "low", "high", "n", "q")
    kinds = (pl.String, pl.String, pl.String, pl.Float64, pl.Float64, pl.Float64, pl.Int64, pl.Float64)
    table = pl.DataFrame(rows, schema=dict(zip(names, kinds, strict=True)), orient="row")
    return table.sort("by", "removed", "perception", "group")


def paper_table(measures: Sequence[Measure], removals: Sequence[str]) -> pl.DataFrame:
    """Arrange the scores as in Table 1, in points: one row per group, worst first, P with the ends of its interval."""
    lines: dict[tuple[str | None, str], dict[str, object]] = {}
    for each in measures:
        line = lines.setdefault((each.by, each.group or "All"), {"by": each.by, "group": each.group or "All"})
        if each.name in ("accuracy", "majority"):
            line |= {each.name: 100 * each.value, "n": each.n}
        elif each.name in NAMES and each.condition in removals:
            name = NAMES[each.name]
            ends = {"": each.value, " low": each.low, " high": each.high}
            line |= {f"{name}{end} {each.condition}": 100 * value for end, value in ends.items()}
    columns = [f"{name} {removal}" for removal in removals for name in COLUMNS]
    numbers = dict.fromkeys(["accuracy", *columns, "majority"], pl.Float64)
    schema = {"by": pl.String, "group": pl.String, "n": pl.Int64} | numbers
    table = pl.DataFrame([{name: line.get(name) for name in schema} for line in lines.values()], schema=schema)
    return table.sort("by", f"P {removals[0]}", "group", nulls_last=False)
