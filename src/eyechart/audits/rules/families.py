"""Rules that are one finding: longer ones of the same answer, and those that meet the same examples.

Rules are taken from the shortest to the longest, of the same length the one that meets the most examples first. Each
joins a rule before it with the same answer that has some of its items and no others, or that meets the very same
examples; else it leads a family. A leading rule meets every example that any of its family meets.
"""

from itertools import combinations
from typing import Any

import polars as pl

Items = frozenset[tuple[str, str]]
SEED = 17


def find_families(met: pl.DataFrame, rules: pl.DataFrame) -> pl.DataFrame:
    """Give the family, named after its leading rule, of each rule that meets examples."""
    sizes = met.group_by("rule").agg(pl.len().alias("met"), pl.col("example").sort().hash(SEED).sum().alias("examples"))
    ordered = rules.join(sizes, on="rule", validate="1:1").sort("size", "met", "rule", descending=[False, True, False])
    family: dict[int, int] = {}
    by_items: dict[tuple[str, Items], int] = {}
    by_examples: dict[tuple[Any, ...], int] = {}
    for row in ordered.iter_rows(named=True):
        items, same = _items(row), (row["normal"], row["met"], row["examples"])
        lead = next((by_items[key] for key in _shorter(row["normal"], items) if key in by_items), None)
        lead = by_examples.get(same, row["rule"]) if lead is None else lead
        family[row["rule"]] = by_items[row["normal"], items] = lead
        by_examples.setdefault(same, lead)
    return pl.DataFrame(list(family.items()), schema={"rule": pl.Int64, "family": pl.Int64}, orient="row")


def _items(row: dict[str, Any]) -> Items:
    return frozenset([*(("word", one) for one in row["words"]), *(("object", one) for one in row["objects"])])


def _shorter(answer: str, items: Items) -> list[tuple[str, Items]]:
    """List what a rule is without some of its items, the shortest first."""
    ordered = sorted(items)
    return [(answer, frozenset(part)) for size in range(1, len(ordered)) for part in combinations(ordered, size)]
