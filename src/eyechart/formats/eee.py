"""Read and write answers in the Every Eval Ever form, `..._samples.jsonl`, one line each.

The answer is the last value extracted as final, else the whole response. The form (version 0.3.0) has no
field for images, conditions and draws, so ours are in `metadata`, whose values are text; other converters write
`metadata.epoch`.

The form requires a score for every sample: ours is the one that fits the references (`scoring.auto_score`), named in
`metadata.score`; a sample without a reference has none, is marked so there, and gets 0. From 0.5 on an answer is right.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import polars as pl

from eyechart.base.errors import DataError
from eyechart.base.files import our_version, replacing
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import REASONS, USABLE, Predictions
from eyechart.data.store import Store
from eyechart.data.tables import STATUSES
from eyechart.formats.answer_files import (
    AnswerFile,
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

VERSION = "0.3.0"
RIGHT = 0.5
UNSCORED = "none: no reference"


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
    """Write the answers of each model in a run to a separate file."""
    names = {model: f"{quote(model, safe='')}_samples.jsonl" for model in store.models()}
    if not names:
        raise DataError(f"answers of a model in {store.folder}", "none", "run `eyechart predict`")
    return {name: write_eee(store.answers(model), store.data, folder / name) for model, name in names.items()}


def write_eee(predictions: Predictions, data: Dataset, to: Path) -> int:
    """Write the answers to the examples of a dataset, and count them; `to` should end in `_samples.jsonl`."""
    examples = data.examples.select("id", *_inputs(data.examples), pl.lit(1).alias("known"))
    answers = predictions.answers.rename({"answer": "given"})
    joined = answers.join(examples, on="id", how="left", validate="m:1", maintain_order="left")
    unknown = joined.filter(pl.col("known").is_null())
    if unknown.height:
        found = f"{unknown.height} to others, the first to {unknown['id'][0]!r}"
        raise DataError(
            f"answers of {predictions.model} to the examples of {data.name}", found, "use the dataset they belong to"
        )
    scoring = auto_score(data.examples)
    usable = pl.when(pl.col("status").is_in(USABLE)).then(pl.col("given"))
    scored = joined.with_columns(score(joined.with_columns(usable.alias("given")), scoring).alias("score"))
    with replacing(to) as draft:
        _make_samples(scored, predictions.model, data.name, scoring).write_ndjson(draft)
    return joined.height


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


def _make_samples(table: pl.DataFrame, model: str, name: str, scoring: str) -> pl.DataFrame:
    return table.select(
        pl.lit(VERSION).alias("schema_version"),
        pl.lit(f"{name}/{model}").alias("evaluation_id"),
        pl.lit(model).alias("model_id"),
        pl.lit(name).alias("evaluation_name"),
        pl.col("id").alias("sample_id"),
        _hash(table).alias("sample_hash"),
        pl.lit("single_turn").alias("interaction_type"),
        pl.struct(pl.col("question").alias("raw"), pl.col("reference"), pl.col("choices")).alias("input"),
        pl.struct(pl.concat_list("raw").list.drop_nulls().alias("raw")).alias("output"),
        _attribution().alias("answer_attribution"),
        pl.struct(pl.col("score").fill_null(0.0), (pl.col("score").fill_null(0.0) >= RIGHT).alias("is_correct")).alias(
            "evaluation"
        ),
        pl.col("status").replace_strict(REASONS, default=None, return_dtype=pl.String).alias("error"),
        _metadata(scoring).alias("metadata"),
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
