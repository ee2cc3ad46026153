"""The tables of studies and judgements, after the tables and figures of the paper.

concepts, groups       Table 1: the groups of each shortcut, how many are imbalanced, and the sizes of head and tail
jaccard, coincidence   Fig. 5: how much the shortcuts have in common
answers                Fig. 4, 8, 10: the answers of a few groups
shown                  Fig. 3: examples with their concepts
sets, sides            Table 2 and Fig. 6: the accuracies of a model on all sets, and its drops and gaps
"""

import numpy as np
import polars as pl

from eyechart.audits.splits.concepts import GroupedAnswers, imbalance
from eyechart.audits.splits.settings import FAMILY, HEAD, JUDGED, TAIL, TRAIN, VALIDATION
from eyechart.base.errors import SettingError
from eyechart.base.hashing import hash_text
from eyechart.data.result import Measure
from eyechart.statistics import shares
from eyechart.statistics.rows import Floats

GROUPS = 2  # of each concept
ANSWERS = 30  # of each group
EXAMPLES = 12
OOD = "OOD"
COMPARED = {"drop": "drop", "gap": "gap", "matched": "matched gap"}  # columns: measures
FIELDS = (
    *(name for side in (HEAD, TAIL) for name in (f"n_{side}", side, f"{side}_low", f"{side}_high")),
    *(f"{column}{end}" for column in COMPARED for end in ("", "_low", "_high", "_q")),
)
SHARES = tuple(name for name in FIELDS if not name.startswith("n_") and not name.endswith("_q"))
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


def concepts_table(part: pl.Series, labels: pl.DataFrame, grouped: dict[str, GroupedAnswers]) -> pl.DataFrame:
    """Count groups and examples of each concept; `imbalance` is E of Eq. 8 on train, else on the judged examples."""
    rows = [_concepts_row(concept, labels[concept].filter(part == JUDGED), each) for concept, each in grouped.items()]
    return pl.DataFrame(rows, schema=CONCEPTS)


def _concepts_row(concept: str, judged_labels: pl.Series, grouped: GroupedAnswers) -> dict[str, object]:
    judged, train = (grouped.groups.filter(pl.col("part") == name) for name in (JUDGED, TRAIN))
    head, tail, val_tail = (
        grouped.size(name, tail=side) for name, side in ((JUDGED, False), (JUDGED, True), (VALIDATION, True))
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


def groups_table(grouped: dict[str, GroupedAnswers]) -> pl.DataFrame:
    """List the groups of the judged examples, the largest of each concept first."""
    return pl.concat([_groups(concept, each) for concept, each in grouped.items()])


def _groups(concept: str, grouped: GroupedAnswers) -> pl.DataFrame:
    judged = pl.col("part") == JUDGED
    sides = {"head": ~pl.col("tail"), "tail": pl.col("tail")}
    counts = (pl.col("n").filter(side).sum().alias(name) for name, side in sides.items())
    sizes = grouped.answers.filter(judged).group_by("group").agg(counts)
    joined = grouped.groups.filter(judged).join(sizes, on="group", how="left", validate="1:1")
    return joined.sort("n", "group", descending=[True, False]).select(
        pl.lit(concept).alias("concept"), "group", "n", "answers", "entropy", "imbalanced", "head", "tail"
    )


def overlap_tables(part: pl.Series, tails: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Compare the heads of train (or else of the judged examples) and the OOD test sets for each pair of concepts.

    jaccard: examples in both heads / in either. coincidence: the share of the test set `of` that is also in `with`.
    Both describe the sets themselves: n of `among` examples, nothing is estimated.
    """
    where = part == (TRAIN if (part == TRAIN).any() else JUDGED)
    heads = tails.filter(where).select((~pl.all()).fill_null(value=False))
    ood = tails.filter(part == JUDGED).select(pl.all().fill_null(value=False))
    in_heads, in_ood = _common(heads), _common(ood)
    sizes = np.diag(in_heads)
    either = sizes[:, None] + sizes[None, :] - in_heads
    return {
        "jaccard": _long(tails.columns, in_heads, either),
        "coincidence": _long(tails.columns, in_ood, np.diag(in_ood)[:, None] * np.ones_like(in_ood)),
    }


def _common(flags: pl.DataFrame) -> Floats:
    """Count the rows in which both columns of each pair are true."""
    table = flags.to_numpy().astype(np.float32)  # whole numbers up to 2^24 are exact
    blocks = [table[start : start + 1_000_000] for start in range(0, len(table), 1_000_000)]
    none = np.zeros((flags.width, flags.width))
    return np.asarray(np.sum([none, *((block.T @ block).astype(np.float64) for block in blocks)], axis=0))


def _long(names: list[str], common: Floats, sizes: Floats) -> pl.DataFrame:
    n = len(names)
    share = np.divide(common, sizes, out=np.full((n, n), np.nan), where=sizes > 0)
    return pl.DataFrame(
        {
            "of": [name for name in names for _ in names],
            "with": names * n,
            "n": common.ravel().astype(np.int64),
            "among": sizes.ravel().astype(np.int64),
            "share": pl.Series(share.ravel()).fill_nan(None),
        }
    )


def answers_table(
    examples: pl.DataFrame, labels: pl.DataFrame, grouped: dict[str, GroupedAnswers], chosen: str
) -> pl.DataFrame:
    """Count the answers of a few groups in train, val, the judged examples, and their OOD part.

    `examples` are part, cluster and answer. For each concept the imbalanced groups with the largest tails are listed,
    after the `chosen` one (concept=group). Answers are in the order of their train counts, as in the paper.
    """
    concept, _, group = chosen.partition("=")
    if chosen and (concept not in grouped or not _has(grouped[concept], group)):
        found = f"{chosen!r}; concepts are {', '.join(grouped)}"
        raise SettingError("group as concept=group of the judged examples", found, "see the table `groups`")
    names = [concept, *grouped] if chosen else list(grouped)
    wanted = [[group] if chosen and index == 0 else _largest(grouped[name]) for index, name in enumerate(names)]
    tables = [
        _answers(name, grouped[name], value, examples.filter(labels[name] == value))
        for name, values in zip(names, wanted, strict=True)
        for value in values
    ]
    return pl.concat(tables).unique(maintain_order=True) if tables else pl.DataFrame(schema=ANSWERS_SCHEMA)


def _has(grouped: GroupedAnswers, group: str) -> bool:
    return bool(((grouped.groups["part"] == JUDGED) & (grouped.groups["group"] == group)).any())


def _largest(grouped: GroupedAnswers) -> list[str]:
    rare = grouped.answers.filter((pl.col("part") == JUDGED) & pl.col("tail"))
    sizes = rare.group_by("group").agg(pl.col("n").sum()).sort("n", "group", descending=[True, False])
    return sizes.head(GROUPS)["group"].to_list()


def _answers(concept: str, grouped: GroupedAnswers, group: str, examples: pl.DataFrame) -> pl.DataFrame:
    own = grouped.answers.filter(pl.col("group") == group)
    judged = own.filter(pl.col("part") == JUDGED)
    side = pl.when("tail").then(pl.lit(TAIL)).when(~pl.col("tail")).then(pl.lit(HEAD)).alias("side")
    rare = examples.filter(pl.col("part") == JUDGED).join(judged.filter("tail"), on="answer", how="semi")
    every = pl.concat([examples, rare.with_columns(pl.lit(OOD).alias("part"))]).drop_nulls("part")
    learned = own.filter(pl.col("part") == TRAIN)
    order = (learned if learned.height else judged).select("answer", pl.col("n").alias("rank"))
    return (
        shares(every, "answer", ["part"])
        .join(judged.select("answer", side, pl.col("cut").alias("judged_cut")), on="answer", how="left", validate="m:1")
        .join(order, on="answer", how="left", validate="m:1")
        .sort(pl.col("rank").fill_null(0), "answer", "part", descending=[True, False, False])
        .filter(pl.col("answer").rle_id() < ANSWERS)
        .select(pl.lit(concept).alias("concept"), pl.lit(group).alias("group"), *list(ANSWERS_SCHEMA)[2:])
    )


def examples_table(examples: pl.DataFrame, part: pl.Series, labels: pl.DataFrame) -> pl.DataFrame:
    """List a few judged examples, drawn by a hash of their ids, with all their concepts."""
    table = examples.select("id", "question", "answer").hstack(
        labels.rename({name: f"{name} " for name in labels.columns if name in ("id", "question", "answer")})
    )
    judged = table.filter(part == JUDGED)
    order = pl.Series("order", hash_text(judged["id"]))
    return judged.with_columns(order).sort("order", "id").head(EXAMPLES).drop("order")


def sets_table(measures: list[Measure], concepts: pl.DataFrame) -> pl.DataFrame:
    """List for each concept its accuracies, its drop and its gaps, and the imbalance of the data."""
    rows = [_sets_row(measures, concept) for concept in concepts["concept"]]
    schema = {"concept": pl.String} | {name: pl.Int64 if name.startswith("n_") else pl.Float64 for name in FIELDS}
    table = pl.DataFrame(rows, schema=schema)
    family = pl.col("concept").replace_strict(FAMILY, default="own", return_dtype=pl.String).alias("family")
    imbalance = concepts.select("concept", "imbalance")
    return table.join(imbalance, on="concept", validate="1:1", maintain_order="left").select(
        "concept", family, "imbalance", *FIELDS
    )


def _sets_row(measures: list[Measure], concept: str) -> dict[str, object]:
    sides = {compared.group: compared for compared in measures if compared.by == concept}
    by_name = {compared.name: compared for compared in measures if compared.by is None}
    row: dict[str, object] = {"concept": concept}
    for side in (HEAD, TAIL):
        if side in sides:
            own = sides[side]
            row |= {f"n_{side}": own.n, side: own.value, f"{side}_low": own.low, f"{side}_high": own.high}
    for column, measure in COMPARED.items():
        compared = by_name.get(f"{measure}, {concept}")
        if compared is not None:
            row |= {
                column: compared.value,
                f"{column}_low": compared.low,
                f"{column}_high": compared.high,
                f"{column}_q": compared.q,
            }
    return row


def sides_table(measures: list[Measure], concepts: tuple[str, ...]) -> pl.DataFrame:
    """List accuracy on the head and tail of each concept in successive rows."""
    rows = [(one.by, one.group, one.value, one.low, one.high, one.n) for one in measures if one.by in concepts]
    schema = {"concept": pl.String, "side": pl.String, "accuracy": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema=schema | {"n": pl.Int64}, orient="row")
