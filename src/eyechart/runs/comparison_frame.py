"""The table of a comparison, which shows itself as verdicts on differences instead of as twenty columns."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from eyechart.data.representation import represent
from eyechart.data.result import name_measure, speak

DIFFERENCE = {"value": "delta", "low": "delta_low", "high": "delta_high"}


class ComparisonFrame(pl.DataFrame):
    """Measures of models with their differences from the base; selections of it are ordinary tables."""

    def ranked(self) -> pl.DataFrame:
        """Keep the measures that models are ranked by, over all examples."""
        return self.filter(pl.col("by").is_null(), pl.col("better") != "neither")

    def __repr__(self) -> str:
        lines = map(_describe, self.ranked().iter_rows(named=True))
        return "\n".join(lines) or "no measures that models are ranked by"

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self, **_: object) -> str:  # polars passes settings of its own
        return represent("comparison", self)


def speak_difference(row: Mapping[str, Any]) -> str:
    """Write the difference of a measure from that of the base; empty where there is none."""
    if row["delta"] is None:
        return ""
    return speak({"unit": row["unit"]} | {name: row[column] for name, column in DIFFERENCE.items()})


def _describe(row: Mapping[str, Any]) -> str:
    difference = speak_difference(row)
    beside = f"; from {row['base']} {difference} (q = {row['q']:.2g})" if difference and row["q"] is not None else ""
    return f"{row['audit']}, {name_measure(row)} of {row['model']}: {speak(row)}{beside}"
