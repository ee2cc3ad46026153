"""Measures laid out by set, as Table 2 and Figure 6 of the paper read."""

import polars as pl

from eyechart.audits.splits.names import FAMILY, HEAD, TAIL
from eyechart.result import Measure

COMPARED = {"drop": "drop", "gap": "gap", "matched": "matched gap"}  # columns: measures
FIELDS = (
    *(name for side in (HEAD, TAIL) for name in (f"n_{side}", side, f"{side}_low", f"{side}_high")),
    *(f"{column}{end}" for column in COMPARED for end in ("", "_low", "_high", "_q")),
)
SHARES = tuple(name for name in FIELDS if not name.startswith("n_") and not name.endswith("_q"))


def sets_table(measures: list[Measure], concepts: pl.DataFrame) -> pl.DataFrame:
    """List for each concept its accuracies, its drop and its gaps, beside the imbalance of the data."""
    rows = [_row(measures, concept) for concept in concepts["concept"]]
    schema = {"concept": pl.String} | {name: pl.Int64 if name.startswith("n_") else pl.Float64 for name in FIELDS}
    table = pl.DataFrame(rows, schema=schema)
    family = pl.col("concept").replace_strict(FAMILY, default="own", return_dtype=pl.String).alias("family")
    beside = concepts.select("concept", "imbalance")
    return table.join(beside, on="concept", validate="1:1", maintain_order="left").select(
        "concept", family, "imbalance", *FIELDS
    )


def _row(measures: list[Measure], concept: str) -> dict[str, object]:
    sides = {one.group: one for one in measures if one.by == concept}
    named = {one.name: one for one in measures if one.by is None}
    row: dict[str, object] = {"concept": concept}
    for side in (HEAD, TAIL):
        if side in sides:
            own = sides[side]
            row |= {f"n_{side}": own.n, side: own.value, f"{side}_low": own.low, f"{side}_high": own.high}
    for column, measure in COMPARED.items():
        one = named.get(f"{measure}, {concept}")
        if one is not None:
            row |= {column: one.value, f"{column}_low": one.low, f"{column}_high": one.high, f"{column}_q": one.q}
    return row


def sides_table(measures: list[Measure], concepts: tuple[str, ...]) -> pl.DataFrame:
    """List accuracy on head and tail of each concept under each other."""
    rows = [(one.by, one.group, one.value, one.low, one.high, one.n) for one in measures if one.by in concepts]
    schema = {"concept": pl.String, "side": pl.String, "accuracy": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema=schema | {"n": pl.Int64}, orient="row")
