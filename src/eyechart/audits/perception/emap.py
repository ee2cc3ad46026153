"""EMAP (Hessel & Lee 2020): the best additive approximation of a model, which can use modalities but no interaction.

On N examples, with f(i, j) the scores of the answers when the first modality is that of j and all else that of i:

    EMAP(i) = mean_j f(i, j) + mean_j f(j, i) - mean_jl f(j, l)

A score lost from f(i, i) to EMAP(i) is what the model owes to interactions. All N * N pairs are needed, so it is
computed on a sample chosen by a hash of the ids; draws of donors do not suffice.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from eyechart.audits.measuring import measured
from eyechart.audits.perception.audit import PerceptionAudit
from eyechart.dataset import Dataset
from eyechart.errors import SettingError
from eyechart.hashing import combine, hash_text
from eyechart.predictions import USABLE, Predictions
from eyechart.probes import OWN, Prober, source
from eyechart.result import Measure, Result
from eyechart.scoring import score
from eyechart.statistics import paired_difference

Floats = npt.NDArray[np.float64]


class Projection(NamedTuple):
    """What the additive approximation loses, or why it cannot be said; and what became of its probes."""

    measures: list[Measure]
    counts: pl.DataFrame
    notes: list[str]


def check_emap(audit: PerceptionAudit, judged: Dataset) -> None:
    """Refuse what cannot be projected: one modality alone, or options that differ between examples."""
    if not audit.emap:
        return
    if len(judged.modalities) < 2:
        raise SettingError("two modalities for EMAP", ", ".join(judged.modalities), "leave `emap` at 0")
    if "choices" in judged.examples.columns and judged.examples["choices"].n_unique() > 1:
        advice = "leave `emap` at 0, or drop the options where the model does not need them"
        raise SettingError("one set of answers for EMAP", "options that differ between examples", advice)


def emap_probes(audit: PerceptionAudit, data: Dataset, study: Result) -> Iterator[tuple[str, pl.DataFrame]]:
    """Show each sampled example with the first modality of each other one: condition k takes that of the k-th next."""
    ids, prober = sampled(audit, data, study), Prober(data)
    for k in range(1, len(ids)):
        donors = ids.gather((np.arange(len(ids)) + k) % len(ids))
        keys = pl.DataFrame({"id": ids, source(data.modalities[0]): donors})
        yield condition(k), prober.complete(keys, condition(k))


def condition(k: int) -> str:
    """Name the condition of the k-th next example."""
    return f"emap#{k}"


def sampled(audit: PerceptionAudit, data: Dataset, study: Result) -> pl.Series:
    """Choose examples that have every modality, by a hash of their ids."""
    whole = data.examples.drop_nulls(list(data.modalities)).select("id").join(study.rows, on="id", how="semi")
    order = combine(hash_text(whole["id"], audit.seed), hash_text(pl.Series(["emap"])))
    return whole.with_columns(pl.Series("order", order)).sort("order", "id").head(audit.emap)["id"]


def project(audit: PerceptionAudit, data: Dataset, study: Result, predictions: Predictions, how: str) -> Projection:
    """Compare the score of the model with that of its additive approximation on the sample."""
    ids = sampled(audit, data, study)
    conditions = [OWN, *(condition(k) for k in range(1, len(ids)))]
    examples = data.examples.join(study.rows.select("id", "cluster"), on="id", validate="1:1")
    examples = ids.to_frame().join(examples, on="id", validate="1:1", maintain_order="left")
    counts = [predictions.beside(examples.select("id"), each).counts for each in conditions[1:]]
    counted = pl.concat(counts) if counts else study.tables["counts"].clear()
    if not audit.emap:
        return Projection([], counted, [])
    cube = _scores(ids, conditions, predictions)
    if cube is None:
        return Projection([], counted, ["EMAP is left out: it wants `scores` of answers to every probe of the sample"])
    best = pl.Series("given", cube.answers).gather(np.argmax(additive(cube.scores), axis=1))
    own = pl.Series("given", cube.answers).gather(
        np.argmax(cube.scores[np.arange(len(ids)), np.arange(len(ids))], axis=1)
    )
    scored = [score(examples.with_columns(each), how) for each in (own, best)]
    table = examples.select("cluster", scored[0].alias("own"), scored[1].alias("additive")).drop_nulls()
    found = paired_difference(table["own"], table["additive"], table["cluster"])
    # What a model owes to interactions describes how it works: more is not better.
    interaction = measured("interaction (EMAP)", found, of=None, condition="emap", score=how, better="neither")
    return Projection([interaction], counted, [])


class Cube(NamedTuple):
    """Scores by example, donor of the first modality, and answer."""

    scores: Floats
    answers: list[str]


def additive(scores: Floats) -> Floats:
    """Project scores[i, j] of answers onto f_1(i) + f_2(j), at i = j."""
    return np.asarray(scores.mean(axis=1) + scores.mean(axis=0) - scores.mean(axis=(0, 1)), dtype=np.float64)


def _scores(ids: pl.Series, conditions: list[str], predictions: Predictions) -> Cube | None:
    """Lay the scores out; an answer that is not among a probe's gets 0 if they are probabilities, else their least."""
    answers = predictions.answers
    if not {"scores", "score_kind"} <= set(answers.columns):
        return None
    places = pl.DataFrame({"id": ids, "row": np.arange(len(ids))})
    steps = pl.DataFrame({"condition": conditions, "step": np.arange(len(conditions))})
    known = answers.filter((pl.col("draw") == 0) & pl.col("status").is_in(USABLE)).drop_nulls("scores")
    known = known.join(places, on="id", validate="m:1").join(steps, on="condition", validate="m:1")
    if known.height < len(ids) ** 2:
        return None
    long = known.select("row", "step", "score_kind", "scores").explode("scores", empty_as_null=False).unnest("scores")
    names = long["answer"].unique().sort()
    floor = long.group_by("row", "step", "score_kind").agg(pl.col("score").min())
    least = np.where(floor["score_kind"] == "prob", 0.0, floor["score"])
    n = len(ids)
    cube = np.empty((n, n, len(names)))
    row, step = floor["row"].to_numpy(), floor["step"].to_numpy()
    cube[row, (row + step) % n] = least[:, None]
    at = names.search_sorted(long["answer"]).to_numpy()
    row, step = long["row"].to_numpy(), long["step"].to_numpy()
    cube[row, (row + step) % n, at] = long["score"].to_numpy()
    return Cube(cube, names.to_list())
