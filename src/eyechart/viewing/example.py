"""All that a run knows of one example: the data, every answer to it, and a row of every study and result."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import polars as pl

from eyechart.scoring import auto_score, score
from eyechart.store import Store
from eyechart.viewing import inventory
from eyechart.viewing.scores import RIGHT

TOLD = ("id", "image", "question", "answer", "answers", "choices", "evidence", "relevance", "images")


class Given(NamedTuple):
    """An answer, and whether it is right; None where nobody can say."""

    text: str
    right: bool | None


Answers = dict[str, dict[str, Given]]  # by model and condition
_ANSWERS = {"model": pl.String, "condition": pl.String, "draw": pl.Int64, "answer": pl.String, "status": pl.String}


class Findings(NamedTuple):
    """What one audit says of an example: a row for each column, a cell for each subject."""

    audit: str
    subjects: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def find_example(store: Store, name: str) -> dict[str, Any] | None:
    """Fetch an example."""
    found = store.examples.scan().filter(pl.col("id") == name).collect()
    return found.row(0, named=True) if found.height else None


def people_said(example: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Count the answers of the people, the most frequent first."""
    return Counter(text for text in example.get("answers") or () if text is not None).most_common()


def further_facts(example: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List the columns that have no place of their own on the page."""
    return [(name, say(value)) for name, value in example.items() if name not in TOLD and value not in (None, [], "")]


def answers_to(store: Store, example: Mapping[str, Any], shown: Mapping[str, Mapping[str, Any]]) -> Answers:
    """List every first answer to an example by model and condition, given what is shown under each condition."""
    keys = [(model, condition) for model in store.models() for condition in inventory.conditions_of(store, model)]
    scans = [
        pl.scan_parquet(store.answer_file(*key), glob=False)
        .filter(pl.col("id") == example["id"])
        .select(pl.lit(key[0]).alias("model"), pl.lit(key[1]).alias("condition"), "draw", "answer", "status")
        for key in keys
    ]
    tables = [pl.DataFrame(schema=_ANSWERS), *pl.collect_all(scans)]
    first = pl.concat(tables).sort("draw").unique(["model", "condition"], keep="first").sort("model", "condition")
    found: Answers = {}
    for row, right in zip(first.iter_rows(named=True), are_right(first, example, shown), strict=True):
        said = row["status"] if row["answer"] is None else row["answer"]
        found.setdefault(row["model"], {})[row["condition"]] = Given(said, right)
    return found


def are_right(
    answers: pl.DataFrame, example: Mapping[str, Any], shown: Mapping[str, Mapping[str, Any]]
) -> list[bool | None]:
    """Score answers against the options that were offered with them."""
    if not answers.height:
        return []
    offered = [(shown.get(name) or {}).get("choices") or example.get("choices") for name in answers["condition"]]
    columns = {
        "answer": pl.Series([example["answer"]] * answers.height, dtype=pl.String),
        "answers": pl.Series([example.get("answers")] * answers.height, dtype=pl.List(pl.String)),
        "choices": pl.Series(offered, dtype=pl.List(pl.String)),
        "given": answers["answer"],
    }
    table = pl.DataFrame(columns)
    chosen = pl.when(table["choices"].list.len() > 0).then(score(table, "choice"))
    scores = pl.select(chosen.otherwise(score(table, auto_score(table.drop("choices"))))).to_series()
    return [
        None if given is None or found is None else found >= RIGHT
        for given, found in zip(answers["answer"], scores, strict=True)
    ]


def shown_under(store: Store, name: str) -> dict[str, dict[str, Any]]:
    """List what is shown of an example, by condition."""
    conditions = inventory.conditions(store)
    scans = [pl.scan_parquet(store.probe_file(each), glob=False).filter(pl.col("id") == name) for each in conditions]
    found = zip(conditions, pl.collect_all(scans), strict=True)
    return {condition: probe.row(0, named=True) for condition, probe in found if probe.height}


def findings(store: Store, name: str) -> Iterator[Findings]:
    """Say what every study and every result has on an example."""
    results = store.results()
    audits = sorted({*store.studies(), *(audit for audits in results.values() for audit in audits)})
    for audit in audits:
        subjects = {"the data": store.rows(audit)}
        subjects |= {model: store.rows(audit, model) for model, found in results.items() if audit in found}
        files = {subject: file for subject, file in subjects.items() if file is not None}
        tables = pl.collect_all([file.scan().filter(pl.col("id") == name) for file in files.values()])
        rows = {who: table.row(0, named=True) for who, table in zip(files, tables, strict=True) if table.height}
        if rows:
            yield _lay_out(audit, rows)


def _lay_out(audit: str, rows: Mapping[str, Mapping[str, Any]]) -> Findings:
    columns = dict.fromkeys(column for row in rows.values() for column in row if column not in ("id", "cluster"))
    said = ((column, tuple(say(row.get(column)) for row in rows.values())) for column in columns)
    return Findings(audit, tuple(rows), tuple((column, cells) for column, cells in said if any(cells)))


def sizes_of(store: Store, image: str | None) -> dict[str, Any]:
    """Fetch the size and the objects of a picture."""
    if image is None:
        return {}
    found = store.images.scan().filter(pl.col("image") == image).collect()
    return found.row(0, named=True) if found.height else {}


def say(value: object) -> str:
    """Write a value as people read it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {say(each)}" for name, each in value.items() if each is not None)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(map(say, value))
    return str(value)
