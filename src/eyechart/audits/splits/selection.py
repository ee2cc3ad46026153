"""Which checkpoint would have been chosen, and what the choice costs (Table 4 of the paper).

Of several checkpoints of a model the best is taken by its mean over the OOD test sets, over the OOD validation sets, or
by its accuracy on the validation split; only the last is open to somebody who does not know the shift to come. `lost`
is how much lower the OOD mean of the chosen one is than that of the one chosen by the OOD test sets, paired by example.
"""

from collections.abc import Mapping

import polars as pl

from eyechart.audits.splits.names import VAL
from eyechart.errors import DataError
from eyechart.probes import OWN
from eyechart.result import Measure, Result
from eyechart.statistics import mean

BY = {"OOD test": "OOD mean", "OOD val": f"{VAL}OOD mean", "IID val": f"{VAL}accuracy"}
COLUMNS = ("strategy", "chosen", "by", "ood", "ood_low", "ood_high", "iid", "lost", "lost_low", "lost_high")


def selection_table(results: Mapping[str, Result]) -> pl.DataFrame:
    """Choose among checkpoints by each strategy; their judgements must have been asked with `validation`."""
    found = {
        strategy: {name: _measure(result, name, measure) for name, result in results.items()}
        for strategy, measure in BY.items()
    }
    best = {strategy: _best(values) for strategy, values in found.items()}
    reference = results[best["OOD test"]]
    rows = [_row(strategy, name, results[name], reference) for strategy, name in best.items()]
    table = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    by = {strategy: values[best[strategy]].value for strategy, values in found.items()}
    return table.with_columns(pl.col("strategy").replace_strict(by).alias("by"))


def _best(values: Mapping[str, Measure]) -> str:
    """Name the checkpoint of the highest value, of equals the first in the alphabet."""
    return min(values, key=lambda name: (-values[name].value, name))


def _measure(result: Result, name: str, measure: str) -> Measure:
    if not (result.measures["name"] == measure).any():
        advice = "judge with validation=true on data with a val split beside the judged one"
        raise DataError(f"a measure {measure!r} of {name}", "none", advice)
    return result.measure(measure, OWN)


def _row(strategy: str, name: str, result: Result, reference: Result) -> tuple[object, ...]:
    ood, iid = (result.measure(measure, OWN) for measure in ("OOD mean", "accuracy"))
    return (strategy, name, None, ood.value, ood.low, ood.high, iid.value, *_lost(result, reference))


def _lost(result: Result, reference: Result) -> tuple[float, float, float]:
    """Estimate the loss with its interval; who chooses the same is known to lose nothing."""
    if result is reference:
        return 0.0, 0.0, 0.0
    column = "OOD mean"
    both = reference.rows.select("id", "cluster", column).join(
        result.rows.select("id", column), on="id", validate="1:1", suffix=" chosen"
    )
    known = both.drop_nulls([column, f"{column} chosen"]).sort("id")
    found = mean(known[column] - known[f"{column} chosen"], known["cluster"], kind="differences")
    return found.value, found.low, found.high
