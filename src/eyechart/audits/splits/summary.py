"""Table 1: how many groups each shortcut has, how many of them are imbalanced, and how large head and tail are."""

import polars as pl

from eyechart.audits.splits.groups import Grouped, imbalance
from eyechart.audits.splits.names import FAMILY
from eyechart.audits.splits.parts import JUDGED, TRAIN, VALIDATION

CONCEPTS: dict[str, type[pl.DataType]] = {
    "concept": pl.String,
    "family": pl.String,
    "train_n": pl.Int64,
    "train_groups": pl.Int64,
    "n": pl.Int64,
    "groups": pl.Int64,
    "imbalanced": pl.Int64,
    "head": pl.Int64,
    "tail": pl.Int64,
    "balanced": pl.Int64,
    "without": pl.Int64,
    "val_tail": pl.Int64,
    "threshold": pl.Float64,
    "imbalance": pl.Float64,
    "judged_imbalance": pl.Float64,
}


def concepts_table(part: pl.Series, labels: pl.DataFrame, grouped: dict[str, Grouped]) -> pl.DataFrame:
    """Count groups and examples of each concept; `imbalance` is E of Eq. 8 on train, else on what is judged."""
    rows = [_row(concept, labels[concept].filter(part == JUDGED), each) for concept, each in grouped.items()]
    return pl.DataFrame(rows, schema=CONCEPTS)


def _row(concept: str, judged_labels: pl.Series, grouped: Grouped) -> dict[str, object]:
    judged, train = (grouped.groups.filter(pl.col("part") == name) for name in (JUDGED, TRAIN))
    head, tail, val_tail = (
        _size(grouped, name, tail=side) for name, side in ((JUDGED, False), (JUDGED, True), (VALIDATION, True))
    )
    without = judged_labels.null_count()
    return {
        "concept": concept,
        "family": FAMILY.get(concept, "own"),
        "train_n": int(train["n"].sum()),
        "train_groups": train.height,
        "n": len(judged_labels),
        "groups": judged.height,
        "imbalanced": int(judged["imbalanced"].sum()),
        "head": head,
        "tail": tail,
        "balanced": len(judged_labels) - without - head - tail,
        "without": without,
        "val_tail": val_tail,
        "threshold": judged["threshold"][0] if judged.height else None,
        "imbalance": imbalance(train if train.height else judged),
        "judged_imbalance": imbalance(judged),
    }


def _size(grouped: Grouped, part: str, *, tail: bool) -> int:
    return int(grouped.answers.filter((pl.col("part") == part) & (pl.col("tail") == tail))["n"].sum())


def groups_table(grouped: dict[str, Grouped]) -> pl.DataFrame:
    """List the groups of the judged examples, of each concept the largest first."""
    return pl.concat([_groups(concept, each) for concept, each in grouped.items()])


def _groups(concept: str, grouped: Grouped) -> pl.DataFrame:
    judged = pl.col("part") == JUDGED
    sides = {"head": ~pl.col("tail"), "tail": pl.col("tail")}
    counts = (pl.col("n").filter(side).sum().alias(name) for name, side in sides.items())
    sizes = grouped.answers.filter(judged).group_by("group").agg(counts)
    found = grouped.groups.filter(judged).join(sizes, on="group", how="left", validate="1:1")
    return found.sort("n", "group", descending=[True, False]).select(
        pl.lit(concept).alias("concept"), "group", "n", "answers", "entropy", "imbalanced", "head", "tail"
    )
