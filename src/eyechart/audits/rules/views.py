"""The figures of the paper as tables and views, and some rules with examples and counterexamples (Fig. 4)."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from eyechart.audits.rules.settings import COUNTEREXAMPLE, EASY, PRIOR, PUBLISHED, RULE_KINDS, STATES
from eyechart.data.dataset import Dataset
from eyechart.data.result import Measure, Unit, View
from eyechart.language.answers import human_answers
from eyechart.mining import Transactions
from eyechart.mining.counting import NONE
from eyechart.mining.rules import Rules
from eyechart.statistics import shares
from eyechart.statistics.rows import Ints

RULES_OF_A_KIND = 2
EXAMPLES = 3  # for which a rule holds, and as many counterexamples
MOST_RULES = 40  # of one example
HELD_OUT = ("held_out_confidence", "low", "high", "held_out_support")
COLUMNS = (
    *("subset", "question", "image", "reference", "words", "objects", "answer", "right", "confidence", "support"),
    *HELD_OUT,
)


def gallery_table(judged: Dataset, table: pl.DataFrame, rules: Rules, transactions: Transactions) -> pl.DataFrame:
    """Show the surest rules of each kind; `judged` are the examples in the order of the transactions."""
    examples = judged.examples.with_row_index("example").with_columns(human_answers(judged.examples).alias("people"))
    parts = [
        _rule_examples(rule, examples.filter(pl.col("example").is_in(numbers.tolist())), judged)
        for rule, numbers in _matching(_surest(table), rules, transactions)
    ]
    return pl.concat(parts) if parts else pl.DataFrame()


def _surest(table: pl.DataFrame) -> pl.DataFrame:
    """Take the confirmed rules of each kind with the highest lower bounds of confidence on held-out images."""
    sure = table.filter(pl.col("state") == "confirmed").sort("low", "rule", descending=[True, False])
    # Many rules differ in a word and meet the same examples: one for each answer shows more.
    different = sure.unique(["kind", "answer"], keep="first", maintain_order=True)
    return pl.concat([different.filter(pl.col("kind") == kind).head(RULES_OF_A_KIND) for kind in RULE_KINDS])


def _matching(
    chosen: pl.DataFrame, rules: Rules, transactions: Transactions
) -> Iterator[tuple[Mapping[str, Any], Ints]]:
    """Find the numbers of the examples that have all items of a rule."""
    owner = np.repeat(np.arange(transactions.n), np.diff(transactions.starts))
    for rule in chosen.iter_rows(named=True):
        items = [item for item in rules.items[rule["rule"]] if item >= 0]
        met = [np.unique(owner[transactions.items == item]) for item in items]
        numbers = met[0]
        for matching in met[1:]:
            numbers = np.intersect1d(numbers, matching, assume_unique=True)
        yield rule, numbers


def _rule_examples(rule: Mapping[str, Any], met: pl.DataFrame, judged: Dataset) -> pl.DataFrame:
    right = pl.col("people").list.contains(pl.lit(rule["answer"]))
    examples = met.with_columns(right.alias("right")).sort("right", "id", descending=[True, False])
    examples = examples.group_by("right", maintain_order=True).head(EXAMPLES)
    return examples.select(
        pl.lit(_in_words(rule)).alias("rule"),
        "image",
        "question",
        pl.col("answer").alias("reference"),
        pl.when("right").then(pl.lit("holds")).otherwise(pl.lit("counterexample")).alias("here"),
        _boxes(examples, rule, judged).alias("boxes"),
    )


def _boxes(examples: pl.DataFrame, rule: Mapping[str, Any], judged: Dataset) -> pl.Series:
    """Find the objects of the rule in each picture."""
    images = judged.images.table
    if "objects" not in images.columns:
        return pl.Series([None] * examples.height, dtype=pl.Null)
    objects = examples.select("image").join(
        images.select("image", "objects"), on="image", how="left", maintain_order="left"
    )
    in_rule = pl.element().filter(pl.element().struct.field("label").is_in(rule["objects"]))
    return objects.select(pl.col("objects").list.eval(in_rule)).to_series()


def _in_words(rule: Mapping[str, Any]) -> str:
    cues = [*rule["words"], *(f"{label} in sight" for label in rule["objects"])]
    held = f"{rule['held_out_confidence']:.0%} of {rule['held_out_support']} held-out images"
    return f"{' + '.join(cues)} → {rule['answer']} ({held})"


def shown_table(judged: pl.DataFrame, table: pl.DataFrame, rules: Rules, transactions: Transactions) -> pl.DataFrame:
    """List the rules of an easy example and of a counterexample, each with the median number of rules.

    `judged` are the judged examples in the order of the transactions, with their `kind` and `matches`.
    """
    numbered = judged.with_row_index("example").rename({"kind": "subset", "answer": "reference"})
    numbered = numbered.with_columns(human_answers(judged).alias("people"))
    parts = []
    for kind in (EASY, COUNTEREXAMPLE):
        for row in _median(numbered, kind).iter_rows(named=True):
            numbers = rules_met(rules, transactions, row["example"]).tolist()
            met = table.filter(pl.col("rule").is_in(numbers)).head(MOST_RULES)
            example = {name: pl.lit(row[name], pl.String).alias(name) for name in COLUMNS[:4]}
            right = pl.col("answer").is_in(row["people"])
            parts.append(met.with_columns(**example, right=right).select(COLUMNS))
    return pl.concat(parts) if parts else pl.DataFrame()


def rules_met(rules: Rules, transactions: Transactions, example: int) -> Ints:
    """Find the rules whose items one example has."""
    items = transactions.items[transactions.starts[example] : transactions.starts[example + 1]]
    has = np.zeros(transactions.n_items + 1, np.bool_)
    has[items] = has[NONE] = True  # the last place stands for no item
    return np.flatnonzero(has[rules.items].all(axis=1))


def _median(numbered: pl.DataFrame, kind: str) -> pl.DataFrame:
    ranked = numbered.filter(pl.col("subset") == kind).sort("matches", "id")
    return ranked.slice(ranked.height // 2, 1)


BINS = 20  # of confidences
MOST_ANSWERS = 30
TYPES = ("question_type", "answer_type")
SHARE: dict[str, Unit] = {"share": "points", "low": "points", "high": "points"}
UNITS: dict[str, Unit] = {"confidence": "points", "held_out_confidence": "points", "low": "points", "high": "points"}


def study_tables(examples: pl.DataFrame, rows: pl.DataFrame, rules: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Build the tables that the views draw; `examples` are the judged ones."""
    columns = examples.select(name for name in ("id", "answer", *TYPES) if name in examples.columns)
    labelled = columns.join(rows.select("id", "cluster", pl.col("kind").alias("subset")), on="id", validate="1:1")
    tables = {"kinds": kinds_table(rules), "confidences": confidences_table(rules), "answers": answers_table(labelled)}
    for column in TYPES:
        if column in labelled.columns and labelled[column].is_not_null().any():
            tables[f"{column}s"] = types_table(labelled, column)
    return tables


def kinds_table(rules: pl.DataFrame) -> pl.DataFrame:
    """Count rules by kind and by state on held-out images."""
    state = pl.col("state")
    counted = (
        without_prior(rules)
        .group_by("kind")
        .agg(
            pl.len().cast(pl.Int64).alias("rules"),
            pl.col("kept").sum().cast(pl.Int64),
            *((state == name).sum().cast(pl.Int64).alias(name) for name in STATES),
        )
    )
    return counted.sort("rules", "kind", descending=[True, False])


def without_prior(rules: pl.DataFrame) -> pl.DataFrame:
    """Drop the prior, which is listed with the rules but was not mined."""
    return rules.filter(pl.col("kind") != PRIOR)


def confidences_table(rules: pl.DataFrame) -> pl.DataFrame:
    """Count rules by confidence on train and on held-out images (Fig. 5)."""
    mined = without_prior(rules)
    edges = np.arange(BINS + 1) / BINS  # so that 0.3 equals 3 / 10 exactly
    parts = []
    for part, column in (("train", "confidence"), ("held out", "held_out_confidence")):
        n, _ = np.histogram(mined[column].drop_nulls().to_numpy(), edges)
        parts.append(
            pl.DataFrame({"from": edges[:-1], "to": edges[1:], "n": n.astype(np.int64)}).with_columns(
                pl.lit(part).alias("part")
            )
        )
    return pl.concat(parts).filter(pl.col("n") > 0)


def answers_table(labelled: pl.DataFrame) -> pl.DataFrame:
    """Count the most frequent answers in each subset (Fig. 6)."""
    top = labelled["answer"].value_counts(name="total").sort("total", "answer", descending=[True, False])
    return (
        shares(labelled, "answer", ["subset"])
        .join(top.head(MOST_ANSWERS), on="answer", how="inner")
        .sort("total", "answer", "subset", descending=[True, False, False])
        .drop("total")
    )


def types_table(labelled: pl.DataFrame, column: str) -> pl.DataFrame:
    """Count the types of questions or answers in each subset (Fig. 7, 8)."""
    filled = labelled.with_columns(pl.col(column).fill_null("(none)"))
    total = pl.col("hits").sum().over(column)
    return shares(filled, column, ["subset"]).sort(total, column, "subset", descending=[True, False, False])


def study_views(tables: dict[str, pl.DataFrame]) -> tuple[View, ...]:
    """Return the views of the tables that have rows."""
    return tuple(view for view in VIEWS if view.table in tables and tables[view.table].height)


def _shares_of(column: str) -> dict[str, str]:
    return {"x": "share", "y": column, "color": "subset", "low": "low", "high": "high", "n": "n"}


VIEWS = (
    View(
        "table",
        "kinds",
        "Rules by kind",
        "Words, objects, or both; a kept rule is the best correct rule of some train example.",
    ),
    View(
        "table",
        "overlap",
        "Mined and published subsets",
        "How many of the judged examples are of a kind by both, or by one alone; overlap is both among either.",
        units={"overlap": "points"},
    ),
    View(
        "histogram",
        "confidences",
        "Confidence of the rules on train and on held-out images",
        "Rules were chosen on train, so the held-out bars show how much of their confidence was luck.",
        {"x": "from", "to": "to", "n": "n", "color": "part"},
        units={"from": "points", "to": "points"},
    ),
    View(
        "bars",
        "answers",
        "The most frequent answers in each subset",
        "Answers with long bars among the counterexamples are those that rules do not give.",
        _shares_of("answer"),
        units=SHARE,
    ),
    View(
        "bars",
        "question_types",
        "Question types in each subset",
        "A type that is mostly easy is one that rules answer.",
        _shares_of("question_type"),
        units=SHARE,
    ),
    View(
        "bars",
        "answer_types",
        "Answer types in each subset",
        "Yes/no questions are mostly easy: with two answers some rule is right.",
        _shares_of("answer_type"),
        units=SHARE,
    ),
    View(
        "gallery",
        "gallery",
        "Confirmed rules, with examples and counterexamples",
        "The surest rules of each kind; the objects that a rule names are framed.",
        {
            "group": "rule",
            "image": "image",
            "boxes": "boxes",
            "title": "question",
            "answer": "reference",
            "rule": "here",
        },
    ),
    View(
        "matrix",
        "surface",
        "Accuracy of the shortcut classifier by support and confidence",
        "The highest is chosen; it was measured on the judged examples themselves, so it is slightly too high.",
        {"x": "min_confidence", "y": "min_support", "color": "vote", "low": "low", "high": "high", "n": "n"},
        units={"min_confidence": "points", "vote": "points", "low": "points", "high": "points"},
    ),
    View(
        "table",
        "shown",
        "Examples with all the rules they meet",
        "Many short rules lead to the same answer; a counterexample is led astray by all of them.",
        units=UNITS,
    ),
)


def judge_views(measures: list[Measure], tables: dict[str, pl.DataFrame], by: tuple[str, ...]) -> tuple[View, ...]:
    """Return the views of accuracies, of the rules that are followed, and of their table if it has rows."""
    grouped = {measure.by for measure in measures}
    drawn = [view for view in BY_KIND if view.where["by"] in grouped]
    if tables["exploited"].height:
        drawn.append(EXPLOITED)
    return (*drawn, *(_accuracy_by(f"Accuracy by {name}", name) for name in by))


def _accuracy_by(title: str, column: str) -> View:
    reading = "A bar is an accuracy; whiskers are 95 % intervals."
    return View("bars", "measures", title, reading, BARS, {"by": column, "name": "accuracy"})


BARS = {"x": "value", "y": "group", "low": "low", "high": "high", "n": "n"}
BY_KIND = (
    _accuracy_by("Accuracy by kind of example", "kind"),
    _accuracy_by("Accuracy by published kind of example", PUBLISHED),
    View(
        "bars",
        "measures",
        "Rules followed where they are wrong, by kind of rule",
        "How much more often than elsewhere the model gives the rules' answers; whiskers are 95 % intervals.",
        BARS,
        {"by": "rule kind"},
    ),
)
EXPLOITED = View(
    "table",
    "exploited",
    "The most exploited rules",
    "Rules that the model surely follows where wrong come first; control is its rate of that answer elsewhere. Longer "
    "rules, and those that meet the same examples, stand with the rule they belong to.",
    units=UNITS | {"correlation": "points", "agreement": "points", "control": "points"},
)
