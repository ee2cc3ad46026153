"""Write a study of `splits`, and the models judged on it, in the formats of published ones.

splits             the layout of VQA-VS: Training, Val, IID-Test and OOD-Test/<S>, each with -Ques.json and -Ans.json
                   as bare lists aligned by position; also flat lists, ids/<S>_head.json and ids/<S>_tail.json
splits-gqa         <S>_head.json and <S>_tail.json with records by id, in the form of GQA
splits-models      models.json: the accuracies of the models of a run on all sets, one line per model (Tables 2 and 3)
splits-selection   selection.json: which checkpoint each strategy would have chosen among the models of a run (Table 4)

Ids are numbers where all of them are. The confidences of VQA's annotators are not among our data and are left out.

Of several checkpoints of a model the best is taken by its mean over the OOD test sets, over the OOD validation sets, or
by its accuracy on the validation split; only the last is available to those who do not know the coming shift. `lost`
is how much lower the OOD mean of the chosen one is than that of the one chosen by the OOD test sets, paired by example.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import orjson
import polars as pl

from eyechart.audits.splits.settings import HEAD, JUDGED, TAIL, TRAIN, VAL, VALIDATION, check_own_splits
from eyechart.audits.splits.study import answered, judged_rows, name_parts
from eyechart.base.errors import DataError
from eyechart.base.files import replacing
from eyechart.data.dataset import Dataset
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.result import Measure, Result
from eyechart.data.store import Store
from eyechart.statistics import mean

FOLDERS = {TRAIN: "Training", VALIDATION: "Val", JUDGED: "IID-Test"}
OOD = "OOD-Test"
_NUMBER = r"^(0|[1-9][0-9]{0,17})$"  # what comes back the same from a number


def export_splits(store: Store, folder: Path) -> dict[str, int]:
    """Write the sets of the study in a run in the layout of VQA-VS, and the ids of heads and tails."""
    return write_splits(store.data, _study(store), folder)


def export_gqa_ood(store: Store, folder: Path) -> dict[str, int]:
    """Write heads and tails of the study in a run as records by id."""
    return write_gqa_ood(store.data, _study(store), folder)


def write_splits(data: Dataset, study: Result, folder: Path) -> dict[str, int]:
    """Write every part and every OOD test set, and count the entries of each file."""
    written = {}
    for stem, examples in _sets(data, study):
        for ending, table in (("Ques", _questions(examples)), ("Ans", _annotations(examples))):
            name = f"{stem}-{ending}.json"
            with replacing(folder / name) as draft:
                table.write_json(draft)
            written[name] = table.height
    for concept in concepts_of(study):
        for side in (HEAD, TAIL):
            name = f"ids/{_file(concept)}_{side}.json"
            ids = _numbers(_on_side(study, concept, side).get_column("id"))
            with replacing(folder / name) as draft:
                draft.write_text(json.dumps(ids.to_list()), encoding="utf-8")
            written[name] = len(ids)
    return written


def write_gqa_ood(data: Dataset, study: Result, folder: Path) -> dict[str, int]:
    """Write records by id of the head and the tail of each concept."""
    written = {}
    for concept in concepts_of(study):
        for side in (HEAD, TAIL):
            name = f"{_file(concept)}_{side}.json"
            some = data.examples.join(_on_side(study, concept, side), on="id", how="semi").sort("id")
            records = dict(zip(some["id"], _records(some).iter_rows(named=True), strict=True))
            with replacing(folder / name) as draft:
                draft.write_bytes(orjson.dumps(records))
            written[name] = len(records)
    return written


def concepts_of(study: Result) -> list[str]:
    """Return the concepts of a study; reject one of another audit."""
    if study.audit != "splits":
        raise DataError("a study of the audit 'splits'", f"one of {study.audit!r}", "export the study of that audit")
    return study.tables["concepts"]["concept"].to_list()


def _study(store: Store) -> Result:
    studies = store.studies()
    if "splits" not in studies:
        found = f"studies of {', '.join(studies) or 'none'}"
        raise DataError(f"a study of the audit 'splits' in {store.folder}", found, "run `eyechart study -a splits`")
    return studies["splits"]


def _sets(data: Dataset, study: Result) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the path of each set, without its ending, and its examples, sorted by id."""
    check_own_splits(study.settings)
    examples = answered(data)
    parts = name_parts(examples, data.divided(learns=False).learn, judged_rows(study.rows)["id"])
    for part, name in FOLDERS.items():
        yield f"{name}/{name}", examples.examples.filter(parts == part)
    for concept in concepts_of(study):
        tail = examples.examples.join(_on_side(study, concept, TAIL), on="id", how="semi").sort("id")
        yield f"{OOD}/{_file(concept)}/{OOD}-{_file(concept)}", tail


def _on_side(study: Result, concept: str, side: str) -> pl.DataFrame:
    return study.rows.filter(pl.col(concept) == side).select("id")


def _questions(examples: pl.DataFrame) -> pl.DataFrame:
    return examples.select(_numbers(examples["image"]).alias("image_id"), "question", _question_id(examples))


def _annotations(examples: pl.DataFrame) -> pl.DataFrame:
    """List the reference answer, the human answers and the types under VQA's names."""
    texts = [
        (pl.col(name) if name in examples.columns else pl.lit(None, pl.String)).alias(name)
        for name in ("question_type", "answer_type")
    ]
    numbered = pl.struct(pl.element().alias("answer"), (pl.element().cum_count()).alias("answer_id"))
    answers = pl.col("answers") if "answers" in examples.columns else pl.concat_list("answer")
    return examples.select(
        texts[0],
        pl.col("answer").alias("multiple_choice_answer"),
        answers.list.drop_nulls().list.eval(numbered).alias("answers"),
        _numbers(examples["image"]).alias("image_id"),
        texts[1],
        _question_id(examples),
    )


def _question_id(examples: pl.DataFrame) -> pl.Series:
    return _numbers(examples["id"]).alias("question_id")


def _numbers(ids: pl.Series) -> pl.Series:
    """Convert ids to numbers if all of them survive the round trip."""
    return ids.cast(pl.Int64) if ids.str.contains(_NUMBER).all() else ids


def _records(examples: pl.DataFrame) -> pl.DataFrame:
    """List examples under GQA's names."""
    names = {"question": "question", "answer": "answer", "image": "imageId", "full_answer": "fullAnswer"}
    fields = [pl.col(ours).alias(theirs) for ours, theirs in names.items() if ours in examples.columns]
    nested = {
        "types": {"question_type": "structural", "semantic_type": "semantic", "detailed_type": "detailed"},
        "groups": {"group_local": "local", "group_global": "global"},
    }
    for field, columns in nested.items():
        present = [pl.col(ours).alias(theirs) for ours, theirs in columns.items() if ours in examples.columns]
        fields += [pl.struct(present).alias(field)] if present else []
    return examples.select(fields)


def _file(concept: str) -> str:
    return quote(concept, safe="+ ")


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
