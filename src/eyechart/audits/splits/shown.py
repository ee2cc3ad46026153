"""What a reader looks at: answers of a few groups (Fig. 4, 8, 10), and examples with their concepts (Fig. 3)."""

import polars as pl

from eyechart.audits.splits.groups import Grouped
from eyechart.audits.splits.names import HEAD, TAIL
from eyechart.audits.splits.parts import JUDGED, TRAIN, Parts
from eyechart.errors import SettingError
from eyechart.hashing import hash_text
from eyechart.statistics import shares

GROUPS = 2  # of each concept
ANSWERS = 30  # of each group
EXAMPLES = 12
OOD = "OOD"


def answers_table(parts: Parts, labels: pl.DataFrame, grouped: dict[str, Grouped], chosen: str) -> pl.DataFrame:
    """Count the answers of a few groups in train, val, what is judged, and its OOD part.

    Of each concept the imbalanced groups with the largest tails are listed, and before them the `chosen` one
    (concept=group). Answers are in the order of their train counts, as in the paper.
    """
    concept, _, group = chosen.partition("=")
    if chosen and (concept not in grouped or not _has(grouped[concept], group)):
        found = f"{chosen!r}; concepts are {', '.join(grouped)}"
        raise SettingError("group as concept=group of the judged examples", found, "see the table `groups`")
    names = [concept, *grouped] if chosen else list(grouped)
    wanted = [[group] if chosen and at == 0 else _largest(grouped[name]) for at, name in enumerate(names)]
    told = parts.data.examples.select(parts.part.alias("part"), parts.cluster.alias("cluster"), "answer")
    tables = [
        _answers(name, grouped[name], one, told.filter(labels[name] == one))
        for name, some in zip(names, wanted, strict=True)
        for one in some
    ]
    return pl.concat(tables).unique(maintain_order=True) if tables else pl.DataFrame(schema=ANSWERS_SCHEMA)


def _has(grouped: Grouped, group: str) -> bool:
    return bool(((grouped.groups["part"] == JUDGED) & (grouped.groups["group"] == group)).any())


def _largest(grouped: Grouped) -> list[str]:
    rare = grouped.answers.filter((pl.col("part") == JUDGED) & pl.col("tail"))
    sizes = rare.group_by("group").agg(pl.col("n").sum()).sort("n", "group", descending=[True, False])
    return sizes.head(GROUPS)["group"].to_list()


def _answers(concept: str, grouped: Grouped, group: str, examples: pl.DataFrame) -> pl.DataFrame:
    own = grouped.answers.filter(pl.col("group") == group)
    judged = own.filter(pl.col("part") == JUDGED)
    side = pl.when("tail").then(pl.lit(TAIL)).when(~pl.col("tail")).then(pl.lit(HEAD)).alias("side")
    rare = examples.filter(pl.col("part") == JUDGED).join(judged.filter("tail"), on="answer", how="semi")
    every = pl.concat([examples, rare.with_columns(pl.lit(OOD).alias("part"))]).drop_nulls("part")
    known = own.filter(pl.col("part") == TRAIN)
    order = (known if known.height else judged).select("answer", pl.col("n").alias("rank"))
    return (
        shares(every, "answer", ["part"])
        .join(judged.select("answer", side, pl.col("cut").alias("judged_cut")), on="answer", how="left", validate="m:1")
        .join(order, on="answer", how="left", validate="m:1")
        .sort(pl.col("rank").fill_null(0), "answer", "part", descending=[True, False, False])
        .filter(pl.col("answer").rle_id() < ANSWERS)
        .select(pl.lit(concept).alias("concept"), pl.lit(group).alias("group"), *list(ANSWERS_SCHEMA)[2:])
    )


ANSWERS_SCHEMA: dict[str, type[pl.DataType]] = {
    "concept": pl.String,
    "group": pl.String,
    "answer": pl.String,
    "part": pl.String,
    "hits": pl.Int64,
    "n": pl.Int64,
    "share": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "side": pl.String,
    "judged_cut": pl.Float64,
}


def examples_table(parts: Parts, labels: pl.DataFrame) -> pl.DataFrame:
    """List a few judged examples, drawn by a hash of their ids, with all their concepts."""
    whole = parts.data.examples.select("id", "question", "answer").hstack(
        labels.rename({name: f"{name} " for name in labels.columns if name in ("id", "question", "answer")})
    )
    judged = whole.filter(parts.part == JUDGED)
    order = pl.Series("order", hash_text(judged["id"]))
    return judged.with_columns(order).sort("order", "id").head(EXAMPLES).drop("order")
