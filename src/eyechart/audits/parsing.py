"""How many answers could be read, condition by condition, and what it would change if the others were known.

Answers that were not understood or not obtained are left out of every measure. The table `parsing` of each result says
how many they are, and the accuracy with them left out, taken as wrong, and taken as right by chance (one option of k).
"""

import logging
from collections.abc import Callable
from dataclasses import replace

import polars as pl

from eyechart.audits.measuring import score_rows
from eyechart.dataset import Dataset
from eyechart.predictions import Predictions
from eyechart.probes import OWN
from eyechart.result import Result, View
from eyechart.scoring import chosen_score, names_option

_log = logging.getLogger("eyechart.run")

LOOKED_AT, MOST = 1000, 0.5
LOST = ("unparsed", "failed", "missing")
TAKEN = {"left_out": pl.Float64, "as_wrong": pl.Float64, "as_chance": pl.Float64}  # accuracies

VIEW = View(
    "table",
    "parsing",
    "Answers that were not understood or not obtained",
    "Accuracy with those answers left out, as everywhere here; taken as wrong; and as right by chance. Where the three "
    "differ much, mend the prompt before reading anything else.",
)

Probes = Callable[[str], pl.DataFrame]  # from the name of a condition


def with_parsing(result: Result, data: Dataset, predictions: Predictions, probes: Probes) -> Result:
    """Add the table `parsing` to a result, and show it where anything was lost."""
    counts = result.tables["counts"].filter(pl.col("condition").is_not_null())
    rates = _rates(counts)
    hurt = rates.filter(pl.col("unparsed") + pl.col("failed") > 0)["condition"]
    how = str(result.settings.get("score", "auto"))
    taken = [(name, *_sensitivity(probes(name), data, predictions, how, name)) for name in hurt]
    accuracies = pl.DataFrame(taken, schema={"condition": pl.String, **TAKEN}, orient="row")
    table = rates.join(accuracies, on="condition", how="left", validate="1:1", maintain_order="left")
    views = (*result.views, VIEW) if taken else result.views
    return replace(result, tables={**result.tables, "parsing": table}, views=views)


def tell_unknown_options(data: Dataset, predictions: Predictions) -> None:
    """Warn where most answers name none of the options, which scores 0 and may be a matter of form alone."""
    if "choices" not in data.columns:
        return
    some = Predictions(predictions.model, predictions.under(OWN).head(LOOKED_AT))
    known = data.scan("choices").join(some.answers.lazy(), on="id", how="semi").collect()  # data may be large
    asked = known.filter(pl.col("choices").list.len() > 0)
    if 2 * asked.height < known.height:  # then they are scored as open answers
        return
    rows = some.beside(asked, OWN).table
    strange = rows.filter(~names_option(rows))
    if strange.height > MOST * rows.height:
        told = "%d of the first %d answers of %s name none of the options, as %r: predictions:FILE,extract=yes finds "
        told += "options in what was said, --score choice-index takes numbers, --score vqa or exact takes open answers"
        _log.warning(told, strange.height, rows.height, predictions.model, strange["given"][0])


def _rates(counts: pl.DataFrame) -> pl.DataFrame:
    """Give the parse rate: answers that were understood / answers that came."""
    n = {name: pl.col("n").filter(pl.col("status") == name).sum() for name in LOST}
    found = counts.group_by("condition").agg(pl.col("n").sum().alias("asked"), **n).sort("condition")
    came = pl.col("asked") - pl.col("failed") - pl.col("missing")
    return found.with_columns((1 - pl.col("unparsed") / came).alias("parsed"))


def _sensitivity(
    probes: pl.DataFrame, data: Dataset, predictions: Predictions, how: str, condition: str
) -> tuple[float | None, ...]:
    examples = data.examples.with_columns(data.clusters().alias("cluster"))
    if "choices" in probes.columns:  # an audit offered other options
        examples = examples.drop("choices", strict=False).join(probes.select("id", "choices"), on="id", validate="1:1")
    asked = examples.join(probes, on="id", how="semi")
    answered = predictions.beside(asked, condition)
    rows = score_rows(answered, chosen_score(how, asked))
    chance = 1 / pl.col("choices").list.len() if "choices" in asked.columns else pl.lit(0.0)
    lost = answered.lost.with_columns(chance.fill_null(0.0).alias("chance"))
    right, n, hoped = float(rows["accuracy"].sum()), rows.height + lost.height, float(lost["chance"].sum())
    left_out = right / rows.height if rows.height else None
    return left_out, right / n if n else None, (right + hoped) / n if n else None
