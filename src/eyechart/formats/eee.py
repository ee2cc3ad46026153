"""Read and write answers in the Every Eval Ever form: `..._samples.jsonl`, one line each, and the aggregates beside it.

The answer is the last value extracted as final, else the whole response. The form (version 0.3.0) has no
field for images, conditions and draws, so ours are in `metadata`, whose values are text; other converters write
`metadata.epoch`.

The form requires a score for every sample: ours is the one that fits the references (`scoring.auto_score`), named in
`metadata.score`; a sample without a reference has none, is marked so there, and gets 0. From 0.5 on an answer is right.

A run is written as its stores keep it, `data/BENCHMARK/DEVELOPER/MODEL/UUID.json` and `UUID_samples.jsonl`. The
aggregates are the mean score under each condition, in which unparsed and failed answers count as wrong, as in the
samples, and the overall measures of the audits for which one direction is better.
"""

import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl

from eyechart.base.errors import DataError
from eyechart.base.files import our_version, replacing
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import USABLE, Predictions, why_lost
from eyechart.data.result import Result
from eyechart.data.store import Store
from eyechart.data.tables import STATUSES
from eyechart.formats.answer_files import AnswerFile
from eyechart.formats.log_rows import (
    AnswerRow,
    LogOptions,
    Sample,
    check_one_model,
    count_draws,
    member,
    read_samples,
    read_whole_number,
    tabulate_answers,
    write_answer,
    write_key,
)
from eyechart.formats.rows import CountedTable, noted
from eyechart.scoring import auto_score, score
from eyechart.statistics import mean

VERSION = "0.3.0"
RIGHT = 0.5
UNSCORED = "none: no reference"
LEVEL = 0.95
_NOT_IN_PATHS = re.compile(r'[<>:"/\\|?*\x00-\x1f]|[. ]+$')
_RESERVED = re.compile(r"(?:data|con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\..*)?", re.IGNORECASE)
_UNKNOWN = "unknown"
_AVERAGE = "accuracy/"  # before the condition: the key of an average, which its samples name


def read_eee_log(files: Sequence[AnswerFile], options: LogOptions) -> CountedTable:  # noqa: ARG001 - part of the contract
    """Read the answer of each line."""
    samples, counts = read_samples(files)
    check_one_model((sample.get("model_id") for sample in samples), files[0].source.name)
    ours = any(member(sample, "metadata", "draw") is not None for sample in samples)
    table = tabulate_answers(_read_row(sample, "draw" if ours else "epoch") for sample in samples)
    several = sum(len(_responses(sample)) > 1 for sample in samples)
    counts.append(noted("sample with several responses, the first kept as raw", several))
    return CountedTable(table if ours else count_draws(table), counts)


def export_eee(store: Store, folder: Path) -> dict[str, int]:
    """Write the answers of each model in a run, and the aggregates of them."""
    models = store.models()
    if not models:
        raise DataError(f"answers of a model in {store.folder}", "none", "run `eyechart predict`")
    written: dict[str, int] = {}
    for model in models:
        written |= _write_evaluation(store, model, folder)
    return written


def write_eee(predictions: Predictions, data: Dataset, to: Path) -> int:
    """Write the answers to the examples of a dataset, and count them; `to` should end in `_samples.jsonl`."""
    scored = _score_answers(predictions, data)
    return _write_samples(scored, f"{data.name}/{predictions.model}", predictions.model, data, to)


def _write_evaluation(store: Store, model: str, folder: Path) -> dict[str, int]:
    """Write the samples and the aggregates of a model to where a store keeps them."""
    developer, _, name = model.rpartition("/")
    place = "/".join(map(_name_folder, (store.data.name, developer or _UNKNOWN, name)))
    stem = f"data/{place}/{UUID(sha256(f'{store.data.name}/{model}'.encode()).hexdigest()[:32], version=4)}"
    samples = f"{stem}_samples.jsonl"
    stamp = f"{time.time():.3f}"
    evaluation = f"{store.data.name}/{model}/{stamp}"
    scored = _score_answers(store.answers(model), store.data)
    height = _write_samples(scored, evaluation, model, store.data, folder / samples)
    conditions = scored.group_by("condition", maintain_order=True)
    averages = [_average(rows, str(condition), store.data) for (condition,), rows in conditions]
    results = [*averages, *_list_measures(store.results().get(model, {}), store.data.name)]
    with (folder / samples).open("rb") as file:
        checksum = file_digest(file, "sha256").hexdigest()
    record = _describe(evaluation, model, stamp) | {
        "evaluation_results": [result for result in results if result is not None],
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": samples,
            "hash_algorithm": "sha256",
            "checksum": checksum,
            "total_rows": height,
        },
    }
    with replacing(folder / f"{stem}.json") as draft:
        draft.write_text(json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False), encoding="utf-8")
    return {samples: height, f"{stem}.json": len(record["evaluation_results"])}


def _name_folder(name: str) -> str:
    """Write a name as a folder that every file system takes, and that no store uses itself."""
    plain = _NOT_IN_PATHS.sub("_", name) or "_"
    return f"{plain}_" if _RESERVED.fullmatch(plain) else plain


def _score_answers(predictions: Predictions, data: Dataset) -> pl.DataFrame:
    """Join answers to their examples, and score those to examples with a reference."""
    examples = data.examples.select("id", *_inputs(data.examples), pl.lit(1).alias("known"))
    answers = predictions.answers.rename({"answer": "given"})
    joined = answers.join(examples, on="id", how="left", validate="m:1", maintain_order="left")
    unknown = joined.filter(pl.col("known").is_null())
    if unknown.height:
        found = f"{unknown.height} to others, the first to {unknown['id'][0]!r}"
        raise DataError(
            f"answers of {predictions.model} to the examples of {data.name}", found, "use the dataset they belong to"
        )
    usable = pl.when(pl.col("status").is_in(USABLE)).then(pl.col("given"))
    scores = score(joined.with_columns(usable.alias("given")), auto_score(data.examples))
    return joined.with_columns(scores.alias("score"))


def _write_samples(scored: pl.DataFrame, evaluation: str, model: str, data: Dataset, to: Path) -> int:
    with replacing(to) as draft:
        _make_samples(scored, evaluation, model, data).write_ndjson(draft)
    return scored.height


def _describe(evaluation: str, model: str, stamp: str) -> dict[str, Any]:
    """Describe where the aggregates come from; what a run does not know is unknown, as the form allows."""
    unsaid = {"deployment_type": _UNKNOWN, "model_availability": _UNKNOWN}
    developer = model.rpartition("/")[0] or _UNKNOWN
    return {
        "schema_version": VERSION,
        "evaluation_id": evaluation,
        "retrieved_timestamp": stamp,
        "source_metadata": {
            "source_name": "eyechart",
            "source_type": "evaluation_run",
            "source_organization_name": _UNKNOWN,
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "eyechart", "version": our_version()},
        "model_info": {"name": model, "id": model, "developer": developer, "additional_details": unsaid},
    }


def _average(rows: pl.DataFrame, condition: str, data: Dataset) -> dict[str, Any] | None:
    """Average the scores under a condition, over draws and then over examples; None if there is no reference."""
    scored = rows.drop_nulls("score").group_by("id", maintain_order=True)
    examples = scored.agg(pl.col("score").mean(), pl.col("image").first())
    if examples.is_empty():
        return None
    found = mean(examples["score"], examples["image"])
    metric = {
        "metric_id": "accuracy",
        "metric_kind": "accuracy",
        "metric_unit": "proportion",
        "metric_parameters": {"condition": condition, "score": auto_score(data.examples)},
        "lower_is_better": False,
        "score_type": "continuous",
        "min_score": 0.0,
        "max_score": 1.0,
    }
    result = _result(f"{_AVERAGE}{condition}", data.name, metric, found._asdict())
    lost = rows.filter(~pl.col("status").is_in(USABLE))["status"].value_counts().sort("status").rows()
    result["score_details"]["details"] = {f"{status}, counted as wrong": str(n) for status, n in lost}
    return result


def _list_measures(results: Mapping[str, Result], dataset: str) -> Iterator[dict[str, Any]]:
    """Write the overall measures of a model's audits for which one direction is better."""
    wanted = pl.col("by").is_null() & (pl.col("better") != "neither") & pl.col("value").is_finite()
    for audit, result in results.items():
        for row in result.measures.filter(wanted).iter_rows(named=True):
            key = "/".join(row[name] for name in ("name", "condition") if row[name] is not None)
            metric = {
                "metric_id": f"eyechart.{audit}.{row['name']}",
                "metric_unit": "proportion" if row["unit"] == "points" else row["unit"],
                "metric_parameters": {"condition": row["condition"], "score": row["score"]},
                "lower_is_better": row["better"] == "lower",
            }
            yield _result(f"{audit}/{key}", dataset, metric, row)


def _result(key: str, dataset: str, metric: dict[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Write a number, with its interval if it has one; the samples name the averages of their scores by the key."""
    interval = {"lower": found["low"], "upper": found["high"], "confidence_level": LEVEL}
    known = all(bound is not None and math.isfinite(bound) for bound in (found["low"], found["high"]))
    uncertainty = {"num_samples": found["n"]} | ({"confidence_interval": interval} if known else {})
    return {
        "evaluation_result_id": key,
        "evaluation_name": dataset,
        "source_data": {"dataset_name": dataset, "source_type": "other"},
        "metric_config": metric,
        "score_details": {"score": found["value"], "uncertainty": uncertainty},
    }


def _read_row(sample: Sample, draw_field: str) -> AnswerRow:
    status = member(sample, "metadata", "status")
    draw = member(sample, "metadata", draw_field)
    responses = _responses(sample)
    raw = responses[0] if responses else None
    known = isinstance(status, str) and status in STATUSES
    answer = _extracted(sample)
    if answer is None and not known:
        answer = raw
    failed = sample.get("error") is not None or answer is None
    return AnswerRow(
        id=write_key(sample.get("sample_id")),
        answer=answer if known or not failed else None,
        raw=raw,
        status=str(status) if known else "failed" if failed else "ok",
        draw=0 if draw is None else read_whole_number(draw),
        condition=write_key(member(sample, "metadata", "condition")),
    )


def _extracted(sample: Sample) -> str | None:
    listed = sample.get("answer_attribution")
    values = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    final = [one for one in values if one.get("is_terminal") is not False] or values
    return write_answer(final[-1].get("extracted_value")) if final else None


def _responses(sample: Sample) -> list[str]:
    raw = member(sample, "output", "raw")
    if raw is None:  # a conversation: the model's last turn
        messages = sample.get("messages")
        turns = messages if isinstance(messages, list) else []
        raw = [member(turn, "content") for turn in turns if member(turn, "role") == "assistant"][-1:]
    responses = raw if isinstance(raw, list) else [raw]
    return [text for text in map(write_answer, responses) if text is not None]


def _inputs(examples: pl.DataFrame) -> list[pl.Expr]:
    """Select what the form records of an example, missing columns as null."""
    lists = {
        name: pl.col(name) if name in examples.columns else pl.lit(None, pl.List(pl.String))
        for name in ("answers", "choices")
    }
    several = pl.when(lists["answers"].list.len() > 0).then(lists["answers"].list.drop_nulls())
    reference = pl.coalesce(several, pl.concat_list(pl.col("answer")).list.drop_nulls())
    return [
        pl.col("image", "answer"),
        pl.col("question").fill_null("").alias("question"),
        reference.alias("reference"),
        *(column.alias(name) for name, column in lists.items()),
    ]


def _make_samples(table: pl.DataFrame, evaluation: str, model: str, data: Dataset) -> pl.DataFrame:
    return table.select(
        pl.lit(VERSION).alias("schema_version"),
        pl.lit(evaluation).alias("evaluation_id"),
        pl.lit(model).alias("model_id"),
        pl.lit(data.name).alias("evaluation_name"),
        pl.when(pl.col("score").is_not_null()).then(_AVERAGE + pl.col("condition")).alias("evaluation_result_id"),
        pl.col("id").alias("sample_id"),
        _hash(table).alias("sample_hash"),
        pl.lit("single_turn").alias("interaction_type"),
        pl.struct(pl.col("question").alias("raw"), pl.col("reference"), pl.col("choices")).alias("input"),
        pl.struct(pl.concat_list("raw").list.drop_nulls().alias("raw")).alias("output"),
        _attribution().alias("answer_attribution"),
        pl.struct(pl.col("score").fill_null(0.0), (pl.col("score").fill_null(0.0) >= RIGHT).alias("is_correct")).alias(
            "evaluation"
        ),
        why_lost(table).alias("error"),
        _metadata(auto_score(data.examples)).alias("metadata"),
    )


def _hash(table: pl.DataFrame) -> pl.Series:
    """Hash the question and its references, as the form defines it."""
    texts = table.select(pl.col("question") + pl.col("reference").list.join("")).to_series()
    return pl.Series([sha256(text.encode()).hexdigest() for text in texts], dtype=pl.String)


def _attribution() -> pl.Expr:
    """Describe how the answer was extracted from the response; empty where there is no answer."""
    same = pl.col("given").eq_missing(pl.col("raw"))
    item = pl.struct(
        pl.lit(0).alias("turn_idx"),
        pl.lit("output.raw").alias("source"),
        pl.col("given").alias("extracted_value"),
        pl.when(same).then(pl.lit("none")).otherwise(pl.lit("custom")).alias("extraction_method"),
        pl.lit(value=True).alias("is_terminal"),
    )
    return pl.when(pl.col("given").is_null()).then(pl.concat_list(item).list.head(0)).otherwise(pl.concat_list(item))


def _metadata(scoring: str) -> pl.Expr:
    scored = pl.when(pl.col("score").is_null()).then(pl.lit(UNSCORED)).otherwise(pl.lit(scoring))
    return pl.struct(
        pl.col("condition"),
        pl.col("draw").cast(pl.String),
        pl.col("status"),
        pl.col("image").fill_null(""),
        scored.alias("score"),
        pl.lit(f"eyechart {our_version()}").alias("written_by"),
    )
