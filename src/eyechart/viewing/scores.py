"""Score a model example by example under any condition, caching scores while its answers stay the same."""

from functools import lru_cache

import polars as pl

from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.store import Store
from eyechart.data.stored import TableFile
from eyechart.scoring import SCORES, auto_score, score
from eyechart.viewing.furniture import scoring_audits

KEPT = 8
RIGHT = 0.5  # the lowest score that counts as right
SCHEMA = {"id": pl.String, "given": pl.String, "status": pl.String, "score": pl.Float64}


def scored(store: Store, model: str, condition: str) -> pl.DataFrame:
    """List a model's first answers under a condition: id, given, status and score."""
    answers = store.answers_under(model, condition)
    if answers is None:
        return pl.DataFrame(schema=SCHEMA)
    for audit, column in scoring_audits().items() if condition == PLAIN_CONDITION else ():
        judged = store.rows(audit, model)
        if judged is not None and judged.changed >= answers.changed and column in judged.scan().collect_schema():
            return _as_judged(answers, judged, column)
    return _scored(answers, store.examples, store.probe_keys(condition))


@lru_cache(maxsize=KEPT)
def _as_judged(answers: TableFile, judged: TableFile, column: str) -> pl.DataFrame:
    """Take the scores by which the model was judged, whichever scoring was used."""
    scores = judged.scan().select("id", pl.col(column).alias("score"))
    given = _first(answers).select(*list(SCHEMA)[:3])
    return given.join(scores, on="id", how="left", validate="1:1").select(*SCHEMA).cast(SCHEMA).collect()  # type: ignore[arg-type]


@lru_cache(maxsize=KEPT)
def _scored(answers: TableFile, examples: TableFile, probes: TableFile | None) -> pl.DataFrame:
    given = _first(answers).collect()
    joined = _references(examples, given).join(given, on="id", validate="1:1")
    if probes is not None:
        joined = _with_options(joined, probes)
    if not joined.height:
        return pl.DataFrame(schema=SCHEMA)
    scores = score(joined, auto_score(joined))
    return joined.select("id", "given", "status").with_columns(scores.alias("score")).cast(SCHEMA)  # type: ignore[arg-type]


def _first(answers: TableFile) -> pl.LazyFrame:
    """Read the first answer to each example."""
    scan = answers.scan()
    ranking = ["ranking"] if "ranking" in scan.collect_schema() else []
    first = scan.sort("draw").unique("id", keep="first", maintain_order=True)
    return first.select("id", pl.col("answer").alias("given"), "status", *ranking)


def _references(examples: TableFile, given: pl.DataFrame) -> pl.DataFrame:
    wanted = {name for each in SCORES.values() for name in each.needs} - {"given", "ranking"}
    scan = examples.scan()
    named = [name for name in scan.collect_schema().names() if name in wanted]
    return scan.select("id", *named).filter(pl.col("id").is_in(given["id"].implode())).collect()


def _with_options(joined: pl.DataFrame, probes: TableFile) -> pl.DataFrame:
    """Replace the data's own options with those an audit offered."""
    scan = probes.scan()
    if "choices" not in scan.collect_schema():
        return joined
    offered = scan.select("id", pl.col("choices").alias("offered")).collect()
    with_offered = joined.join(offered, on="id", how="left", validate="1:1", maintain_order="left")
    own = [pl.col("choices")] if "choices" in joined.columns else []
    return with_offered.with_columns(pl.coalesce("offered", *own).alias("choices")).drop("offered")
