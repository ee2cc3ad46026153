"""Write the form of VLMEvalKit: a TSV with `index`, `image_path`, `question`, options `A`, `B`, ... and `answer`."""

from pathlib import Path
from string import ascii_uppercase

import polars as pl

from eyechart.files import replacing
from eyechart.layout import Layout
from eyechart.writers.decoys.repaired import Repaired, export_with, file_stem, letters


def export_vlmeval(run: Layout, folder: Path) -> dict[str, int]:
    """Write one table of all splits, from the study of audit `decoys` in a run."""
    return export_with(write_vlmeval, run, folder)


def write_vlmeval(repaired: Repaired, folder: Path) -> dict[str, int]:
    """Write the table, and count its rows."""
    examples = repaired.examples
    most = int(examples["choices"].list.len().max() or 0)  # type: ignore[arg-type]  # a whole number
    answer = letters(examples)
    table = examples.select(
        pl.col("id").alias("index"),
        pl.coalesce("path", "image").alias("image_path"),
        "question",
        *(pl.col("choices").list.get(at, null_on_oob=True).alias(ascii_uppercase[at]) for at in range(most)),
        answer.alias("answer"),
        pl.col("question_type").alias("category"),
        "split",
    )
    name = f"{file_stem(repaired)}.tsv"
    with replacing(folder / name) as draft:
        table.write_csv(draft, separator="\t")
    return {name: table.height}
