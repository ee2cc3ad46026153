"""Write the questions of a run as tables of VLMEvalKit: what is asked, and what we know it by when it comes back.

`index` only counts; the id and the condition stand in columns that the tool hands through, where the reader finds them.
"""

from pathlib import Path

import polars as pl

from eyechart.readers.logs.vlmeval import OUR_CONDITION
from eyechart.store import Store
from eyechart.writers.asked.questions import Asked, Guide, export_asked
from eyechart.writers.vlmeval_table import our_ids, picture_cell, text_cell, write_table

GUIDE = Guide(
    "VLMEvalKit",
    lambda asked: f"LMUData=. python run.py --mode infer --model MODEL --data {' '.join(one.name for one in asked)}",
    "outputs/MODEL",
)


def export_vlmeval(store: Store, folder: Path) -> dict[str, int]:
    """Write what a run asks, a table for each condition, for VLMEvalKit to ask."""
    return export_asked(store, folder, write_vlmeval, GUIDE)


def write_vlmeval(asked: Asked, folder: Path) -> str:
    """Write the table of one condition."""
    table = asked.table.with_row_index("index").select(
        "index",
        picture_cell(pl.col("picture")),
        text_cell(pl.col("prompt")).alias("question"),
        our_ids(),
        pl.lit(asked.condition).alias(OUR_CONDITION),
    )
    return write_table(table, folder / f"{asked.name}.tsv")
