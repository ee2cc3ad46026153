"""The examples behind the findings of a report: of each verdict on a model the first ones that speak against it.

They are read only for a page that shows them, and are no part of its values.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.store import Store
from eyechart.reporting.sections import Section
from eyechart.reporting.showcase import find_contrasts

MOST = 50  # examples of a finding
DIGITS = 3

Cells = tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """The examples that a verdict counts: how many, and a table of the first."""

    audit: str
    model: str
    n: int
    head: Cells
    rows: tuple[Cells, ...]


def find_behind(store: Store, sections: Iterable[Section]) -> tuple[Finding, ...]:
    """Read the examples behind the verdicts on models, the worst first."""
    chosen = {(each.audit, each.subject): found for each in sections if (found := _choose(store, each)) is not None}
    ids = pl.concat([table["id"] for table in chosen.values()]).unique().implode() if chosen else None
    if ids is None:
        return ()
    scan = store.examples.scan()
    examples = scan.filter(pl.col("id").is_in(ids)).select("id", "question", "answer").collect()
    contrasts = {audit: (condition, look.label) for audit, condition, look in reversed(find_contrasts(store))}
    findings = []
    for (audit, model), table in chosen.items():
        asked = [(PLAIN_CONDITION, model)]
        if audit in contrasts:
            condition, label = contrasts[audit]
            asked.append((condition, f"{model}, {label}"))
        n = int(table["n"][0]) if table.height else 0
        beside = table.drop("n").join(examples, on="id", how="left", validate="1:1", maintain_order="left")
        findings.append(Finding(audit, model, n, *_lay_out(store, model, beside, asked)))
    return tuple(findings)


def _choose(store: Store, section: Section) -> pl.DataFrame | None:
    """Choose the first examples by the value of the measure that the verdict rests on: id, n and value."""
    file = store.rows(section.audit, section.subject) if section.role == "result" else None
    measure = section.headline
    if file is None or measure is None or section.verdict.state == "not tested":
        return None
    rows = store.table(file.path)
    if measure.column is None:
        return rows.select("id", n=pl.len(), value=pl.lit(None, pl.Float64)).head(MOST)
    value = pl.col(measure.column).cast(pl.Float64)
    counted = rows.select("id", value=value).drop_nulls()
    worst = counted.sort("value", descending=measure.better != "higher", maintain_order=True)
    return worst.select("id", n=pl.len(), value="value").head(MOST)


def _lay_out(
    store: Store, model: str, table: pl.DataFrame, asked: Iterable[tuple[str, str]]
) -> tuple[Cells, tuple[Cells, ...]]:
    """Lay out examples with the answers to them under some conditions, each with the head of its column."""
    head = ["example", "question", "reference"]
    for number, (condition, name) in enumerate(asked):
        given = _answers(store, model, condition)
        if given is not None:
            table = table.join(given.rename({"given": f"given {number}"}), on="id", how="left", maintain_order="left")
            head.append(name)
    columns = [pl.col("id", "question", "answer"), pl.col("^given .*$")]
    if table["value"].null_count() < table.height:
        head.append("value")
        columns.append(pl.col("value").round(DIGITS))
    return tuple(head), tuple(_texts(table.select(columns)))


def _texts(table: pl.DataFrame) -> Iterator[Cells]:
    for row in table.select(pl.all().cast(pl.String).fill_null("")).iter_rows():
        yield tuple(row)


def _answers(store: Store, model: str, condition: str) -> pl.DataFrame | None:
    """Read the first answer of a model to each example; None if it was not asked."""
    file = store.answers_under(model, condition)
    if file is None:
        return None
    first = store.table(file.path).filter(pl.col("draw") == 0)
    return first.select("id", given=pl.coalesce("answer", "status")).unique("id", keep="first")
