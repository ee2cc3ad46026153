"""Compare models by the results of one audit on the same examples.

A measure that is the mean of a column of the rows is compared example by example: the mean difference to the base model
over the examples both have, with an interval and a test that respect clusters. q is Benjamini-Hochberg over all
differences of the audit. Over all examples and in every group the models are also ranked, in the direction that the
measure declares as better, and `first` is the share of bootstrap samples (whole clusters, drawn for all models
together) in which a model leads. Measures for which neither direction is better are not ranked.

Where a measure is a sum of weights times scores, a result may have them in its table `weights`: id, score, and the
weights under the name of the column that the measure is the mean of. The interval of the difference then accounts for
how few examples carry it (see `statistics.paired_sums`). Where it is a mean of draws from donors, a result may have a
table `draws`: id, the number of the example's cluster as `unit`, and under the name of that column a list of draws for
each example. Models that were judged by one study drew from the same donors, and their difference is estimated for
other donors too (see `statistics.crossed`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.base.errors import DataError
from eyechart.base.registry import unknown_name
from eyechart.data.dataset import Dataset
from eyechart.data.result import Better, Key, Measure, Result
from eyechart.data.store import Store
from eyechart.data.tables import MEASURES, empty
from eyechart.runs.comparison_frame import ComparisonFrame
from eyechart.statistics import Difference, Draws, adjust
from eyechart.statistics.crossed import gather_draws
from eyechart.statistics.leads import ClusteredScores, leads
from eyechart.statistics.paired import PairedScores, compare_pairs, reduce_pairs
from eyechart.statistics.paired_sums import WeightedParts, reduce_parts, widen

SHOWN = ("name", "condition", "by", "group", "unit", "better", "value", "low", "high", "n", "clusters")
SCHEMA = (
    {"audit": pl.String, "model": pl.String}
    | {name: empty(MEASURES).schema[name] for name in SHOWN}
    | {"base": pl.String, "delta": pl.Float64, "delta_low": pl.Float64, "delta_high": pl.Float64, "common": pl.Int64}
    | {"p": pl.Float64, "q": pl.Float64, "rank": pl.Int64, "first": pl.Float64}
)


class Reduced(NamedTuple):
    """Paired scores of a model and the base, reduced to what the estimate of their difference needs."""

    pairs: PairedScores
    parts: WeightedParts | None  # only for weighted sums


def compare(results: Mapping[str, Result], data: Dataset | None = None, base: str | None = None) -> ComparisonFrame:
    """Compare the results of one audit across models; the base is the first model unless another is named.

    `data` is needed for measures broken down by columns of the examples.
    """
    base = _check(results, base)
    rows: list[dict[str, object]] = []
    reduced: dict[int, Reduced] = {}  # by row number, because all are compared at once
    contests: dict[tuple[int, ...], ClusteredScores] = {}
    measured = {model: _by_key(result) for model, result in results.items()}
    for key in dict.fromkeys(key for measures in measured.values() for key in measures):
        by_model = {model: measures[key] for model, measures in measured.items() if key in measures}
        index = {model: len(rows) + offset for offset, model in enumerate(by_model)}
        scores = {model: _scores(results[model], measure, data) for model, measure in by_model.items()}
        scored = {model: table for model, table in scores.items() if table is not None}
        for model in scored.keys() - {base} if base in scored else ():
            if pair := _against(scored[model], scored[base]):
                reduced[index[model]] = pair
        if contest := _contest(list(scored.values()), next(iter(by_model.values())).better):
            contests[tuple(index[model] for model in scored)] = contest
        rows += [_row(results[model].audit, model, measure) for model, measure in by_model.items()]
    for row, difference in _differences(reduced).items():
        rows[row] |= _delta(base, difference)
    for members, ranking in _rankings(contests).items():
        for row, (rank, first) in zip(members, ranking, strict=True):
            rows[row] |= {"rank": rank, "first": first}
    table = pl.DataFrame(rows, schema=SCHEMA)
    return ComparisonFrame(table.with_columns(pl.Series("q", adjust(table["p"].fill_null(np.nan))).fill_nan(None)))


class JudgedModel(NamedTuple):
    """A judged model: its name in the comparison and in its run, the run, and its results by audit."""

    name: str
    model: str
    run: Store
    results: Mapping[str, Result]


def list_judged_models(runs: Sequence[Store]) -> list[JudgedModel]:
    """List the judged models of runs on the same data; a name that occurs in several runs gets the run appended."""
    if any(run.manifest.inputs != runs[0].manifest.inputs for run in runs):
        found = f"other data than in {runs[0].folder}"
        advice = "audit the models on one dataset, with the same --limit and --seed"
        raise DataError("runs of the same data", found, advice)
    distinct = {run.folder.resolve(): run for run in runs}
    models = [(folder, model, audits) for folder, run in distinct.items() for model, audits in run.results().items()]
    names = [model for _, model, _ in models]
    short = _shorten(list(distinct))
    return [
        JudgedModel(model if names.count(model) == 1 else f"{model} ({short[folder]})", model, distinct[folder], audits)
        for folder, model, audits in models
    ]


def _shorten(folders: Sequence[Path]) -> dict[Path, str]:
    """Shorten paths to as many of their last parts as are needed to distinguish them."""
    for parts in range(1, max(len(folder.parts) for folder in folders) + 1):
        names = ["/".join(folder.parts[-parts:]) for folder in folders]
        if len(set(names)) == len(folders):
            break
    return dict(zip(folders, names, strict=True))


def gather_results(runs: Sequence[Store]) -> dict[str, dict[str, Result]]:
    """Collect the results of runs on the same data, by audit and model."""
    gathered: dict[str, dict[str, Result]] = {}
    for judged in list_judged_models(runs):
        for audit, result in judged.results.items():
            gathered.setdefault(audit, {})[judged.name] = result
    return gathered


def _check(results: Mapping[str, Result], base: str | None) -> str:
    if not results:
        raise DataError("results to compare", "none", "judge a model first")
    for field in ("audit", "settings"):
        values = {model: getattr(result, field) for model, result in results.items()}
        if any(value != next(iter(values.values())) for value in values.values()):
            advice = "judge the models by the same study"
            raise DataError(f"results with the same {field}", f"different ones for {', '.join(values)}", advice)
    if base is not None and base not in results:
        raise unknown_name("model to compare with", base, tuple(results))
    return base or next(iter(results))


def _by_key(result: Result) -> dict[Key, Measure]:
    measures = (Measure(**row) for row in result.measures.iter_rows(named=True))
    return {measure.key: measure for measure in measures}


def _row(audit: str, model: str, measure: Measure) -> dict[str, object]:
    return {"audit": audit, "model": model} | {name: getattr(measure, name) for name in SHOWN}


def _scores(result: Result, measure: Measure, data: Dataset | None) -> pl.DataFrame | None:
    """Return the scores that a measure is the mean of: id, cluster, score; also weight and weighted, or unit and draws.

    These last it has only if the result has them.
    """
    of, by = measure.of, measure.by
    if of is None or of not in result.rows.columns:
        return None
    rows = result.rows
    if by is not None and by not in rows.columns:
        if data is None or by not in data.examples.columns:
            return None
        rows = rows.join(data.examples.select("id", by), on="id", how="left", validate="1:1")
    if by is not None:
        rows = rows.filter(pl.col(by).cast(pl.String).fill_null("(none)") == measure.group)
    column = rows.select("id", "cluster", pl.col(of).cast(pl.Float64).alias("score")).drop_nulls("score")
    drawn = result.tables.get("draws")
    if drawn is not None and of in drawn.columns:
        column = column.join(drawn.select("id", "unit", draws=of), on="id", how="left", validate="1:1").sort("id")
    weights = result.tables.get("weights")
    if by is not None or weights is None or of not in weights.columns:
        return column
    summed = weights.select("id", weight=of, weighted="score")
    return column.join(summed, on="id", how="left", validate="1:1", maintain_order="left")


def _against(model: pl.DataFrame, base: pl.DataFrame) -> Reduced | None:
    """Pair the scores of a model with the base's and reduce them; None if they have no examples in common."""
    both = model.join(base.drop("cluster"), on="id", validate="1:1", suffix="_base")
    if not both.height:
        return None
    pairs = reduce_pairs(both["score"], both["score_base"], both["cluster"], _draws(both))
    if "weight" not in both.columns or "weight_base" not in both.columns:
        return Reduced(pairs, None)
    weights, value = _rescaled(both["weight"], model["weight"]), float(pairs.moments.mean[0])
    return Reduced(pairs, reduce_parts(value, both["weighted"], both["weighted_base"], weights, both["cluster"]))


def _draws(both: pl.DataFrame) -> Draws | None:
    """Collect the draws of the difference of two scores, from the same donors."""
    if "draws" not in both.columns or "draws_base" not in both.columns:
        return None
    return gather_draws(both["unit"], both["draws"]).minus(gather_draws(both["unit"], both["draws_base"]))


def _rescaled(weights: pl.Series, every: pl.Series) -> pl.Series:
    """Rescale the weights of each sign to sum to the model's total, as some of its examples may not be common."""
    weight = pl.col("weight")
    scale = {above: every.filter((every > 0) == above).sum() for above in (True, False)}
    whole = pl.when(weight > 0).then(scale[True]).otherwise(scale[False])
    summed = weight.sum().over(weight > 0)
    return weights.to_frame().select(pl.when(summed == 0).then(0.0).otherwise(weight * whole / summed)).to_series()


def _differences(reduced: Mapping[int, Reduced]) -> dict[int, Difference]:
    """Estimate and test all differences at once."""
    differences = dict(zip(reduced, compare_pairs([each.pairs for each in reduced.values()]), strict=True))
    parts = {row: each.parts for row, each in reduced.items() if each.parts is not None}
    return differences | dict(zip(parts, widen([differences[row] for row in parts], list(parts.values())), strict=True))


def _delta(base: str, difference: Difference) -> dict[str, object]:
    names = ("base", "delta", "delta_low", "delta_high", "common", "p")
    return dict(
        zip(names, (base, difference.value, difference.low, difference.high, difference.n, difference.p), strict=True)
    )


def _contest(scores: Sequence[pl.DataFrame], better: Better) -> ClusteredScores | None:
    """Sum the scores of models by cluster over the examples they all have, negated where lower is better."""
    if len(scores) < 2 or better == "neither":
        return None
    sign, names = -1 if better == "lower" else 1, [f"of {number}" for number in range(len(scores))]
    joined = scores[0].select("id", "cluster")
    for name, column in zip(names, scores, strict=True):
        joined = joined.join(column.select("id", (sign * pl.col("score")).alias(name)), on="id", validate="1:1")
    own = pl.when(pl.col("cluster").is_null()).then(pl.col("id"))
    sums = joined.sort("id").group_by("cluster", own.alias("own")).agg(pl.len().alias("size"), pl.col(names).sum())
    sums = sums.sort("cluster", "own", nulls_last=True)
    return ClusteredScores(sums.select(names).to_numpy(), sums["size"].to_numpy()) if joined.height else None


def _rankings(contests: Mapping[tuple[int, ...], ClusteredScores]) -> dict[tuple[int, ...], list[tuple[int, float]]]:
    """Rank the members of each contest, with the share of samples in which each leads."""
    pairs = zip(contests.items(), leads(list(contests.values())), strict=True)
    return {
        members: list(zip(pl.Series(-contest.means).rank("min").to_list(), led.tolist(), strict=True))
        for (members, contest), led in pairs
    }
