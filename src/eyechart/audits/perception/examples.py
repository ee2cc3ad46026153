"""Single examples: how their scores spread, and which are answered without looking, with donors and answers."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from eyechart.audits.perception.donors import draw
from eyechart.audits.perception.draws import DrawScores, ModelScores, perceived
from eyechart.audits.perception.settings import PerceptionSettings
from eyechart.audits.perception.study import judged_part, make_pools
from eyechart.data.dataset import Dataset
from eyechart.data.probes import PERMUTE, PLAIN_CONDITION, Removal
from eyechart.data.result import Result

SHOWN = 20  # of each removal
BINS = 20
BETWEEN = " | "
EXAMPLES, DRAWS = 3, 3  # of each removal in the gallery
CONTENT = ("image", "question")


def sample_scores(rows: pl.DataFrame, removals: Sequence[Removal]) -> pl.DataFrame:
    """Count the sample perceptual scores in bins from -1 to 1; the outer bins include values beyond."""
    edges = np.linspace(-1, 1, BINS + 1)
    parts = []
    for removal in removals:
        values = rows[perceived(removal.name)].drop_nulls().to_numpy()
        n, _ = np.histogram(np.clip(values, -1, 1), edges)
        table = pl.DataFrame({"from": edges[:-1], "to": edges[1:], "n": n.astype(np.int64)})
        parts.append(table.with_columns(pl.lit(removal.name).alias("removed")))
    return pl.concat(parts).filter(pl.col("n") > 0)


def least_perceived(rows: pl.DataFrame, examples: pl.DataFrame, scores: ModelScores) -> pl.DataFrame:
    """List the examples with the lowest scores, the right ones first, with the answers under each condition."""
    parts = [_least(rows, removal, draws) for removal, draws in scores.removed.items()]
    content = [name for name in ("question", "answer") if name in examples.columns]
    own = scores.plain.answers.select("id", pl.col("given").alias("says"))
    table = pl.concat(parts).join(examples.select("id", *content), on="id", validate="m:1", maintain_order="left")
    table = table.join(own, on="id", how="left", validate="m:1", maintain_order="left")
    return table.select("removed", "id", *content, "says", "says without", "accuracy", "perception", "draws")


def _least(rows: pl.DataFrame, removal: Removal, draws: DrawScores) -> pl.DataFrame:
    score = perceived(removal.name)
    least = rows.drop_nulls(score).sort(score, "accuracy", "id", descending=[False, True, False]).head(SHOWN)
    answers = draws.answers.group_by("id", maintain_order=True).agg(
        pl.col("given").str.join(BETWEEN).alias("says without"), pl.len().cast(pl.Int64).alias("draws")
    )
    joined = least.join(answers, on="id", how="left", validate="1:1", maintain_order="left")
    return joined.select(
        pl.lit(removal.name).alias("removed"),
        "id",
        "says without",
        "accuracy",
        pl.col(score).alias("perception"),
        "draws",
    )


def seen_table(
    settings: PerceptionSettings, data: Dataset, study: Result, least: pl.DataFrame, scores: ModelScores
) -> pl.DataFrame:
    """List the least perceived examples of every permutation, one row as they are and one with each first donor."""
    removals = [each for each in scores.removed if each.kind == PERMUTE]
    if not removals or not set(CONTENT) <= set(data.columns):
        return pl.DataFrame()
    pools = make_pools(settings, judged_part(data, study), tuple(removals))
    donors = {(name, k): draw(pool, settings.seed, k) for name, pool in pools.items() for k in range(DRAWS)}
    parts = [part for removal in removals for part in _seen_under(removal, data, least, scores, donors)]
    table = pl.concat(parts).sort("removal", "example", "position")
    return table.drop("removal", "example", "position")


def _seen_under(
    removal: Removal,
    data: Dataset,
    least: pl.DataFrame,
    scores: ModelScores,
    donors: dict[tuple[str, int], pl.DataFrame],
) -> Iterator[pl.DataFrame]:
    chosen = least.filter(pl.col("removed") == removal.name).select("id").head(EXAMPLES).with_row_index("example")
    examples = data.examples.select("id", *CONTENT, "answer")
    own = chosen.join(examples, on="id", how="left", validate="1:1", maintain_order="left")
    titles = own.select(
        "id", "example", named=pl.format(f"without its {removal.name}: {{}} {{}}", "question", "answer")
    )
    for position, (condition, answers, k) in enumerate(_answers(removal, scores)):
        shown = own
        for name in set(removal.modalities) & set(CONTENT) if condition != PLAIN_CONDITION else ():
            theirs = examples.select(pl.col("id").alias("donor"), name)
            taken = donors[name, k].join(theirs, on="donor", how="left", validate="m:1").select("id", name)
            shown = shown.drop(name).join(taken, on="id", how="left", validate="1:1", maintain_order="left")
        answer = answers.filter(pl.col("k") == k).select("id", "given")
        table = titles.join(shown.drop("example"), on="id", validate="1:1", maintain_order="left")
        table = table.join(answer, on="id", how="left", validate="1:1", maintain_order="left")
        order = (pl.lit(removal.name).alias("removal"), "example", pl.lit(position).alias("position"))
        yield table.select(*order, "named", pl.lit(condition).alias("condition"), *CONTENT, "given")


def _answers(removal: Removal, scores: ModelScores) -> Iterator[tuple[str, pl.DataFrame, int]]:
    """Yield the condition of the example itself and those of its first draws, with the answers under each."""
    yield PLAIN_CONDITION, scores.plain.answers, 0
    answers = scores.removed[removal].answers
    for k in sorted(answers["k"].unique())[:DRAWS]:
        yield removal.condition(k), answers, k
