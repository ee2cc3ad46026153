"""Two models on the same examples: where they differ, and the paired table."""

from dataclasses import dataclass, replace
from functools import lru_cache

import polars as pl

from eyechart.asked import Asked
from eyechart.comparison import compare
from eyechart.errors import EyechartError
from eyechart.reporting.comparing import TextGrid, lay_out
from eyechart.store import Store
from eyechart.stored import Stamped
from eyechart.viewing import inventory
from eyechart.viewing.scores import RIGHT, scored

CELLS = {"first": (True, False), "second": (False, True), "both": (True, True), "neither": (False, False)}


@dataclass(frozen=True)
class Pair:
    """Two models under one condition."""

    first: str
    second: str
    condition: str
    cell: str
    audit: str


def read_pair(asked: Asked, store: Store) -> Pair | None:
    """Read who is compared from an address; None where there are not two models."""
    models = inventory.models(store)
    if len(models) < 2:
        return None
    first = asked.one_of("first", models, models[0])
    second = asked.one_of("second", models, next(model for model in models if model != first))
    both = [name for name in inventory.conditions_of(store, first) if name in inventory.conditions_of(store, second)]
    judged = common_audits(store, first, second)
    return Pair(
        first,
        second,
        asked.one_of("condition", both, both[0] if both else ""),
        asked.one_of("cell", tuple(CELLS), "first"),
        asked.one_of("audit", judged, "accuracy" if "accuracy" in judged else next(iter(judged), "")),
    )


def common_audits(store: Store, first: str, second: str) -> list[str]:
    """Name the audits that judged both models."""
    results = store.results()
    return [audit for audit in results.get(first, ()) if audit in results.get(second, ())]


def side_by_side(store: Store, pair: Pair) -> pl.DataFrame:
    """List the examples both answered: id, first, second, score of each, and the cell they fall in."""
    score = pl.col("score")
    tables = [
        scored(store, model, pair.condition).select("id", pl.col("given").alias(name), score.alias(f"{name} score"))
        for name, model in (("first", pair.first), ("second", pair.second))
    ]
    joined = tables[0].join(tables[1], on="id", validate="1:1").drop_nulls(["first score", "second score"])
    rights = [pl.col(f"{name} score") >= RIGHT for name in ("first", "second")]
    cell = pl.coalesce(
        pl.when((rights[0] == one) & (rights[1] == two)).then(pl.lit(name)) for name, (one, two) in CELLS.items()
    )
    return joined.with_columns(cell.alias("cell"), (pl.col("first") != pl.col("second")).alias("differ")).sort("id")


def count_cells(table: pl.DataFrame) -> dict[str, int]:
    """Count the examples of each cell."""
    return {name: int((table["cell"] == name).sum()) for name in CELLS}


def paired_table(store: Store, pair: Pair) -> TextGrid | str:
    """Compare two models by one audit over all examples, or say why they cannot be compared."""
    files = [store.rows(pair.audit, model) for model in (pair.first, pair.second)]
    try:
        return _paired(store, pair.audit, (pair.first, pair.second), tuple(files))
    except EyechartError as error:
        return str(error)


@lru_cache(maxsize=32)
def _paired(store: Store, audit: str, models: tuple[str, str], _now: tuple[Stamped | None, ...]) -> TextGrid:
    results = {model: store.results()[model][audit] for model in models}
    over_all = pl.col("by").is_null()
    return lay_out(
        compare({model: replace(found, measures=found.measures.filter(over_all)) for model, found in results.items()})
    )
