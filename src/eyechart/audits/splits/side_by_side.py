"""Several models on the same sets, a line each, as Tables 2 and 3 of the paper."""

from collections.abc import Mapping

import polars as pl

from eyechart.audits.splits.names import TAIL
from eyechart.probes import OWN
from eyechart.result import Result

MEANS = ("OOD mean", "OOD mean, language", "OOD mean, visual", "OOD mean, multimodal", "OOD drop", "pooled gap")


def models_table(results: Mapping[str, Result]) -> pl.DataFrame:
    """List the accuracy of each model on all judged examples and on every tail, the means over sets and the drop."""
    return pl.DataFrame([{"model": name} | _line(result) for name, result in results.items()], infer_schema_length=None)


def _line(result: Result) -> dict[str, float]:
    found = result.measures.filter(pl.col("condition") == OWN)
    tails = found.filter((pl.col("name") == "accuracy") & (pl.col("group") == TAIL))
    sizes = dict(tails.select("by", "value").iter_rows())
    named = dict(found.filter(pl.col("by").is_null()).select("name", "value").iter_rows())
    concepts = result.tables["sets"]["concept"]
    return (
        {"IID": named["accuracy"]}
        | {concept: sizes[concept] for concept in concepts if concept in sizes}
        | {name: named[name] for name in MEANS if name in named}
    )


def in_points(table: pl.DataFrame) -> str:
    """Write a table in Markdown, its shares as points with one decimal, as the paper prints them."""
    floats = [name for name in table.columns if table[name].dtype.is_float()]
    shown = table.with_columns((pl.col(floats) * 100).round(1)).select(pl.all().cast(pl.String).fill_null(""))
    lines = [table.columns, ["---"] * table.width, *shown.iter_rows()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
