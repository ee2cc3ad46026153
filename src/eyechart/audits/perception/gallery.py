"""The least perceived examples, as they are and with donors in their place, each with what the model said."""

from collections.abc import Iterator

import polars as pl

from eyechart.audits.perception.audit import PerceptionAudit
from eyechart.audits.perception.drawn import Given
from eyechart.audits.perception.removals import PERMUTE, Removal
from eyechart.audits.perception.study import judged_part, make_pools
from eyechart.dataset import Dataset
from eyechart.encode.donors import draw
from eyechart.probes import OWN
from eyechart.result import Result

EXAMPLES, DRAWS = 3, 3  # of each removal
CONTENT = ("image", "question")


def seen_table(audit: PerceptionAudit, data: Dataset, study: Result, least: pl.DataFrame, given: Given) -> pl.DataFrame:
    """List the first examples of every permutation: a row for the example itself and for each of its first donors."""
    removals = [each for each in given.removed if each.kind == PERMUTE]
    if not removals or not set(CONTENT) <= set(data.examples.columns):
        return pl.DataFrame()
    pools = make_pools(audit, judged_part(data, study), tuple(removals))
    donors = {(name, k): draw(pool, audit.seed, k) for name, pool in pools.items() for k in range(DRAWS)}
    parts = [part for removal in removals for part in _of_removal(removal, data, least, given, donors)]
    table = pl.concat(parts).sort("removal", "example", "at")
    return table.drop("removal", "example", "at")


def _of_removal(
    removal: Removal, data: Dataset, least: pl.DataFrame, given: Given, donors: dict[tuple[str, int], pl.DataFrame]
) -> Iterator[pl.DataFrame]:
    chosen = least.filter(pl.col("removed") == removal.name).select("id").head(EXAMPLES).with_row_index("example")
    whole = data.examples.select("id", *CONTENT, "answer")
    own = chosen.join(whole, on="id", how="left", validate="1:1", maintain_order="left")
    named = own.select("id", "example", named=pl.format(f"without its {removal.name}: {{}} {{}}", "question", "answer"))
    for at, (condition, drawn, k) in enumerate(_conditions(removal, given)):
        shown = own
        for name in set(removal.modalities) & set(CONTENT) if condition != OWN else ():
            theirs = whole.select(pl.col("id").alias("donor"), name)
            taken = donors[name, k].join(theirs, on="donor", how="left", validate="m:1").select("id", name)
            shown = shown.drop(name).join(taken, on="id", how="left", validate="1:1", maintain_order="left")
        said = drawn.filter(pl.col("k") == k).select("id", "said")
        table = named.join(shown.drop("example"), on="id", validate="1:1", maintain_order="left")
        table = table.join(said, on="id", how="left", validate="1:1", maintain_order="left")
        places = (pl.lit(removal.name).alias("removal"), "example", pl.lit(at).alias("at"))
        yield table.select(*places, "named", pl.lit(condition).alias("condition"), *CONTENT, "said")


def _conditions(removal: Removal, given: Given) -> Iterator[tuple[str, pl.DataFrame, int]]:
    """Name the example itself and its first draws, with the answers under each."""
    yield OWN, given.plain.said, 0
    drawn = given.removed[removal].said
    for k in sorted(drawn["k"].unique())[:DRAWS]:
        yield removal.condition(k), drawn, k
