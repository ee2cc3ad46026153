"""The scores by group, worst first, and the layout of the paper's Table 1."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import polars as pl

from eyechart.audits.keyed import in_order, whole_keys
from eyechart.audits.perception.bias import feelings, first_words
from eyechart.audits.perception.measures import Ruler
from eyechart.dataset import NOT_JUDGED, Dataset
from eyechart.engines.local import Local
from eyechart.errors import SettingError
from eyechart.protocols import Engine
from eyechart.result import Measure, measures_table
from eyechart.statistics import adjust

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


def with_groups(rows: pl.DataFrame, data: Dataset, by: Sequence[str], sentiment: str | None) -> pl.DataFrame:
    """Put the groups that are not columns of the data beside the rows: first words, and the sentiment of a text."""
    judged = data.take(pl.col("id").is_in(rows["id"].implode()))
    for column in by:
        if column in FIRST_WORDS and column not in data.examples.columns:
            words = judged.examples.select("id", first_words(FIRST_WORDS[column]).alias(column))
            rows = rows.join(words, on="id", how="left", validate="1:1")
        elif column == SENTIMENT and sentiment is not None:
            rows = rows.join(feelings(sentiment, data, judged), on="id", how="left", validate="1:1")
    return rows


class Found(NamedTuple):
    """The measures of all examples, and those of the groups."""

    whole: list[Measure]
    groups: list[Measure]


@dataclass(frozen=True)
class MeasureGroups:
    """Measure every group of a batch."""

    ruler: Ruler

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Measure one after the other, and name the group with each number."""
        return measures_table(
            replace(each, by=by, group=None if by is None else str(group))
            for (by, group), part in batch.group_by(KEY, maintain_order=True)
            for each in self.ruler.measure(part)
        )


def measure_all(rows: pl.DataFrame, data: Dataset, ruler: Ruler, by: Sequence[str], engine: Engine) -> Found:
    """Measure all examples and every group of every column; q is corrected for the number of groups."""
    if rows.is_empty():
        return Found([], [])
    tables = _tables(rows, data, by)
    local = isinstance(engine, Local)
    batches = tables if local else (batch for table in tables for batch in whole_keys(table, KEY, BLOCK))
    found = in_order(MeasureGroups(ruler), batches, engine)
    measures = [Measure(**row) for row in found.iter_rows(named=True)]
    groups = [each for each in measures if each.by is not None]
    return Found([each for each in measures if each.by is None], _corrected(groups))


def _tables(rows: pl.DataFrame, data: Dataset, by: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Make the table of all examples, the heaviest first, and one for each column, without the smallest groups."""
    everything = pl.lit(None, pl.String)
    yield rows.with_columns(by=everything, group=everything)
    for column in by:
        named = _grouped(rows, data, column).filter(pl.len().over("group") >= LEAST)
        yield named.sort("group", "id").with_columns(by=pl.lit(column))


def _grouped(rows: pl.DataFrame, data: Dataset, column: str) -> pl.DataFrame:
    if column in rows.columns:
        return rows.drop_nulls(column).with_columns(pl.col(column).alias("group"))
    groups = data.scan(column).collect()
    if groups.schema[column].is_nested():
        found = f"{column!r} of type {groups.schema[column]}"
        raise SettingError("a plain column to group by", found, "name a column of text or numbers")
    named = groups.select("id", pl.col(column).cast(pl.String).fill_null(NONE).alias("group"))
    # Of a column that another study lends, only the examples that both judged count.
    named = named.filter(pl.col("group") != NOT_JUDGED)
    return rows.join(named, on="id", how="inner", validate="1:1", maintain_order="left")


def _corrected(measures: list[Measure]) -> list[Measure]:
    """Adjust the p-values of each score over the groups of one column."""
    families: dict[tuple[str | None, ...], dict[int, float]] = {}
    for at, each in enumerate(measures):
        if each.p is not None:
            families.setdefault((each.name, each.condition, each.by), {})[at] = each.p
    corrected = list(measures)
    for p in families.values():
        for at, q in zip(p, adjust(list(p.values())).tolist(), strict=True):
            corrected[at] = replace(measures[at], q=q)
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
    """Lay the scores out as Table 1 does, in points: a row a group, worst first, P with the ends of its interval."""
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
