"""Everything a run knows about one example: the data, all answers to it, and its row in every study and result."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from eyechart.base.files import scan_table
from eyechart.data.images import PICTURES
from eyechart.data.several import PLACES
from eyechart.data.store import Store
from eyechart.scoring import auto_score, score
from eyechart.viewing import inventory
from eyechart.viewing.pictures import boxes_fit, measure
from eyechart.viewing.scores import RIGHT

_BOXES = ("evidence", PLACES["evidence"])
SHOWN = ("id", "image", "question", "answer", "answers", "choices", *_BOXES, "relevance", "images")

Answers = dict[str, dict[str, tuple[str, bool | None]]]  # by model and condition: the text, and whether it is right
_ANSWERS = {"model": pl.String, "condition": pl.String, "draw": pl.Int64, "answer": pl.String, "status": pl.String}


def find_example(store: Store, name: str) -> dict[str, Any] | None:
    """Find an example by id; None if there is none."""
    rows = store.examples.scan().filter(pl.col("id") == name).collect()
    return rows.row(0, named=True) if rows.height else None


def human_answers(example: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Count the human answers, the most frequent first."""
    return Counter(text for text in example.get("answers") or () if text is not None).most_common()


def further_facts(example: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List the columns that are shown nowhere else on the page."""
    further = {name: value for name, value in example.items() if name not in SHOWN and value not in (None, [], "")}
    return [(name, format_value(value)) for name, value in further.items()]


def answers_to(store: Store, example: Mapping[str, Any], shown: Mapping[str, Mapping[str, Any]]) -> Answers:
    """List the first answers to an example by model and condition, given what is shown under each condition."""
    keys = [(model, condition) for model in store.models() for condition in inventory.conditions_of(store, model)]
    scans = [
        scan_table(store.answer_file(*key))
        .filter(pl.col("id") == example["id"])
        .select(pl.lit(key[0]).alias("model"), pl.lit(key[1]).alias("condition"), "draw", "answer", "status")
        for key in keys
    ]
    tables = [pl.DataFrame(schema=_ANSWERS), *pl.collect_all(scans)]
    first = pl.concat(tables).sort("draw").unique(["model", "condition"], keep="first").sort("model", "condition")
    answers: Answers = {}
    for row, right in zip(first.iter_rows(named=True), are_right(first, example, shown), strict=True):
        text = row["status"] if row["answer"] is None else row["answer"]
        answers.setdefault(row["model"], {})[row["condition"]] = (text, right)
    return answers


def are_right(
    answers: pl.DataFrame, example: Mapping[str, Any], shown: Mapping[str, Mapping[str, Any]]
) -> list[bool | None]:
    """Score answers against the options that were offered with them; None if there is nothing to score."""
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
        None if answer is None or value is None else value >= RIGHT
        for answer, value in zip(answers["answer"], scores, strict=True)
    ]


def shown_under(store: Store, name: str) -> dict[str, dict[str, Any]]:
    """List what is shown of an example, by condition."""
    conditions = inventory.conditions(store)
    scans = [scan_table(store.probe_file(each)).filter(pl.col("id") == name) for each in conditions]
    probes = zip(conditions, pl.collect_all(scans), strict=True)
    return {condition: probe.row(0, named=True) for condition, probe in probes if probe.height}


def findings(store: Store, name: str) -> Iterator[tuple[str, list[str], list[tuple[str, list[str]]]]]:
    """List each audit's rows on an example: its name, its subjects, and each column with a cell per subject."""
    results = store.results()
    audits = sorted({*store.studies(), *(audit for audits in results.values() for audit in audits)})
    for audit in audits:
        subjects = {"the data": store.rows(audit)}
        subjects |= {model: store.rows(audit, model) for model, by_audit in results.items() if audit in by_audit}
        files = {subject: file for subject, file in subjects.items() if file is not None}
        tables = pl.collect_all([file.scan().filter(pl.col("id") == name) for file in files.values()])
        rows = {name: table.row(0, named=True) for name, table in zip(files, tables, strict=True) if table.height}
        if rows:
            columns = dict.fromkeys(key for row in rows.values() for key in row if key not in ("id", "cluster"))
            cells = ((column, [format_value(row.get(column)) for row in rows.values()]) for column in columns)
            yield audit, list(rows), [(column, texts) for column, texts in cells if any(texts)]


def image_facts(store: Store, image: str | None) -> dict[str, Any]:
    """Find the size and the objects of a picture."""
    return {} if image is None else facts_of(store, [image]).get(image, {})


def facts_of(store: Store, images: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Find the sizes and the objects of pictures, by name."""
    rows = store.images.scan().filter(pl.col("image").is_in(images)).collect()
    return {row["image"]: row for row in rows.iter_rows(named=True)}


def size_of(facts: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the width and height of a picture, if both are known."""
    width, height = facts.get("width"), facts.get("height")
    return None if width is None or height is None else (width, height)


def boxed_objects(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the objects of a picture that have a box."""
    return [each for each in facts.get("objects") or () if each["box"] is not None]


def evidence_on(example: Mapping[str, Any], place: int) -> list[dict[str, Any]]:
    """List the evidence that is on the picture at a position; on the first where nothing is said."""
    evidence = example.get("evidence") or []
    places = example.get(PLACES["evidence"]) or [0] * len(evidence)
    return [each for each, own in zip(evidence, places, strict=True) if (own or 0) == place]


def marks(
    store: Store, example: Mapping[str, Any], probe: Mapping[str, Any], pictures: Sequence[tuple[str, str]]
) -> list[dict[str, Any]]:
    """Find the size, objects and evidence of each of several pictures (name, caption) that a probe shows.

    Boxes are left out where nobody knows how they are on the picture as it is shown.
    """
    places = probe.get(PICTURES) or range(len(pictures))
    rows = facts_of(store, [name for name, _ in pictures])
    found = []
    for (name, _), place in zip(pictures, places, strict=False):
        facts = rows.get(name, {})
        evidence, objects, size = evidence_on(example, place), boxed_objects(facts), size_of(facts)
        traits = measure(store, name) if evidence or objects else None
        if traits is not None and (size is None or traits.orientation != 1):
            size = traits.upright
        fits = traits is None or boxes_fit(store, name, traits)
        found.append({"size": size, "evidence": evidence if fits else [], "objects": objects if fits else []})
    return found


def format_value(value: object) -> str:
    """Format a value for people to read."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {format_value(each)}" for name, each in value.items() if each is not None)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(map(format_value, value))
    return str(value)
