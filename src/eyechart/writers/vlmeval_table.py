"""A table of VLMEvalKit, written so that the tool reads in it what is meant.

The tool opens it with pandas: an id that looks like a number becomes one (007 is 7), so our ids stand behind a mark in
a column of their own, which it hands through. An empty cell, and texts such as `None` and `NA`, become no text at all:
a question without a picture has an empty list of paths, and such options get a space behind them. And it runs a path in
square brackets as a Python expression, so such a path is written as a list that holds it.
"""

from pathlib import Path

import polars as pl

from eyechart.files import replacing
from eyechart.readers.logs.vlmeval import OUR_COLUMN, OUR_MARK

_MISSING = (
    *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
)


def write_table(table: pl.DataFrame, file: Path) -> str:
    """Write a table, and name its file."""
    with replacing(file) as draft:
        table.write_csv(draft, separator="\t")
    return file.name


def our_ids() -> pl.Expr:
    """Write the ids so that they come back as they are."""
    return (pl.lit(OUR_MARK) + pl.col("id")).alias(OUR_COLUMN)


def picture_cell(path: pl.Expr) -> pl.Expr:
    """Write the path of a picture, or that there is none."""
    listed = pl.concat_str(pl.lit("["), path.map_elements(repr, pl.String), pl.lit("]"))
    return pl.when(path.str.starts_with("[")).then(listed).otherwise(path).fill_null("[]").alias("image_path")


def text_cell(text: pl.Expr) -> pl.Expr:
    """Write a text that is read as a text."""
    return pl.when(text.is_in(_MISSING)).then(text + " ").otherwise(text)
