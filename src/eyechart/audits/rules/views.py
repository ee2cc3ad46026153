"""The figures of the paper, as tables and views."""

import numpy as np
import polars as pl

from eyechart.audits.rules.settings import PRIOR
from eyechart.data.result import Measure, Unit, View
from eyechart.statistics import shares

BINS = 20  # of confidences
MOST_ANSWERS = 30
TYPES = ("question_type", "answer_type")
SHARE: dict[str, Unit] = {"share": "points", "low": "points", "high": "points"}
HELD_OUT: dict[str, Unit] = {"confidence": "points", "held_out_confidence": "points", "low": "points", "high": "points"}


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
            *((state == name).sum().cast(pl.Int64).alias(name) for name in ("confirmed", "refuted", "untestable")),
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
        units=HELD_OUT,
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
    "Rules that the model surely follows where wrong come first; control is its rate of that answer elsewhere.",
    units=HELD_OUT | {"correlation": "points", "agreement": "points", "control": "points"},
)
