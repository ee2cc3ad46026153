"""EMAP (Hessel & Lee 2020): the best additive approximation of a model, which can use modalities but no interaction.

On N examples, with f(i, j) the scores of the answers when the first modality is that of j and all else that of i:

    EMAP(i) = mean_j f(i, j) + mean_j f(j, i) - mean_jl f(j, l)

The score lost from f(i, i) to EMAP(i) is what the model owes to interactions. All N * N pairs are needed, so it is
computed on a sample chosen by a hash of the ids; draws of donors do not suffice.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from eyechart.audits.measures import make_measure
from eyechart.audits.perception.settings import PerceptionSettings
from eyechart.base.errors import SettingError
from eyechart.base.hashing import combine, hash_text
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import USABLE, Predictions
from eyechart.data.probes import PLAIN_CONDITION, Prober, source
from eyechart.data.result import Measure, Result
from eyechart.scoring import score
from eyechart.statistics import paired_difference

Floats = npt.NDArray[np.float64]


class Projection(NamedTuple):
    """What the additive approximation loses, or a note why that is unknown; and counts of its probes."""

    measures: list[Measure]
    counts: pl.DataFrame
    notes: list[str]


def check_emap(settings: PerceptionSettings, judged: Dataset) -> None:
    """Reject data that cannot be projected: a single modality, or options that differ between examples."""
    if not settings.emap:
        return
    if len(judged.modalities) < 2:
        raise SettingError("two modalities for EMAP", ", ".join(judged.modalities), "leave `emap` at 0")
    if "choices" in judged.examples.columns and judged.examples["choices"].n_unique() > 1:
        advice = "leave `emap` at 0, or drop the options where the model does not need them"
        raise SettingError("one set of answers for EMAP", "options that differ between examples", advice)


def emap_probes(settings: PerceptionSettings, data: Dataset, study: Result) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield each sampled example with the first modality of each other one: condition k takes that of the k-th next."""
    ids, prober = sample_ids(settings, data, study), Prober(data)
    for k in range(1, len(ids)):
        donors = ids.gather((np.arange(len(ids)) + k) % len(ids))
        keys = pl.DataFrame({"id": ids, source(data.modalities[0]): donors})
        yield condition(k), prober.complete(keys, condition(k))


def condition(k: int) -> str:
    """Name the condition of the k-th next example."""
    return f"emap#{k}"


def sample_ids(settings: PerceptionSettings, data: Dataset, study: Result) -> pl.Series:
    """Choose examples that have every modality, by a hash of their ids."""
    complete = data.examples.drop_nulls(list(data.modalities)).select("id").join(study.rows, on="id", how="semi")
    order = combine(hash_text(complete["id"], settings.seed), hash_text(pl.Series(["emap"])))
    return complete.with_columns(pl.Series("order", order)).sort("order", "id").head(settings.emap)["id"]


def project(
    settings: PerceptionSettings, data: Dataset, study: Result, predictions: Predictions, how: str
) -> Projection:
    """Compare the score of the model with that of its additive approximation on the sample."""
    ids = sample_ids(settings, data, study)
    conditions = [PLAIN_CONDITION, *(condition(k) for k in range(1, len(ids)))]
    examples = data.examples.join(study.rows.select("id", "cluster"), on="id", validate="1:1")
    examples = ids.to_frame().join(examples, on="id", validate="1:1", maintain_order="left")
    counts = [predictions.beside(examples.select("id"), each).counts for each in conditions[1:]]
    counted = pl.concat(counts) if counts else study.tables["counts"].clear()
    if not settings.emap:
        return Projection([], counted, [])
    cube, names = _score_cube(ids, conditions, predictions)
    if not names:
        return Projection([], counted, ["EMAP is left out: it needs `scores` of answers to every probe of the sample"])
    own, best = (
        score(examples.with_columns(pl.Series("given", names).gather(np.argmax(each, axis=1))), how)
        for each in (cube[np.arange(len(ids)), np.arange(len(ids))], additive(cube))
    )
    table = examples.select("cluster", own.alias("own"), best.alias("additive")).drop_nulls()
    difference = paired_difference(table["own"], table["additive"], table["cluster"])
    # What a model owes to interactions describes how it works: more is not better.
    interaction = make_measure("interaction (EMAP)", difference, of=None, condition="emap", score=how, better="neither")
    return Projection([interaction], counted, [])


def additive(scores: Floats) -> Floats:
    """Project scores[i, j] of answers onto f_1(i) + f_2(j), at i = j."""
    return np.asarray(scores.mean(axis=1) + scores.mean(axis=0) - scores.mean(axis=(0, 1)), dtype=np.float64)


def _score_cube(ids: pl.Series, conditions: list[str], predictions: Predictions) -> tuple[Floats, list[str]]:
    """Arrange scores by example, donor of the first modality, and answer; return them and the names of the answers.

    An answer that a probe does not list gets 0 if scores are probabilities, else the probe's lowest. Without scores of
    every probe there are no answers.
    """
    nothing: tuple[Floats, list[str]] = (np.empty((0, 0, 0)), [])
    answers = predictions.answers
    if not {"scores", "score_kind"} <= set(answers.columns):
        return nothing
    rows = pl.DataFrame({"id": ids, "row": np.arange(len(ids))})
    steps = pl.DataFrame({"condition": conditions, "step": np.arange(len(conditions))})
    scored = answers.filter((pl.col("draw") == 0) & pl.col("status").is_in(USABLE)).drop_nulls("scores")
    scored = scored.join(rows, on="id", validate="m:1").join(steps, on="condition", validate="m:1")
    if scored.height < len(ids) ** 2:
        return nothing
    long = scored.select("row", "step", "score_kind", "scores").explode("scores", empty_as_null=False).unnest("scores")
    names = long["answer"].unique().sort()
    floor = long.group_by("row", "step", "score_kind").agg(pl.col("score").min())
    least = np.where(floor["score_kind"] == "prob", 0.0, floor["score"])
    n = len(ids)
    cube = np.empty((n, n, len(names)))
    row, step = floor["row"].to_numpy(), floor["step"].to_numpy()
    cube[row, (row + step) % n] = least[:, None]
    index = names.search_sorted(long["answer"]).to_numpy()
    row, step = long["row"].to_numpy(), long["step"].to_numpy()
    cube[row, (row + step) % n, index] = long["score"].to_numpy()
    return cube, names.to_list()
