"""Write answers in the Every Eval Ever form, a line each: what any tool that knows the form can read again.

The form (version 0.3.0) has no field for images, conditions and draws, so they stand in `metadata`, whose values are
text. It wants a score of every sample: ours is the one that fits the references (`scoring.auto_score`), named in
`metadata.score`; a sample without a reference has none, says so there, and carries 0. Right is a score of 0.5 or more.
"""

from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import DataError
from eyechart.files import our_version, replacing
from eyechart.predictions import REASONS, USABLE, Predictions
from eyechart.scoring import auto_score, score
from eyechart.store import Store

VERSION = "0.3.0"
RIGHT = 0.5
UNSCORED = "none: no reference"


def export_eee(store: Store, folder: Path) -> dict[str, int]:
    """Write the answers of every model in a run, a file each."""
    names = {model: f"{quote(model, safe='')}_samples.jsonl" for model in store.models()}
    if not names:
        raise DataError(f"answers of a model in {store.folder}", "none", "run `eyechart predict`")
    return {name: write_eee(store.answers(model), store.data, folder / name) for model, name in names.items()}


def write_eee(predictions: Predictions, data: Dataset, to: Path) -> int:
    """Write the answers to the examples of a dataset, and count them; `to` should end in `_samples.jsonl`."""
    examples = data.examples.select("id", *_inputs(data.examples), pl.lit(1).alias("known"))
    answers = predictions.answers.rename({"answer": "given"})
    joined = answers.join(examples, on="id", how="left", validate="m:1", maintain_order="left")
    strangers = joined.filter(pl.col("known").is_null())
    if strangers.height:
        found = f"{strangers.height} to others, first {strangers['id'][0]!r}"
        raise DataError(f"answers of {predictions.model} to the examples of {data.name}", found, "bring their dataset")
    how = auto_score(data.examples)
    scored = joined.with_columns(score(_scorable(joined), how).alias("score"))
    with replacing(to) as draft:
        _lay_out(scored, predictions.model, data.name, how).write_ndjson(draft)
    return joined.height


def _inputs(examples: pl.DataFrame) -> list[pl.Expr]:
    """Select what the form tells of an example, missing columns as null."""
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


def _scorable(joined: pl.DataFrame) -> pl.DataFrame:
    usable = pl.when(pl.col("status").is_in(USABLE)).then(pl.col("given"))
    return joined.with_columns(usable.alias("given"))


def _lay_out(table: pl.DataFrame, model: str, name: str, how: str) -> pl.DataFrame:
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
        _metadata(how).alias("metadata"),
    )


def _hash(table: pl.DataFrame) -> pl.Series:
    """Hash what was asked and its references, as the form defines it."""
    texts = table.select(pl.col("question") + pl.col("reference").list.join("")).to_series()
    return pl.Series([sha256(text.encode()).hexdigest() for text in texts], dtype=pl.String)


def _attribution() -> pl.Expr:
    """Say how the answer came out of the response; none where there is no answer."""
    same = pl.col("given").eq_missing(pl.col("raw"))
    item = pl.struct(
        pl.lit(0).alias("turn_idx"),
        pl.lit("output.raw").alias("source"),
        pl.col("given").alias("extracted_value"),
        pl.when(same).then(pl.lit("none")).otherwise(pl.lit("custom")).alias("extraction_method"),
        pl.lit(value=True).alias("is_terminal"),
    )
    return pl.when(pl.col("given").is_null()).then(pl.concat_list(item).list.head(0)).otherwise(pl.concat_list(item))


def _metadata(how: str) -> pl.Expr:
    scored = pl.when(pl.col("score").is_null()).then(pl.lit(UNSCORED)).otherwise(pl.lit(how))
    return pl.struct(
        pl.col("condition"),
        pl.col("draw").cast(pl.String),
        pl.col("status"),
        pl.col("image").fill_null(""),
        scored.alias("score"),
        pl.lit(f"eyechart {our_version()}").alias("written_by"),
    )
