"""How well an importance ranking of the objects matches their relevance (Table 1, appendix D.2).

    relevant    of the N relevant objects, the share among the N most important       |top N and rel| / N
    irrelevant  of the M irrelevant objects, the share among the M most important     |top M and irrel| / M

Importance is what the model says itself (`attention`: weights or gradients, one number an object) or what leaving an
object out does (`without`): by how much the probability of the answer falls or, without scores, whether the answer
changes. Objects that tie at the cut share the places that are left, so that no order of objects is favoured.
"""

from typing import NamedTuple

import polars as pl

from eyechart.audits.grounding.answers import Heard, by_question, same_as, side_by_side
from eyechart.audits.grounding.cells import fall
from eyechart.audits.grounding.furniture import WITHOUT
from eyechart.audits.grounding.relevance import Relevance
from eyechart.audits.grounding.scene import Scene
from eyechart.probes import OWN

SETS = ("relevant", "irrelevant")


class Matched(NamedTuple):
    """A row a question (id and a column for each method and set), and what to know about it."""

    rows: pl.DataFrame
    notes: tuple[str, ...]


def match_rankings(heard: Heard, scene: Scene, relevance: Relevance) -> Matched:
    """Match every ranking there is."""
    ids = scene.questions.select("id").with_row_index("row").cast({"row": pl.Int64})
    sets = pl.DataFrame(
        {"row": relevance.rows, "index": relevance.place} | {name: getattr(relevance, name) for name in SETS}
    )
    rows, notes = ids, []
    for method, found in (("attention", _attention(heard, scene)), (WITHOUT, _left_out(heard))):
        if found.height:
            ranked = sets.join(found.join(ids, on="id", validate="m:1").drop("id"), on=["row", "index"], how="left")
            whole = ranked.filter(pl.col("importance").is_not_null().all().over("row"))
            told = found["id"].n_unique() - whole["row"].n_unique()
            notes += [f"{told:,} questions lack the {method} of some object"] if told else []
            rows = rows.join(match(whole, method), on="row", how="left", validate="1:1", maintain_order="left")
    return Matched(rows.drop("row"), tuple(notes))


def match(ranked: pl.DataFrame, method: str) -> pl.DataFrame:
    """Match rows of (row, index, importance, relevant, irrelevant) with both sets."""
    parts = [_match_one(ranked.sort("row", "index"), name).rename({"match": f"{method}_{name}"}) for name in SETS]
    return parts[0].join(parts[1], on="row", how="full", coalesce=True, validate="1:1")


def _match_one(ranked: pl.DataFrame, name: str) -> pl.DataFrame:
    importance, member = pl.col("importance"), pl.col(name)
    sized = ranked.with_columns(n=member.sum().over("row")).filter(pl.col("n") > 0)
    ranks = sized.with_columns(rank=importance.rank("min", descending=True).over("row"))
    cut = pl.when(pl.col("rank") <= pl.col("n")).then("importance").min().over("row")
    placed = ranks.with_columns(above=importance > cut, at=importance == cut)
    left = (pl.col("n") - pl.col("above").sum().over("row")) / pl.col("at").sum().over("row")
    weighed = placed.with_columns(weight=pl.col("above").cast(pl.Float64) + pl.col("at") * left)
    hit = (pl.col("weight") * member).sum() / pl.col("n").first()
    return weighed.group_by("row", maintain_order=True).agg(match=hit)


def _attention(heard: Heard, scene: Scene) -> pl.DataFrame:
    """Take what the model says of each object; a list of another length than the objects says nothing."""
    table = heard.tables[OWN]
    if "attention" not in table.columns:
        return _NOTHING
    n = pl.DataFrame({"id": scene.questions["id"], "n": scene.objects.listed[scene.of]})
    fits = pl.col("attention").list.len() == pl.col("n")
    told = table.select("id", "attention").drop_nulls().join(n, on="id", validate="m:1").filter(fits)
    flat = told.select("id", "attention", index=pl.int_ranges(pl.col("attention").list.len()))
    flat = flat.explode("attention", "index", empty_as_null=False).rename({"attention": "importance"})
    return _mean_by_object(flat)


def _left_out(heard: Heard) -> pl.DataFrame:
    """Take what leaving each object out does."""
    parts = [_NOTHING]
    for condition in (name for name in heard.tables if name.startswith(f"{WITHOUT}#")):
        changed = (~same_as(condition)).cast(pl.Float64)
        joined = side_by_side(heard, (OWN, condition))
        found = by_question(joined, [pl.coalesce(fall(condition), changed).alias("importance")])
        index = int(condition.removeprefix(f"{WITHOUT}#"))
        parts.append(found.select("id", pl.lit(index, pl.Int64).alias("index"), "importance"))
    return pl.concat(parts)


def _mean_by_object(flat: pl.DataFrame) -> pl.DataFrame:
    """Average over draws, in a fixed order."""
    ordered = flat.sort("id", "index", "importance")
    return ordered.group_by("id", "index", maintain_order=True).agg(pl.col("importance").mean()).cast(_NOTHING.schema)


_NOTHING = pl.DataFrame(schema={"id": pl.String, "index": pl.Int64, "importance": pl.Float64})
