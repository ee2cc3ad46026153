"""Several models on the same sets: side by side (Tables 2 and 3 of the paper), and which would be chosen (Table 4).

splits-models      models.json: the accuracies of the models of a run on all sets, one line per model
splits-selection   selection.json: which checkpoint each strategy would have chosen among the models of a run
                   Each comes with a readable table in points, models.md or selection.md.

Of several checkpoints of a model the best is taken by its mean over the OOD test sets, over the OOD validation sets, or
by its accuracy on the validation split; only the last is available to those who do not know the coming shift. `lost`
is how much lower the OOD mean of the chosen one is than that of the one chosen by the OOD test sets, paired by example.
"""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from eyechart.audits.splits.settings import TAIL, VAL
from eyechart.base.errors import DataError
from eyechart.base.files import replacing
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.result import Measure, Result
from eyechart.data.store import Store
from eyechart.statistics import mean

BY = {"OOD test": "OOD mean", "OOD val": f"{VAL}OOD mean", "IID val": f"{VAL}accuracy"}
COLUMNS = ("strategy", "chosen", "by", "ood", "ood_low", "ood_high", "iid", "lost", "lost_low", "lost_high")
MEANS = ("OOD mean", "OOD mean, language", "OOD mean, visual", "OOD mean, multimodal", "OOD drop", "pooled gap")


def export_selection(store: Store, folder: Path) -> dict[str, int]:
    """Write which of the models of a run each strategy of model selection would have chosen."""
    return _write_table(selection_table(_judged(store)), folder / "selection.json")


def export_models(store: Store, folder: Path) -> dict[str, int]:
    """Write the accuracies of all models of a run on all sets, one line per model."""
    return _write_table(models_table(_judged(store)), folder / "models.json")


def _judged(store: Store) -> dict[str, Result]:
    judged = {model: results["splits"] for model, results in store.results().items() if "splits" in results}
    if not judged:
        raise DataError(f"judgements of the audit 'splits' in {store.folder}", "none", "run `eyechart audit -a splits`")
    return judged


def _write_table(table: pl.DataFrame, file: Path) -> dict[str, int]:
    with replacing(file) as draft:
        table.write_json(draft)
    read = file.with_suffix(".md")
    with replacing(read) as draft:
        draft.write_text(in_points(table), encoding="utf-8")
    return {file.name: table.height, read.name: table.height}


def models_table(results: Mapping[str, Result]) -> pl.DataFrame:
    """List the accuracy of each model on all judged examples and on every tail, the means over sets and the drop."""
    return pl.DataFrame([{"model": name} | _line(result) for name, result in results.items()], infer_schema_length=None)


def _line(result: Result) -> dict[str, float]:
    measures = result.measures.filter(pl.col("condition") == PLAIN_CONDITION)
    tails = measures.filter((pl.col("name") == "accuracy") & (pl.col("group") == TAIL))
    on_tail = dict(tails.select("by", "value").iter_rows())
    values = dict(measures.filter(pl.col("by").is_null()).select("name", "value").iter_rows())
    concepts = result.tables["sets"]["concept"]
    return (
        {"IID": values["accuracy"]}
        | {concept: on_tail[concept] for concept in concepts if concept in on_tail}
        | {name: values[name] for name in MEANS if name in values}
    )


def in_points(table: pl.DataFrame) -> str:
    """Write a table in Markdown, with shares as points to one decimal place, as the paper prints them."""
    floats = [name for name in table.columns if table[name].dtype.is_float()]
    points = table.with_columns((pl.col(floats) * 100).round(1)).select(pl.all().cast(pl.String).fill_null(""))
    lines = [table.columns, ["---"] * table.width, *points.iter_rows()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def selection_table(results: Mapping[str, Result]) -> pl.DataFrame:
    """Choose among checkpoints by each strategy; they must have been judged with `validation`."""
    measures = {
        strategy: {name: _measure(result, name, measure) for name, result in results.items()}
        for strategy, measure in BY.items()
    }
    best = {strategy: _best(values) for strategy, values in measures.items()}
    reference = results[best["OOD test"]]
    rows = [_row(strategy, name, results[name], reference) for strategy, name in best.items()]
    table = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    by = {strategy: values[best[strategy]].value for strategy, values in measures.items()}
    return table.with_columns(pl.col("strategy").replace_strict(by).alias("by"))


def _best(values: Mapping[str, Measure]) -> str:
    """Return the checkpoint of the highest value; ties go to the first in the alphabet."""
    return min(values, key=lambda name: (-values[name].value, name))


def _measure(result: Result, name: str, measure: str) -> Measure:
    if not (result.measures["name"] == measure).any():
        advice = "judge with validation=true on data with a val split in addition to the judged one"
        raise DataError(f"a measure {measure!r} of {name}", "none", advice)
    return result.measure(measure, PLAIN_CONDITION)


def _row(strategy: str, name: str, result: Result, reference: Result) -> tuple[object, ...]:
    ood, iid = (result.measure(measure, PLAIN_CONDITION) for measure in ("OOD mean", "accuracy"))
    return (strategy, name, None, ood.value, ood.low, ood.high, iid.value, *_lost(result, reference))


def _lost(result: Result, reference: Result) -> tuple[float, float, float]:
    """Estimate the loss with its interval; choosing the same checkpoint loses exactly nothing."""
    if result is reference:
        return 0.0, 0.0, 0.0
    column = "OOD mean"
    both = reference.rows.select("id", "cluster", column).join(
        result.rows.select("id", column), on="id", validate="1:1", suffix=" chosen"
    )
    shared = both.drop_nulls([column, f"{column} chosen"]).sort("id")
    loss = mean(shared[column] - shared[f"{column} chosen"], shared["cluster"], kind="differences")
    return loss.value, loss.low, loss.high
