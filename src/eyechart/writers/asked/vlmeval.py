"""Write the questions of a run as tables of VLMEvalKit: `index`, `image_path`, `question` and `eyechart`.

VLMEvalKit takes an index that looks like a number for one, and 007 for 7. So `index` only counts, and the id stands in
`eyechart` behind a colon; the tool hands that column through, and the reader finds the id there.
"""

from pathlib import Path

import polars as pl

from eyechart.files import replacing
from eyechart.layout import Layout
from eyechart.readers.logs.vlmeval import OUR_COLUMN, OUR_MARK
from eyechart.writers.asked.questions import Asked, Guide, export_asked

GUIDE = Guide(
    "VLMEvalKit",
    "LMUData=. python run.py --data plain --model MODEL --mode infer      # each name is a custom dataset",
    "outputs/MODEL/MODEL_{name}.xlsx",
)


def export_vlmeval(run: Layout, folder: Path) -> dict[str, int]:
    """Write what a run asks, a table for each condition, for VLMEvalKit to ask."""
    return export_asked(run, folder, write_vlmeval, GUIDE)


def write_vlmeval(asked: Asked, folder: Path) -> str:
    """Write the table of one condition."""
    table = asked.table.with_row_index("index").select(
        "index",
        pl.col("picture").alias("image_path"),
        pl.col("prompt").alias("question"),
        (pl.lit(OUR_MARK) + pl.col("id")).alias(OUR_COLUMN),
    )
    name = f"{asked.name}.tsv"
    with replacing(folder / name) as draft:
        table.write_csv(draft, separator="\t")
    return name
