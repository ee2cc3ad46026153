"""Judge by somebody's published lists of ids instead of mining."""

import json
from pathlib import Path

import polars as pl

from eyechart.audits.rules.study import COUNTEREXAMPLE, EASY, UNCOVERED
from eyechart.errors import DataError, FileFormatError

FILES = {EASY: "easy.json", COUNTEREXAMPLE: "counterexamples.json", UNCOVERED: "hard.json"}
# The columns of a table of rules that a judgement reads.
RULES: dict[str, pl.DataType | type[pl.DataType]] = {
    "rule": pl.Int64,
    "words": pl.List(pl.String),
    "objects": pl.List(pl.String),
    "answer": pl.String,
    "kind": pl.String,
    "support": pl.Int64,
    "confidence": pl.Float64,
    "held_out_support": pl.Int64,
    "held_out_confidence": pl.Float64,
    "state": pl.String,
}


def read_ids(file: Path) -> pl.Series:
    """Read a JSON list of ids, numbers or text."""
    try:
        ids = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileFormatError(f"a JSON list of ids in {file}", str(error), "give the path of such a list") from None
    if not isinstance(ids, list) or not all(isinstance(one, int | str) for one in ids):
        raise FileFormatError(f"a JSON list of ids in {file}", type(ids).__name__, "give a flat list")
    return pl.Series("id", [str(one) for one in ids], dtype=pl.String)


def label_by_ids(judged: pl.DataFrame, file: Path) -> pl.DataFrame:
    """Label the judged examples by a list of counterexamples, and by the lists beside it where there are any.

    An example in none of the lists is easy, as in the authors' release, which lists counterexamples and `hard` ones;
    where a list of easy ones lies beside, it is uncovered.
    """
    beside = {kind: file.with_name(FILES[kind]) for kind in (EASY, UNCOVERED)}
    lists = {kind: place for kind, place in beside.items() if place.is_file() and place != file}
    listed = {kind: read_ids(place) for kind, place in {**lists, COUNTEREXAMPLE: file}.items()}
    rest = UNCOVERED if EASY in listed else EASY
    label = pl.lit(rest)
    for name, ids in listed.items():
        label = pl.when(pl.col("id").is_in(ids.implode())).then(pl.lit(name)).otherwise(label)
    rows = judged.select("id", "cluster", label.alias("kind"))
    if not (rows["kind"] == COUNTEREXAMPLE).any():
        found = f"none of its {len(listed[COUNTEREXAMPLE])} ids among them"
        raise DataError(f"counterexamples of {file} among the judged examples", found, "bring the data of that list")
    return rows


def no_rules_table() -> pl.DataFrame:
    """Make a table of no rules."""
    return pl.DataFrame(schema=RULES)
