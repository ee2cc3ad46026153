"""Compare two models on the same examples: where they differ, and the paired table."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

import polars as pl

from eyechart.base.errors import EyechartError
from eyechart.data.furniture import ExplorerQuery
from eyechart.data.store import Store
from eyechart.data.stored import TableFile
from eyechart.reporting.comparison_table import TextGrid, lay_out
from eyechart.reporting.dots import axes_of
from eyechart.reporting.glance import NOTHING
from eyechart.reporting.pairing import Lead, choose_pair, measure_lead, tell_looks
from eyechart.runs.comparison import compare
from eyechart.viewing import inventory
from eyechart.viewing.furniture import scoring_audits
from eyechart.viewing.scores import RIGHT, scored

CELLS = {"first": (True, False), "second": (False, True), "both": (True, True), "neither": (False, False)}


@dataclass(frozen=True)
class ModelPair:
    """Two models under one condition, as given in the address of a page."""

    first: str
    second: str
    condition: str
    cell: str
    audit: str

    @classmethod
    def read(cls, query: ExplorerQuery, store: Store) -> Self | None:
        """Read which models to compare; None if there are fewer than two."""
        models = inventory.models(store)
        if len(models) < 2:
            return None
        chosen = choose_pair(inventory.lines(store)) or ()
        order = list(dict.fromkeys([*chosen, *models]))
        first = query.one_of("first", models, order[0] if query.get("second") != order[0] else order[1])
        second = query.one_of("second", models, next(model for model in order if model != first))
        others = inventory.conditions_of(store, second)
        both = [name for name in inventory.conditions_of(store, first) if name in others]
        judged = common_audits(store, first, second)
        return cls(
            first,
            second,
            query.one_of("condition", both, both[0] if both else ""),
            query.one_of("cell", tuple(CELLS), "first"),
            query.one_of("audit", judged, next((name for name in (*scoring_audits(), *judged) if name in judged), "")),
        )

    def answers(self, store: Store) -> pl.DataFrame:
        """List the examples both answered: id, both answers, both scores, and the cell they fall in."""
        score = pl.col("score")
        tables = [
            scored(store, model, self.condition).select("id", pl.col("given").alias(name), score.alias(f"{name} score"))
            for name, model in (("first", self.first), ("second", self.second))
        ]
        joined = tables[0].join(tables[1], on="id", validate="1:1").drop_nulls(["first score", "second score"])
        rights = [pl.col(f"{name} score") >= RIGHT for name in ("first", "second")]
        cell = pl.coalesce(
            pl.when((rights[0] == one) & (rights[1] == two)).then(pl.lit(name)) for name, (one, two) in CELLS.items()
        )
        differ = pl.col("first") != pl.col("second")
        return joined.with_columns(cell.alias("cell"), differ.alias("differ")).sort("id")

    def lead(self, store: Store, answers: pl.DataFrame) -> Lead | None:
        """Measure which is right more often, from the answers of both."""
        cluster = store.about_data.cluster
        scan = store.examples.scan()
        known = [cluster] if cluster in scan.collect_schema() else []
        clusters = scan.filter(pl.col("id").is_in(answers["id"].implode())).select("id", *known).collect()
        scores = answers.select("id", pl.col("first score").alias("first"), pl.col("second score").alias("second"))
        beside = scores.join(clusters, on="id", how="left", validate="1:1", maintain_order="left")
        named = beside.with_columns((pl.col(cluster) if known else pl.lit(None, pl.String)).alias("cluster"))
        return measure_lead(self.first, self.second, named)

    def matrix(self, store: Store) -> dict[str, Any]:
        """Lay out the two rows of the matrix of models by audits, and say whether the models look."""
        lines = {line.model: line for line in inventory.lines(store)}
        own = tuple(lines[model] for model in (self.first, self.second) if model in lines)
        heads = tuple((cell.audit, cell.question) for cell in (own[0].cells if own else ()))
        glance = replace(NOTHING, models=own, heads=heads)
        return {"glance": glance, "axes": axes_of(glance), "looks": tell_looks(own, self.first, self.second)}

    def paired_table(self, store: Store) -> TextGrid | str:
        """Compare the models by the audit over all examples, or say why they cannot be compared."""
        files = [store.rows(self.audit, model) for model in (self.first, self.second)]
        try:
            return _paired(store, self.audit, (self.first, self.second), tuple(files))
        except EyechartError as error:
            return str(error)


def common_audits(store: Store, first: str, second: str) -> list[str]:
    """List the audits that judged both models."""
    results = store.results()
    return [audit for audit in results.get(first, ()) if audit in results.get(second, ())]


def count_cells(answers: pl.DataFrame) -> dict[str, int]:
    """Count the examples of each cell."""
    return {name: int((answers["cell"] == name).sum()) for name in CELLS}


@lru_cache(maxsize=32)
def _paired(store: Store, audit: str, models: tuple[str, str], _stamps: tuple[TableFile | None, ...]) -> TextGrid:
    results = {model: store.results()[model][audit] for model in models}
    over_all = pl.col("by").is_null()
    return lay_out(
        compare({name: replace(result, measures=result.measures.filter(over_all)) for name, result in results.items()})
    )
