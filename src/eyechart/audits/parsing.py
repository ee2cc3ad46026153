"""Report how many answers could be parsed under each condition, and how much the others could change the accuracy.

Answers that could not be parsed or obtained count as wrong in the audit `accuracy`, and are left out of every other
measure. The table `parsing` of each result gives their number, and the accuracy with them left out, counted as wrong,
and counted as right by chance (one option of k).
"""

import logging
from collections.abc import Callable
from dataclasses import replace

import polars as pl

from eyechart.audits.measures import score_rows
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import Predictions
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.result import Result, View
from eyechart.scoring import chosen_score, names_option

_log = logging.getLogger("eyechart.runs.run")

CHECKED = 1000  # answers
MOST = 0.5
LOST = ("unparsed", "failed", "missing")
ACCURACIES = {"left_out": pl.Float64, "as_wrong": pl.Float64, "as_chance": pl.Float64}

VIEW = View(
    "table",
    "parsing",
    "Answers that were not understood or not obtained",
    "Accuracy with these answers left out; counted as wrong; and counted as right by chance. Where "
    "the three differ much, fix the prompt before reading anything else.",
)

Probes = Callable[[str], pl.DataFrame]  # from the name of a condition


def with_parsing(result: Result, data: Dataset, predictions: Predictions, probes: Probes) -> Result:
    """Add the table `parsing` to a result, and show it where anything was lost."""
    asked = pl.col("condition").is_not_null() & (pl.col("status") != "left out")
    counts = result.tables["counts"].filter(asked)
    rates = _rates(counts)
    hurt = rates.filter(pl.col("unparsed") + pl.col("failed") > 0)["condition"]
    how = str(result.settings.get("score", "auto"))
    lines = [(name, *_accuracies(probes(name), data, predictions, how, name)) for name in hurt]
    accuracies = pl.DataFrame(lines, schema={"condition": pl.String, **ACCURACIES}, orient="row")
    table = rates.join(accuracies, on="condition", how="left", validate="1:1", maintain_order="left")
    views = (*result.views, VIEW) if lines else result.views
    return replace(result, tables={**result.tables, "parsing": table}, views=views)


def warn_of_unknown_options(data: Dataset, predictions: Predictions) -> None:
    """Warn if most answers name none of the options: they score 0, perhaps only because of their form."""
    if "choices" not in data.columns:
        return
    some = Predictions(predictions.model, predictions.under(PLAIN_CONDITION).head(CHECKED))
    examples = data.scan("choices").join(some.answers.lazy(), on="id", how="semi").collect()  # data may be large
    with_options = examples.filter(pl.col("choices").list.len() > 0)
    if 2 * with_options.height < examples.height:  # then they are scored as open answers
        return
    rows = some.beside(with_options, PLAIN_CONDITION).table
    unknown = rows.filter(~names_option(rows))
    if unknown.height > MOST * rows.height:
        message = (
            "%d of the first %d answers of %s name none of the options, such as %r: predictions:FILE,extract=yes reads "
            "whole responses, --score choice-index reads numbers, --score vqa or exact suits open answers"
        )
        _log.warning(message, unknown.height, rows.height, predictions.model, unknown["given"][0])


def _rates(counts: pl.DataFrame) -> pl.DataFrame:
    """Compute the parse rate under each condition: answers parsed / answers received."""
    n = {name: pl.col("n").filter(pl.col("status") == name).sum() for name in LOST}
    rates = counts.group_by("condition").agg(pl.col("n").sum().alias("asked"), **n).sort("condition")
    came = pl.col("asked") - pl.col("failed") - pl.col("missing")
    return rates.with_columns((1 - pl.col("unparsed") / came).alias("parsed"))


def _accuracies(
    probes: pl.DataFrame, data: Dataset, predictions: Predictions, how: str, condition: str
) -> tuple[float | None, ...]:
    """Compute the accuracy with lost answers left out, as wrong, and as right by chance."""
    examples = data.examples.with_columns(data.clusters().alias("cluster"))
    if "choices" in probes.columns:  # an audit offered other options
        examples = examples.drop("choices", strict=False).join(probes.select("id", "choices"), on="id", validate="1:1")
    asked = examples.join(probes, on="id", how="semi")
    answered = predictions.beside(asked, condition)
    rows = score_rows(answered, chosen_score(how, asked))
    chance = 1 / pl.col("choices").list.len() if "choices" in asked.columns else pl.lit(0.0)
    lost = answered.lost.with_columns(chance.fill_null(0.0).alias("chance"))
    right, n, by_chance = float(rows["accuracy"].sum()), rows.height + lost.height, float(lost["chance"].sum())
    left_out = right / rows.height if rows.height else None
    return left_out, right / n if n else None, (right + by_chance) / n if n else None
