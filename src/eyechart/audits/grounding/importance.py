"""Measure how well an importance ranking of the objects matches their relevance (Table 1, appendix D.2).

    relevant    of the N relevant objects, the share among the N most important       |top N and rel| / N
    irrelevant  of the M irrelevant objects, the share among the M most important     |top M and irrel| / M

Importance is what the model itself reports (`attention`: weights or gradients, one number per object) or the effect of
leaving an object out (`without`): by how much the probability of the answer falls or, without scores, whether the
answer changes. Objects that tie at the cut share the remaining places, so that no order of objects is favoured.
"""

import polars as pl

from eyechart.audits.grounding.answers import ConditionAnswers, by_question, fall, same_as
from eyechart.audits.grounding.scene import Relevance, Scene
from eyechart.audits.grounding.settings import WITHOUT
from eyechart.data.probes import PLAIN_CONDITION

SETS = ("relevant", "irrelevant")
_NOTHING = pl.DataFrame(schema={"id": pl.String, "index": pl.Int64, "importance": pl.Float64})


def match_rankings(
    answers: ConditionAnswers, scene: Scene, relevance: Relevance
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Match every ranking; return one row for each question (id and a column for each method and set), and notes."""
    ids = scene.questions.select("id").with_row_index("row").cast({"row": pl.Int64})
    sets = pl.DataFrame(
        {"row": relevance.rows, "index": relevance.position} | {name: getattr(relevance, name) for name in SETS}
    )
    rows, notes = ids, []
    for method, importance in (("attention", _attention(answers, scene)), (WITHOUT, _left_out(answers))):
        if importance.height:
            by_row = importance.join(ids, on="id", validate="m:1").drop("id")
            ranked = sets.join(by_row, on=["row", "index"], how="left")
            complete = ranked.filter(pl.col("importance").is_not_null().all().over("row"))
            incomplete = importance["id"].n_unique() - complete["row"].n_unique()
            notes += [f"{incomplete:,} questions have no {method} for some of their objects"] if incomplete else []
            rows = rows.join(match_sets(complete, method), on="row", how="left", validate="1:1", maintain_order="left")
    return rows.drop("row"), tuple(notes)


def match_sets(ranked: pl.DataFrame, method: str) -> pl.DataFrame:
    """Match rows of (row, index, importance, relevant, irrelevant) with both sets."""
    parts = [_match_set(ranked.sort("row", "index"), name).rename({"match": f"{method}_{name}"}) for name in SETS]
    return parts[0].join(parts[1], on="row", how="full", coalesce=True, validate="1:1")


def _match_set(ranked: pl.DataFrame, name: str) -> pl.DataFrame:
    importance, member = pl.col("importance"), pl.col(name)
    sized = ranked.with_columns(n=member.sum().over("row")).filter(pl.col("n") > 0)
    ranks = sized.with_columns(rank=importance.rank("min", descending=True).over("row"))
    cut = pl.when(pl.col("rank") <= pl.col("n")).then("importance").min().over("row")
    compared = ranks.with_columns(above=importance > cut, tied=importance == cut)
    share = (pl.col("n") - pl.col("above").sum().over("row")) / pl.col("tied").sum().over("row")
    weighed = compared.with_columns(weight=pl.col("above").cast(pl.Float64) + pl.col("tied") * share)
    hit = (pl.col("weight") * member).sum() / pl.col("n").first()
    return weighed.group_by("row", maintain_order=True).agg(match=hit)


def _attention(answers: ConditionAnswers, scene: Scene) -> pl.DataFrame:
    """Read the attention to each object, if there are as many numbers as objects."""
    table = answers.tables[PLAIN_CONDITION]
    if "attention" not in table.columns:
        return _NOTHING
    n = pl.DataFrame({"id": scene.questions["id"], "n": scene.n_objects})
    fits = pl.col("attention").list.len() == pl.col("n")
    fitting = table.select("id", "attention").drop_nulls().join(n, on="id", validate="m:1").filter(fits)
    flat = fitting.select("id", "attention", index=pl.int_ranges(pl.col("attention").list.len()))
    flat = flat.explode("attention", "index", empty_as_null=False).rename({"attention": "importance"})
    return _mean_by_object(flat)


def _left_out(answers: ConditionAnswers) -> pl.DataFrame:
    """Compute the effect of leaving each object out."""
    parts = [_NOTHING]
    for condition in (name for name in answers.tables if name.startswith(f"{WITHOUT}#")):
        changed = (~same_as(condition)).cast(pl.Float64)
        joined = answers.side_by_side((PLAIN_CONDITION, condition))
        changes = by_question(joined, [pl.coalesce(fall(condition), changed).alias("importance")])
        index = int(condition.removeprefix(f"{WITHOUT}#"))
        parts.append(changes.select("id", pl.lit(index, pl.Int64).alias("index"), "importance"))
    return pl.concat(parts)


def _mean_by_object(flat: pl.DataFrame) -> pl.DataFrame:
    """Average over draws, in a fixed order."""
    ordered = flat.sort("id", "index", "importance")
    return ordered.group_by("id", "index", maintain_order=True).agg(pl.col("importance").mean()).cast(_NOTHING.schema)
