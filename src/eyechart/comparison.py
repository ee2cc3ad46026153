"""Compare models by what one audit found about each of them on the same examples.

A measure that is the mean of a column of the rows is compared example by example: the mean difference to the base model
over the examples both have, its interval and its test cluster as everywhere. q is Benjamini-Hochberg over all
differences of the audit. Over all examples and in every group the models are also ranked, the best value first as the
measure declares it, and `first` is the share of bootstrap samples (whole clusters, drawn for all models together) in
which a model leads. Of constants and descriptions, where neither way is better, nobody is ranked.

Where a measure is a sum of weights times scores, a result may have them in its table `weights`: id, score, and the
weights under the name of the column that the measure is the mean of. Then the difference is no surer than the few
examples that carry it let it be (see `statistics.paired_sums`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import DataError
from eyechart.registry import unknown_name
from eyechart.result import Better, Result
from eyechart.statistics import adjust, no_surer_than_parts, paired_difference
from eyechart.statistics.rows import Floats
from eyechart.store import Store
from eyechart.tables import MEASURES, empty

KEY = ("name", "condition", "by", "group")
SHOWN = (*KEY, "unit", "better", "value", "low", "high", "n", "clusters")
SAMPLES = 1000  # of the bootstrap behind the ranks
AT_ONCE = 500_000  # clusters drawn together
SCHEMA = (
    {"audit": pl.String, "model": pl.String}
    | {name: empty(MEASURES).schema[name] for name in SHOWN}
    | {"base": pl.String, "delta": pl.Float64, "delta_low": pl.Float64, "delta_high": pl.Float64, "common": pl.Int64}
    | {"p": pl.Float64, "q": pl.Float64, "rank": pl.Int64, "first": pl.Float64}
)


def compare(results: Mapping[str, Result], data: Dataset | None = None, base: str | None = None) -> pl.DataFrame:
    """Set the results of one audit side by side, by model; the base is the first model unless another is named.

    `data` is needed where measures are broken down by columns of the examples.
    """
    base = _check(results, base)
    pieces = [_of_measure(results, key, data, base) for key in _keys(results)]
    table = pl.concat([pl.DataFrame(schema=SCHEMA), *pieces], how="diagonal_relaxed").select(*SCHEMA)
    return table.with_columns(pl.Series("q", adjust(table["p"].fill_null(np.nan))).fill_nan(None))


class Judged(NamedTuple):
    """A model of a run under the name it is compared by, with its results by audit."""

    name: str
    model: str
    run: Store
    results: Mapping[str, Result]


def judged_in(runs: Sequence[Store]) -> list[Judged]:
    """List the models of runs on the same data; a name that two runs have gets its run's."""
    if any(run.manifest.inputs != runs[0].manifest.inputs for run in runs):
        found = f"other data than in {runs[0].folder}"
        raise DataError("runs on the same data", found, "audit the models on one dataset, with one --limit and --seed")
    different = {run.folder.resolve(): run for run in runs}
    models = [(place, model, audits) for place, run in different.items() for model, audits in run.results().items()]
    names = [model for _, model, _ in models]
    short = _shorten(list(different))
    return [
        Judged(model if names.count(model) == 1 else f"{model} ({short[place]})", model, different[place], audits)
        for place, model, audits in models
    ]


def _shorten(places: Sequence[Path]) -> dict[Path, str]:
    """Name folders by the ends of their paths, as long as it takes to tell them apart."""
    for parts in range(1, max(len(place.parts) for place in places) + 1):
        names = ["/".join(place.parts[-parts:]) for place in places]
        if len(set(names)) == len(places):
            break
    return dict(zip(places, names, strict=True))


def results_of(runs: Sequence[Store]) -> dict[str, dict[str, Result]]:
    """Gather the results of runs on the same data, by audit and model."""
    gathered: dict[str, dict[str, Result]] = {}
    for judged in judged_in(runs):
        for audit, result in judged.results.items():
            gathered.setdefault(audit, {})[judged.name] = result
    return gathered


def _check(results: Mapping[str, Result], base: str | None) -> str:
    if not results:
        raise DataError("results to compare", "none", "judge a model first")
    for what in ("audit", "settings"):
        found = {model: getattr(result, what) for model, result in results.items()}
        if any(value != next(iter(found.values())) for value in found.values()):
            advice = "judge the models by the same study"
            raise DataError(f"results with the same {what}", f"different ones for {', '.join(found)}", advice)
    if base is not None and base not in results:
        raise unknown_name("model to compare with", base, tuple(results))
    return base or next(iter(results))


def _keys(results: Mapping[str, Result]) -> Iterator[dict[str, str | None]]:
    """Name every measure once, in the order of the measures tables."""
    tables = [result.measures.select(KEY) for result in results.values()]
    return pl.concat(tables).unique(maintain_order=True).iter_rows(named=True)


def _of_measure(
    results: Mapping[str, Result], key: dict[str, str | None], data: Dataset | None, base: str
) -> pl.DataFrame:
    found = {model: _find(result, key) for model, result in results.items()}
    columns = {model: _column(results[model], row, data) for model, row in found.items() if row is not None}
    paired = {model: column for model, column in columns.items() if column is not None}
    rows = []
    for model, measure in found.items():
        if measure is not None:
            shown = {name: measure[name] for name in SHOWN}
            rows.append({"audit": results[model].audit, "model": model} | shown | _against(paired, model, base))
    table = pl.DataFrame(rows, schema_overrides=SCHEMA)
    return _ranked(table, paired, table["better"][0])


def _find(result: Result, key: dict[str, str | None]) -> dict[str, object] | None:
    rows = result.measures.filter(pl.col(name).eq_missing(pl.lit(value)) for name, value in key.items())
    return asdict(result.measure(**key)) if rows.height else None  # type: ignore[arg-type]  # a measure has a name


def _column(result: Result, measure: Mapping[str, object], data: Dataset | None) -> pl.DataFrame | None:
    """Take the scores of the examples that a measure is the mean of: id, cluster, score; weight and weighted if any."""
    of, by = measure["of"], measure["by"]
    if of is None or of not in result.rows.columns:
        return None
    rows = result.rows
    if by is not None and by not in rows.columns:
        if data is None or by not in data.examples.columns:
            return None
        rows = rows.join(data.examples.select("id", str(by)), on="id", how="left", validate="1:1")
    if by is not None:
        rows = rows.filter(pl.col(str(by)).cast(pl.String).fill_null("(none)") == measure["group"])
    column = rows.select("id", "cluster", pl.col(str(of)).cast(pl.Float64).alias("score")).drop_nulls("score")
    weights = result.tables.get("weights")
    if by is not None or weights is None or of not in weights.columns:
        return column
    summed = weights.select("id", weight=str(of), weighted="score")
    return column.join(summed, on="id", how="left", validate="1:1", maintain_order="left")


def _against(columns: Mapping[str, pl.DataFrame], model: str, base: str) -> dict[str, object]:
    """Measure the difference to the base on the examples both have."""
    if model == base or model not in columns or base not in columns:
        return {}
    both = columns[model].join(columns[base].drop("cluster"), on="id", validate="1:1", suffix="_base")
    if not both.height:
        return {}
    found = paired_difference(both["score"], both["score_base"], both["cluster"])
    if "weight" in both.columns and "weight_base" in both.columns:
        weights = _rescaled(both["weight"], columns[model]["weight"])
        found = no_surer_than_parts(found, both["weighted"], both["weighted_base"], weights, both["cluster"])
    names = ("base", "delta", "delta_low", "delta_high", "common", "p")
    return dict(zip(names, (base, found.value, found.low, found.high, found.n, found.p), strict=True))


def _rescaled(weights: pl.Series, every: pl.Series) -> pl.Series:
    """Let the weights of either sign sum to what they do over all examples of the model, as some may not be common."""
    weight = pl.col("weight")
    scale = {above: every.filter((every > 0) == above).sum() for above in (True, False)}
    whole = pl.when(weight > 0).then(scale[True]).otherwise(scale[False])
    summed = weight.sum().over(weight > 0)
    return weights.to_frame().select(pl.when(summed == 0).then(0.0).otherwise(weight * whole / summed)).to_series()


def _ranked(table: pl.DataFrame, columns: Mapping[str, pl.DataFrame], better: Better) -> pl.DataFrame:
    """Rank the models that can be compared example by example, on the examples all of them have."""
    if len(columns) < 2 or better == "neither":
        return table
    joined = next(iter(columns.values())).select("id", "cluster")
    for model, column in columns.items():
        score = -pl.col("score") if better == "lower" else pl.col("score")
        joined = joined.join(column.select("id", score.alias(f"of {model}")), on="id", validate="1:1")
    means, leads = _lead(joined.sort("id"), [f"of {model}" for model in columns])
    ranks = pl.Series(-means).rank("min").cast(pl.Int64)
    ranking = pl.DataFrame({"model": list(columns), "rank": ranks, "first": leads})
    return table.join(ranking, on="model", how="left", validate="1:1", maintain_order="left")


def _lead(scores: pl.DataFrame, names: list[str]) -> tuple[Floats, Floats]:
    """Average each column, and find how often it leads when whole clusters are drawn again; ties share the lead."""
    if not scores.height:
        return np.full(len(names), np.nan), np.full(len(names), np.nan)
    own = pl.when(pl.col("cluster").is_null()).then(pl.col("id"))
    sums = scores.group_by("cluster", own.alias("own")).agg(pl.len().alias("size"), pl.col(names).sum())
    sums = sums.sort("cluster", "own", nulls_last=True)
    totals, size = sums.select(names).to_numpy(), sums["size"].to_numpy()
    rng, leads = np.random.default_rng(0), np.zeros(len(names))
    for samples in _portions(SAMPLES, max(1, AT_ONCE // len(size))):
        drawn = rng.integers(0, len(size), (samples, len(size)))
        means = totals[drawn].sum(axis=1) / size[drawn].sum(axis=1)[:, None]
        ahead = means >= means.max(axis=1, keepdims=True) - 1e-12
        leads += (ahead / ahead.sum(axis=1, keepdims=True)).sum(axis=0)
    return totals.sum(axis=0) / size.sum(), leads / SAMPLES


def _portions(whole: int, most: int) -> Iterator[int]:
    return (min(most, whole - start) for start in range(0, whole, most))
