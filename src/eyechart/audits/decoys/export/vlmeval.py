"""Write the form of VLMEvalKit: a TSV with `index`, `image_path`, `question`, options `A`, `B`, ... and `answer`."""

from pathlib import Path
from string import ascii_uppercase

import polars as pl

from eyechart.audits.decoys.export.repaired import Repaired, export_with, file_stem, letters
from eyechart.store import Store
from eyechart.writers.vlmeval_table import our_ids, picture_cell, text_cell, write_table


def export_vlmeval(store: Store, folder: Path) -> dict[str, int]:
    """Write one table of all splits, from the study of audit `decoys` in a run."""
    return export_with(write_vlmeval, store, folder)


def write_vlmeval(repaired: Repaired, folder: Path) -> dict[str, int]:
    """Write the table, and count its rows."""
    examples = repaired.examples
    most = int(examples["choices"].list.len().max() or 0)  # type: ignore[arg-type]  # a whole number
    options = (pl.col("choices").list.get(at, null_on_oob=True) for at in range(most))
    table = examples.select(
        pl.col("id").alias("index"),
        picture_cell(pl.coalesce("path", "image")),
        text_cell(pl.col("question")),
        *(text_cell(option).alias(letter) for letter, option in zip(ascii_uppercase, options, strict=False)),
        letters(examples).alias("answer"),
        pl.col("question_type").alias("category"),
        "split",
        our_ids(),
    )
    name = write_table(table, folder / f"{file_stem(repaired)}.tsv")
    return {name: table.height}
